/* SPDX-License-Identifier: Apache-2.0 */
/* tables: the machine's page tables and its task segment. Pure: bytes in the machine's low memory, before it first runs.
 *
 * The tables themselves are mapped nowhere in the machine, and their memory is read-only for it; accessed and dirty bits are
 * set beforehand, so that the processor has nothing to write there either. */
#ifndef PL_VMM_TABLES_H
#define PL_VMM_TABLES_H

#include <stdint.h>

#define PL_VM_PTE_PRESENT 1ull
#define PL_VM_PTE_WRITE 2ull
#define PL_VM_PTE_USER 4ull
#define PL_VM_PTE_ACCESSED 0x20ull
#define PL_VM_PTE_DIRTY 0x40ull
#define PL_VM_PTE_LARGE 0x80ull
#define PL_VM_PTE_NX (1ull << 63)

/* Pages [start, end) of the image with the given rights besides reading. */
struct pl_vm_segment {
	uint64_t start, end;
	int write, execute;
};

/* memory: the machine's, at least PL_VM_SMALL_END bytes, zero in its low part. Maps the shared range, the stack above its guard,
 * the segments, and what lies between the last of them and PL_VM_SMALL_END as heap. -EINVAL: a segment that is not where the
 * image may be, or is writable and executable. */
int pl_vm_tables_build(uint8_t *memory, const struct pl_vm_segment *segments, unsigned n);
/* Maps heap from PL_VM_SMALL_END to memory_bytes, as far as whole pieces of 2 MiB go, and nothing above. */
void pl_vm_tables_extend(uint8_t *memory, uint64_t memory_bytes);
/* Where the heap of such a machine ends. */
uint64_t pl_vm_heap_end(uint64_t memory_bytes);
/* The entry that maps an address, 0 when none does. For tests. */
uint64_t pl_vm_tables_find(const uint8_t *memory, uint64_t address);

#endif
