/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's allocator, compiled here under other names: blocks keep what is in them, do not overlap, are aligned; memory that
 * is given back merges until it is one block again; what it says was never used was never written. */
#include "unit/unit.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *vm_malloc(size_t n);
void vm_free(void *p);
void *vm_realloc(void *p, size_t n);
void *vm_calloc(size_t n, size_t size);
size_t vm_usable(void *p);

#define malloc vm_malloc
#define free vm_free
#define realloc vm_realloc
#define calloc vm_calloc
#define malloc_usable_size vm_usable
#include "vmguest/heap.c"
#undef malloc
#undef free
#undef realloc
#undef calloc
#undef malloc_usable_size

#define HEAP_BYTES (32u << 20)
#define SLOTS 3000

static uint8_t *heap;

static int heap_take(void **state)
{
	(void)state;
	heap = mmap(NULL, HEAP_BYTES * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (heap == MAP_FAILED)
		return -1;
	memset(lists, 0, sizeof lists);
	memset(second_maps, 0, sizeof second_maps);
	first_map = 0;
	pl_heap_init((uintptr_t)heap + 8, (uintptr_t)heap + HEAP_BYTES);
	return 0;
}

static int heap_give(void **state)
{
	(void)state;
	return munmap(heap, HEAP_BYTES * 2);
}

static uint64_t seed = 88172645463325252ull;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static size_t some_size(void)
{
	switch (dice() % 8) {
	case 0:
		return dice() % 100000;
	case 1:
		return dice() % 4096;
	default:
		return dice() % 200;
	}
}

static struct slot {
	uint8_t *bytes;
	size_t len;
	uint8_t mark;
} slots[SLOTS];

static void slot_check(const struct slot *s)
{
	assert_int_equal((uintptr_t)s->bytes % 16, 0);
	assert_true(vm_usable(s->bytes) >= s->len);
	for (size_t i = 0; i < s->len; i++)
		if (s->bytes[i] != s->mark)
			fail_msg("a block has lost what was in it");
}

static void slot_fill(struct slot *s, uint8_t *bytes, size_t len)
{
	assert_non_null(bytes);
	assert_true(bytes >= heap && bytes + len <= heap + HEAP_BYTES);
	*s = (struct slot){ bytes, len, (uint8_t)dice() };
	memset(bytes, s->mark, len);
}

static void slot_turn(struct slot *s)
{
	if (!s->bytes) {
		size_t n = some_size();

		slot_fill(s, vm_malloc(n), n);
		return;
	}
	slot_check(s);
	if (dice() % 3) {
		vm_free(s->bytes);
		s->bytes = NULL;
	} else {
		size_t n = some_size() + 1, kept = n < s->len ? n : s->len;
		struct slot old = *s;

		s->bytes = vm_realloc(s->bytes, n);
		assert_non_null(s->bytes);
		for (size_t i = 0; i < kept; i++)
			if (s->bytes[i] != old.mark)
				fail_msg("realloc has lost what was in the block");
		slot_fill(s, s->bytes, n);
	}
}

static void blocks_keep_what_is_in_them(void **state)
{
	void *all;

	(void)state;
	for (int i = 0; i < 300000; i++)
		slot_turn(&slots[dice() % SLOTS]);
	for (int i = 0; i < SLOTS; i++) {
		if (!slots[i].bytes)
			continue;
		slot_check(&slots[i]);
		vm_free(slots[i].bytes);
		slots[i].bytes = NULL;
	}
	/* All merged: nearly the whole heap in one piece. */
	assert_int_equal(first_map, 0);
	all = vm_malloc(HEAP_BYTES - 4096);
	assert_non_null(all);
	vm_free(all);
}

static void memory_of_one_size_serves_another(void **state)
{
	enum { SMALL = 64, N = HEAP_BYTES / 2 / (SMALL + 16) };
	static void *blocks[N];

	(void)state;
	for (size_t round = 0; round < 4; round++) {
		size_t size = SMALL << round, n = N >> round;

		for (size_t i = 0; i < n; i++) {
			blocks[i] = vm_malloc(size);
			assert_non_null(blocks[i]);
		}
		for (size_t i = 0; i < n; i += 2)
			vm_free(blocks[i]);
		for (size_t i = 1; i < n; i += 2)
			vm_free(blocks[i]);
	}
}

static void an_array_that_grows(void **state)
{
	uint8_t *array = vm_malloc(16), *other = NULL;

	(void)state;
	for (size_t n = 16; n < HEAP_BYTES / 3; n += n / 2) {
		array = vm_realloc(array, n);
		assert_non_null(array);
		memset(array, 7, n);
		vm_free(other);
		other = vm_malloc(100);
		assert_non_null(other);
	}
	vm_free(array);
	vm_free(other);
}

static void too_much_is_refused(void **state)
{
	void *p = vm_malloc(1000), *q;

	(void)state;
	assert_null(vm_malloc(HEAP_BYTES));
	assert_null(vm_malloc(SIZE_MAX));
	assert_null(vm_malloc(SIZE_MAX - 8));
	assert_null(vm_calloc(SIZE_MAX / 2, 3));
	assert_null(vm_realloc(p, HEAP_BYTES));
	assert_null(vm_realloc(p, SIZE_MAX - 8));
	memset(p, 1, 1000);
	q = vm_malloc(HEAP_BYTES - 8192);
	assert_non_null(q);
	assert_null(vm_malloc(16384));
	vm_free(q);
	vm_free(p);
}

static void cleared_memory_is_clear(void **state)
{
	uint8_t *p = vm_malloc(5000);

	(void)state;
	memset(p, 0xff, 5000);
	vm_free(p);
	p = vm_calloc(50, 100);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(p[i], 0);
	vm_free(p);
}

static void nothing_beyond_used_end_was_written(void **state)
{
	const uint8_t *end;
	void *p;

	(void)state;
	for (int i = 0; i < 100; i++)
		vm_free(vm_malloc(some_size()));
	p = vm_malloc(123456);
	end = (const uint8_t *)pl_heap_used_end();
	assert_true(end >= (uint8_t *)p + 123456 && end < heap + HEAP_BYTES);
	for (const uint8_t *at = end; at < heap + HEAP_BYTES; at++)
		if (*at)
			fail_msg("written beyond the end");
	vm_free(p);
}

static void more_memory_later(void **state)
{
	void *p;

	(void)state;
	assert_null(vm_malloc(HEAP_BYTES));
	pl_heap_grow((uintptr_t)heap + HEAP_BYTES * 2);
	pl_heap_grow((uintptr_t)heap + HEAP_BYTES); /* less is no change */
	p = vm_malloc(HEAP_BYTES);
	assert_non_null(p);
	memset(p, 1, HEAP_BYTES);
	assert_null(vm_malloc(HEAP_BYTES));
	vm_free(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, heap_take, heap_give)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(blocks_keep_what_is_in_them), TEST(memory_of_one_size_serves_another), TEST(an_array_that_grows),
		TEST(too_much_is_refused),         TEST(cleared_memory_is_clear),           TEST(nothing_beyond_used_end_was_written),
		TEST(more_memory_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
