/* SPDX-License-Identifier: Apache-2.0 */
/* unit: what every unit test needs, in the order that cmocka wants it, and a source of numbers that is the same every time. */
#ifndef PL_TESTS_UNIT_H
#define PL_TESTS_UNIT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* xorshift64: *state must not be 0. */
static inline uint64_t unit_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/* A copy on the heap of exactly len bytes, so that a sanitizer sees a read one past the end. free() it. */
static inline uint8_t *unit_copy(const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, bytes, len);
	return copy;
}

#endif
