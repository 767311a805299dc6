/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: QuickJS's memory functions over malloc; see alloc.h. */
#include "engine/alloc.h"

#include <malloc.h>
#include <stdlib.h>

/* What malloc keeps beside a block, by guess; the same guess on every wall, so that limits agree. */
#define BLOCK_OVERHEAD 16u

/* Requests below this many bytes are small; see alloc.h. */
#define LARGE_BYTES (64u * 1024u)

/* How far small requests may go beyond the limit. */
#define SMALL_RESERVE_BYTES (1024u * 1024u)

/* Collections under memory pressure stop when this little is left. */
#define COLLECT_STEP_MIN (64u * 1024u)

/* QuickJS collects cycles when its heap has grown by half since the last time, however near the limit is. So that a program is
 * not refused memory while garbage lies about, a collection is asked for whenever half of what was left has gone. Lowering the
 * threshold is safe here: it is looked at when the next object is made, not in the middle of an allocation. */
static void collect_before_limit(struct pl_alloc *alloc)
{
	uint64_t left;

	if (!alloc->rt || alloc->limit_bytes == UINT64_MAX)
		return;
	JS_SetGCThreshold(alloc->rt, (size_t)alloc->used_bytes - 1);
	left = alloc->limit_bytes > alloc->used_bytes ? (alloc->limit_bytes - alloc->used_bytes) / 2 : 0;
	alloc->collect_at = alloc->used_bytes + (left > COLLECT_STEP_MIN ? left : COLLECT_STEP_MIN);
}

/* QuickJS reads malloc_size of its own state when it decides whether to collect. */
static void account_grown(JSMallocState *state, size_t bytes)
{
	struct pl_alloc *alloc = state->opaque;

	alloc->used_bytes += bytes;
	state->malloc_size += bytes;
	if (alloc->used_bytes > alloc->collect_at)
		collect_before_limit(alloc);
}

static void account_shrunk(JSMallocState *state, size_t bytes)
{
	struct pl_alloc *alloc = state->opaque;

	alloc->used_bytes -= bytes;
	state->malloc_size -= bytes;
	if (alloc->used_bytes < alloc->limit_bytes / 2)
		alloc->collect_at = alloc->limit_bytes - alloc->limit_bytes / 4;
}

/* May the program have a block of size bytes that makes `more` bytes more? Counts the call. */
static int may_have(struct pl_alloc *alloc, size_t size, size_t more)
{
	uint64_t left = alloc->limit_bytes > alloc->used_bytes ? alloc->limit_bytes - alloc->used_bytes : 0;

	if (++alloc->calls == alloc->fail_at)
		return 0;
	if (more <= left)
		return 1;
	return size < LARGE_BYTES && alloc->used_bytes + more <= alloc->limit_bytes + SMALL_RESERVE_BYTES;
}

/* No memory for a block of size bytes: remembers it, and returns only if that can be survived. */
static void *refuse(struct pl_alloc *alloc, size_t size)
{
	alloc->refused = 1;
	if (alloc->exhausted && (alloc->must_succeed || size < LARGE_BYTES))
		alloc->exhausted(alloc->opaque);
	return NULL;
}

static void *alloc_malloc(JSMallocState *state, size_t size)
{
	struct pl_alloc *alloc = state->opaque;
	void *p;

	if (!may_have(alloc, size, size))
		return refuse(alloc, size);
	p = malloc(size);
	if (!p)
		return refuse(alloc, size);
	state->malloc_count++;
	account_grown(state, malloc_usable_size(p) + BLOCK_OVERHEAD);
	return p;
}

static void alloc_free(JSMallocState *state, void *p)
{
	if (!p)
		return;
	state->malloc_count--;
	account_shrunk(state, malloc_usable_size(p) + BLOCK_OVERHEAD);
	free(p);
}

static void *alloc_realloc(JSMallocState *state, void *p, size_t size)
{
	struct pl_alloc *alloc = state->opaque;
	size_t old_size, new_size;
	void *q;

	if (!p)
		return size ? alloc_malloc(state, size) : NULL;
	if (!size) {
		alloc_free(state, p);
		return NULL;
	}
	old_size = malloc_usable_size(p);
	if (!may_have(alloc, size, size > old_size ? size - old_size : 0))
		return refuse(alloc, size);
	q = realloc(p, size);
	if (!q)
		return refuse(alloc, size);
	new_size = malloc_usable_size(q);
	if (new_size >= old_size)
		account_grown(state, new_size - old_size);
	else
		account_shrunk(state, old_size - new_size);
	return q;
}

static size_t alloc_usable_size(const void *p)
{
	return malloc_usable_size((void *)p);
}

const JSMallocFunctions pl_alloc_functions = {
	.js_malloc = alloc_malloc,
	.js_free = alloc_free,
	.js_realloc = alloc_realloc,
	.js_malloc_usable_size = alloc_usable_size,
};

void pl_alloc_init(struct pl_alloc *alloc)
{
	*alloc = (struct pl_alloc){ .limit_bytes = UINT64_MAX, .collect_at = UINT64_MAX };
}

void pl_alloc_set_limit(struct pl_alloc *alloc, uint64_t limit_bytes, uint64_t fail_at, void (*exhausted)(void *opaque),
			void *opaque)
{
	alloc->exhausted = exhausted;
	alloc->opaque = opaque;
	alloc->limit_bytes = limit_bytes;
	alloc->collect_at = limit_bytes - limit_bytes / 4;
	alloc->calls = 0;
	alloc->fail_at = fail_at;
	alloc->refused = 0;
}

void pl_alloc_add_reserve(struct pl_alloc *alloc, uint64_t reserve_bytes)
{
	if (alloc->limit_bytes <= UINT64_MAX - reserve_bytes)
		alloc->limit_bytes += reserve_bytes;
	alloc->fail_at = 0;
}
