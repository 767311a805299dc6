/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: see alloc.h. The countdown is atomic because the library's callers have threads. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong countdown;
static atomic_int failed;

void pl_alloc_fail(unsigned long n)
{
	atomic_store(&countdown, n);
	atomic_store(&failed, 0);
}

int pl_alloc_failed(void)
{
	return atomic_load(&failed);
}

static int alloc_refused(void)
{
	unsigned long n = atomic_load_explicit(&countdown, memory_order_relaxed);

	while (n) {
		if (atomic_compare_exchange_weak(&countdown, &n, n - 1)) {
			if (n == 1)
				atomic_store(&failed, 1);
			return n == 1;
		}
	}
	return 0;
}

void *pl_malloc(size_t size)
{
	return alloc_refused() ? NULL : malloc(size ? size : 1);
}

void *pl_calloc(size_t n, size_t size)
{
	return alloc_refused() ? NULL : calloc(n ? n : 1, size ? size : 1);
}

void *pl_realloc(void *old, size_t size)
{
	return alloc_refused() ? NULL : realloc(old, size ? size : 1);
}

char *pl_strndup(const char *text, size_t len)
{
	size_t n = strnlen(text, len);
	char *copy = pl_malloc(n + 1);

	if (copy) {
		memcpy(copy, text, n);
		copy[n] = 0;
	}
	return copy;
}

void pl_free(void *p)
{
	free(p);
}
