/* SPDX-License-Identifier: Apache-2.0 */
/* heap: two-level segregated fit (Masmano and others, "TLSF: a new dynamic memory allocator for real-time systems", 2004):
 * constant time, immediate merging of neighbours, so that memory given back in one size is there in another. What has never
 * been used is one block at the end, the last to be taken, so a snapshot and a run touch few pages. */
#include "vmguest/heap.h"

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 16u
#define SECOND_BITS 4u
#define SECOND_N (1u << SECOND_BITS)
#define SMALL_BYTES 256u /* below, classes are ALIGN apart: the first row */
#define SMALL_BITS 8u
#define FIRST_N (33u - SMALL_BITS + 1u)
#define BLOCK_MAX (1ull << 32)

/* size: of the payload, a multiple of ALIGN; bit 0: free. before: the block that lies just below, NULL for the first. */
struct block {
	size_t size;
	struct block *before;
	/* In a free block's payload. */
	struct block *next, *previous;
};

#define HEAD offsetof(struct block, next)
#define PAYLOAD_MIN (sizeof(struct block) - HEAD)
#define FREE ((size_t)1)

static struct block *lists[FIRST_N][SECOND_N];
static uint32_t first_map, second_maps[FIRST_N];
static struct block *last; /* the block that ends the heap: free and untouched, or an end mark of size 0 */
static uintptr_t heap_end, used_end;

static size_t size_of(const struct block *b)
{
	return b->size & ~FREE;
}

static struct block *after(const struct block *b)
{
	return (struct block *)((uintptr_t)b + HEAD + size_of(b));
}

static void *payload(struct block *b)
{
	return (uint8_t *)b + HEAD;
}

static struct block *block_of(void *p)
{
	return (struct block *)((uint8_t *)p - HEAD);
}

static void class_of(size_t size, unsigned *ret_first, unsigned *ret_second)
{
	unsigned top;

	if (size < SMALL_BYTES) {
		*ret_first = 0;
		*ret_second = (unsigned)(size / ALIGN);
		return;
	}
	top = 63u - (unsigned)__builtin_clzll(size);
	*ret_first = top - SMALL_BITS + 1u;
	*ret_second = (unsigned)(size >> (top - SECOND_BITS)) & (SECOND_N - 1);
}

static void list_add(struct block *b)
{
	unsigned first, second;

	class_of(size_of(b), &first, &second);
	b->size |= FREE;
	b->previous = NULL;
	b->next = lists[first][second];
	if (b->next)
		b->next->previous = b;
	lists[first][second] = b;
	first_map |= 1u << first;
	second_maps[first] |= 1u << second;
}

static void list_remove(struct block *b)
{
	unsigned first, second;

	class_of(size_of(b), &first, &second);
	if (b->next)
		b->next->previous = b->previous;
	if (b->previous) {
		b->previous->next = b->next;
	} else {
		lists[first][second] = b->next;
		if (!b->next) {
			second_maps[first] &= ~(1u << second);
			if (!second_maps[first])
				first_map &= ~(1u << first);
		}
	}
	b->size &= ~FREE;
}

/* A free block of at least size, whose class says so without a look at its size. */
static struct block *list_find(size_t size)
{
	unsigned first, second;
	uint32_t map;

	if (size >= SMALL_BYTES)
		size += ((size_t)1 << (63u - (unsigned)__builtin_clzll(size) - SECOND_BITS)) - 1;
	class_of(size, &first, &second);
	if (first >= FIRST_N)
		return NULL;
	map = second_maps[first] & (~0u << second);
	if (!map) {
		uint32_t above = first + 1 < 32 ? first_map & (~0u << (first + 1)) : 0;

		if (!above)
			return NULL;
		first = (unsigned)__builtin_ctz(above);
		map = second_maps[first];
	}
	return lists[first][(unsigned)__builtin_ctz(map)];
}

/* What is too much becomes a free block of its own. b is not on a list. */
static void split(struct block *b, size_t size)
{
	size_t rest = size_of(b) - size;
	struct block *r, *behind;

	if (rest < HEAD + PAYLOAD_MIN)
		return;
	behind = after(b);
	b->size = size;
	r = after(b);
	*r = (struct block){ .size = rest - HEAD, .before = b };
	if (behind->size & FREE) { /* only when b shrinks */
		list_remove(behind);
		r->size += HEAD + size_of(behind);
		behind = after(r);
	}
	behind->before = r;
	list_add(r);
}

/* The last block is kept apart: it is taken only when no list has anything. */
static struct block *last_take(size_t size)
{
	struct block *b = last, *end;

	if (size_of(b) < size + HEAD + PAYLOAD_MIN)
		return NULL;
	end = (struct block *)((uintptr_t)b + HEAD + size);
	end->size = (size_of(b) - size - HEAD);
	end->before = b;
	b->size = size;
	last = end;
	if ((uintptr_t)end + sizeof *end > used_end)
		used_end = (uintptr_t)end + sizeof *end;
	return b;
}

static size_t rounded(size_t n)
{
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return n < PAYLOAD_MIN ? PAYLOAD_MIN : n;
}

void pl_heap_init(uintptr_t start, uintptr_t end)
{
	/* Payloads are aligned, and so are the blocks before them. */
	start = (start + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1);
	last = (struct block *)start;
	last->before = NULL;
	last->size = (end - start - HEAD) & ~(size_t)(ALIGN - 1);
	heap_end = end;
	used_end = start + sizeof *last;
}

void pl_heap_grow(uintptr_t end)
{
	if (end <= heap_end)
		return;
	last->size += (end - heap_end) & ~(uintptr_t)(ALIGN - 1);
	heap_end = end;
}

uintptr_t pl_heap_used_end(void)
{
	return used_end;
}

/* Not called malloc, so that the compiler does not make of calloc's body a call of calloc. */
static void *take(size_t n)
{
	struct block *b;

	if (n >= BLOCK_MAX)
		return NULL;
	n = rounded(n);
	b = list_find(n);
	if (!b) {
		b = last_take(n);
		return b ? payload(b) : NULL;
	}
	list_remove(b);
	split(b, n);
	return payload(b);
}

void *malloc(size_t n)
{
	return take(n);
}

void free(void *p)
{
	struct block *b, *behind;

	if (!p)
		return;
	b = block_of(p);
	behind = after(b);
	if (b->before && (b->before->size & FREE)) {
		struct block *before = b->before;

		list_remove(before);
		before->size += HEAD + size_of(b);
		b = before;
	}
	if (behind == last) {
		b->size += HEAD + size_of(behind);
		last = b;
		return;
	}
	if (behind->size & FREE) {
		list_remove(behind);
		b->size += HEAD + size_of(behind);
		behind = after(b);
	}
	behind->before = b;
	list_add(b);
}

size_t malloc_usable_size(void *p)
{
	return p ? size_of(block_of(p)) : 0;
}

/* Takes what is missing from the neighbour behind. */
static bool grow_in_place(struct block *b, size_t size)
{
	struct block *behind = after(b);

	if (behind == last) {
		size_t own = b->size;

		b->size += HEAD + size_of(behind);
		last = b;
		if (last_take(size))
			return true;
		b->size = own;
		last = behind;
		return false;
	}
	if (!(behind->size & FREE) || size_of(b) + HEAD + size_of(behind) < size)
		return false;
	list_remove(behind);
	b->size += HEAD + size_of(behind);
	after(b)->before = b;
	split(b, size);
	return true;
}

void *realloc(void *p, size_t n)
{
	struct block *b;
	size_t size;
	void *q;

	if (!p)
		return malloc(n);
	if (n >= BLOCK_MAX)
		return NULL;
	b = block_of(p);
	size = rounded(n);
	if (size <= size_of(b)) {
		if (after(b) != last)
			split(b, size);
		return p;
	}
	if (grow_in_place(b, size))
		return p;
	q = malloc(n);
	if (!q)
		return NULL;
	memcpy(q, p, size_of(b));
	free(p);
	return q;
}

void *calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all))
		return NULL;
	p = take(all);
	if (p)
		memset(p, 0, all);
	return p;
}
