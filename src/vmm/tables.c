/* SPDX-License-Identifier: Apache-2.0 */
/* tables: see tables.h. Formats: Intel SDM volume 3, 4.5 (four-level paging) and 8.7 (64-bit TSS). */
#include "vmm/tables.h"

#include "wire/vm.h"

#include <errno.h>
#include <string.h>

#define DIRECTORIES 4u /* of 1 GiB */
#define TABLES_N (PL_VM_SMALL_END / PL_VM_LARGE)
#define BRANCH (PL_VM_PTE_PRESENT | PL_VM_PTE_WRITE | PL_VM_PTE_USER | PL_VM_PTE_ACCESSED)
#define LEAF (PL_VM_PTE_PRESENT | PL_VM_PTE_ACCESSED | PL_VM_PTE_DIRTY)
#define DATA (LEAF | PL_VM_PTE_USER | PL_VM_PTE_WRITE | PL_VM_PTE_NX)
#define ADDRESS 0x000ffffffffff000ull

#define TSS_BITMAP_AT 0x68u
#define TSS_BITMAP_POINTER 102u

/* Root, one pointer table, four directories, then the tables of the first 16 MiB. */
static uint64_t page_at(unsigned i)
{
	return PL_VM_TABLES + i * PL_VM_PAGE;
}

static void entry_put(uint8_t *memory, uint64_t table, unsigned index, uint64_t entry)
{
	memcpy(memory + table + index * 8u, &entry, 8);
}

static uint64_t entry_get(const uint8_t *memory, uint64_t table, unsigned index)
{
	uint64_t entry;

	memcpy(&entry, memory + table + index * 8u, 8);
	return entry;
}

static void branches_put(uint8_t *memory)
{
	entry_put(memory, page_at(0), 0, page_at(1) | BRANCH);
	for (unsigned i = 0; i < DIRECTORIES; i++)
		entry_put(memory, page_at(1), i, page_at(2 + i) | BRANCH);
	for (unsigned i = 0; i < TABLES_N; i++)
		entry_put(memory, page_at(2), i, page_at(2 + DIRECTORIES + i) | BRANCH);
}

/* Within the first 16 MiB. */
static void range_map(uint8_t *memory, uint64_t start, uint64_t end, uint64_t bits)
{
	for (uint64_t at = start; at < end; at += PL_VM_PAGE)
		entry_put(memory, page_at(2 + DIRECTORIES + (unsigned)(at / PL_VM_LARGE)),
			  (unsigned)(at / PL_VM_PAGE % 512), at | bits);
}

/* A page that only the processor reads: which ports are open, and nothing else. Bits that are 0 open; the byte behind the
 * bitmap has to be all ones. */
static void task_segment_put(uint8_t *memory)
{
	uint8_t *tss = memory + PL_VM_TSS;
	uint16_t at = TSS_BITMAP_AT;

	memset(tss, 0xff, PL_VM_PAGE);
	memset(tss, 0, TSS_BITMAP_AT);
	memcpy(tss + TSS_BITMAP_POINTER, &at, sizeof at);
#define X(name, number) tss[TSS_BITMAP_AT + (number) / 8] &= (uint8_t)~(0xfu << (number) % 8);
	PL_VM_PORT_LIST(X)
#undef X
	range_map(memory, PL_VM_TSS, PL_VM_TSS + PL_VM_PAGE, LEAF | PL_VM_PTE_NX);
}

static int segment_check(const struct pl_vm_segment *s, uint64_t from)
{
	if (s->start % PL_VM_PAGE || s->end % PL_VM_PAGE || s->start < from || s->end <= s->start || s->end > PL_VM_SMALL_END)
		return -EINVAL;
	return s->write && s->execute ? -EINVAL : 0;
}

int pl_vm_tables_build(uint8_t *memory, const struct pl_vm_segment *segments, unsigned n)
{
	uint64_t end = PL_VM_IMAGE;

	branches_put(memory);
	task_segment_put(memory);
	range_map(memory, PL_VM_SHARED, PL_VM_SHARED_END, DATA);
	range_map(memory, PL_VM_STACK + PL_VM_PAGE, PL_VM_STACK_END, DATA);
	for (unsigned i = 0; i < n; i++) {
		uint64_t bits = LEAF | PL_VM_PTE_USER;

		if (segment_check(&segments[i], end) < 0)
			return -EINVAL;
		bits |= (segments[i].write ? PL_VM_PTE_WRITE : 0) | (segments[i].execute ? 0 : PL_VM_PTE_NX);
		range_map(memory, segments[i].start, segments[i].end, bits);
		end = segments[i].end;
	}
	range_map(memory, end, PL_VM_SMALL_END, DATA);
	return 0;
}

uint64_t pl_vm_heap_end(uint64_t memory_bytes)
{
	return memory_bytes & ~(PL_VM_LARGE - 1);
}

void pl_vm_tables_extend(uint8_t *memory, uint64_t memory_bytes)
{
	for (uint64_t at = PL_VM_SMALL_END; at < PL_VM_MEMORY_MAX; at += PL_VM_LARGE) {
		uint64_t table = page_at(2 + (unsigned)(at >> 30));
		unsigned index = (unsigned)(at / PL_VM_LARGE % 512);
		uint64_t entry = at + PL_VM_LARGE <= memory_bytes ? at | DATA | PL_VM_PTE_LARGE : 0;

		/* What is right already is not written: every page that is, is a page more a machine. */
		if (entry_get(memory, table, index) != entry)
			entry_put(memory, table, index, entry);
	}
}

uint64_t pl_vm_tables_find(const uint8_t *memory, uint64_t address)
{
	uint64_t table = PL_VM_TABLES, entry = 0;

	for (int shift = 39; shift >= 12; shift -= 9) {
		entry = entry_get(memory, table, (unsigned)(address >> shift) & 511);
		if (!(entry & PL_VM_PTE_PRESENT))
			return 0;
		if (shift == 12 || (entry & PL_VM_PTE_LARGE))
			break;
		table = entry & ADDRESS;
	}
	return entry;
}
