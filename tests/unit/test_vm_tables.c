/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's page tables and task segment, page by page: what is mapped, with which rights, and that nothing else is. */
#include "unit/unit.h"

#include "vmm/cpu.h"
#include "vmm/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RIGHTS (PL_VM_PTE_PRESENT | PL_VM_PTE_WRITE | PL_VM_PTE_USER | PL_VM_PTE_NX)
#define R (PL_VM_PTE_PRESENT | PL_VM_PTE_USER | PL_VM_PTE_NX)
#define RX (PL_VM_PTE_PRESENT | PL_VM_PTE_USER)
#define RW (R | PL_VM_PTE_WRITE)
#define SUPERVISOR (PL_VM_PTE_PRESENT | PL_VM_PTE_NX)
#define ADDRESS 0x000ffffffffff000ull

static const struct pl_vm_segment segments[] = {
	{ 0x600000, 0x601000, 0, 0 }, { 0x601000, 0x6a0000, 0, 1 }, { 0x6a0000, 0x6d0000, 0, 0 }, { 0x6d0000, 0x6e0000, 1, 0 },
};

static uint8_t *memory;

static int memory_take(void **state)
{
	(void)state;
	memory = calloc(1, PL_VM_SMALL_END);
	return memory && pl_vm_tables_build(memory, segments, 4) == 0 ? 0 : -1;
}

static int memory_give(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static uint64_t wanted(uint64_t at)
{
	if (at == PL_VM_TSS)
		return SUPERVISOR;
	if (at < PL_VM_SHARED || at == PL_VM_STACK)
		return 0;
	if (at < PL_VM_IMAGE)
		return RW;
	if (at < 0x601000)
		return R;
	if (at < 0x6a0000)
		return RX;
	return at < 0x6d0000 ? R : RW;
}

static void every_small_page(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < PL_VM_SMALL_END; at += PL_VM_PAGE) {
		uint64_t entry = pl_vm_tables_find(memory, at);

		assert_int_equal(entry & RIGHTS, wanted(at));
		if (entry) {
			assert_int_equal(entry & ADDRESS, at);
			/* Nothing is left for the processor to write into the tables. */
			assert_int_equal(entry & (PL_VM_PTE_ACCESSED | PL_VM_PTE_DIRTY), PL_VM_PTE_ACCESSED | PL_VM_PTE_DIRTY);
		}
	}
}

/* The tables and the saved registers must not be reachable by any address, not even the processor's own reads of the TSS. */
static void nothing_maps_the_low_pages(void **state)
{
	(void)state;
	pl_vm_tables_extend(memory, PL_VM_MEMORY_MAX);
	for (uint64_t at = 0; at < PL_VM_MEMORY_MAX; at += PL_VM_PAGE) {
		uint64_t entry = pl_vm_tables_find(memory, at);
		uint64_t to = entry & PL_VM_PTE_LARGE ? (entry & ADDRESS) + at % PL_VM_LARGE : entry & ADDRESS;

		if (entry && to != at)
			fail_msg("%#llx is mapped to %#llx", (unsigned long long)at, (unsigned long long)to);
		if (entry && to < PL_VM_LOW_END && to != PL_VM_TSS)
			fail_msg("%#llx reaches low memory", (unsigned long long)at);
	}
}

static void memory_ends_where_it_ends(void **state)
{
	static const uint64_t sizes[] = { PL_VM_MEMORY_MIN, (16ull << 20) + 4096, 18ull << 20, 256ull << 20, (1ull << 30) + (3ull << 20), PL_VM_MEMORY_MAX, 256ull << 20 };

	(void)state;
	/* In this order on the same tables: a larger one before must leave nothing. */
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t end = pl_vm_heap_end(sizes[i]);

		pl_vm_tables_extend(memory, sizes[i]);
		assert_true(end <= sizes[i] && sizes[i] - end < PL_VM_LARGE);
		assert_int_equal(pl_vm_tables_find(memory, end - 1) & RIGHTS, RW);
		if (end < PL_VM_MEMORY_MAX)
			assert_int_equal(pl_vm_tables_find(memory, end), 0);
		for (uint64_t at = end; at < PL_VM_MEMORY_MAX; at += PL_VM_LARGE)
			assert_int_equal(pl_vm_tables_find(memory, at), 0);
	}
	for (int bit = 32; bit < 48; bit++)
		assert_int_equal(pl_vm_tables_find(memory, 1ull << bit), 0);
}

static void a_bad_segment_is_refused(void **state)
{
	static const struct pl_vm_segment bad[] = {
		{ 0x600000, 0x601000, 1, 1 },         { 0x600800, 0x602000, 0, 0 }, { 0x600000, 0x600800, 0, 0 },
		{ 0x500000, 0x700000, 0, 0 },         { 0x602000, 0x601000, 0, 0 }, { 0x600000, 0x600000, 0, 0 },
		{ 0x600000, 0x1001000, 0, 0 },        { 0x100000, 0x101000, 1, 0 },
	};
	struct pl_vm_segment overlapping[] = { { 0x600000, 0x602000, 0, 1 }, { 0x601000, 0x603000, 1, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(pl_vm_tables_build(memory, &bad[i], 1), -EINVAL);
	assert_int_equal(pl_vm_tables_build(memory, overlapping, 2), -EINVAL);
}

static int port_open(unsigned port, unsigned bytes)
{
	const uint8_t *tss = memory + PL_VM_TSS;
	unsigned base = tss[102] | (unsigned)tss[103] << 8;

	for (unsigned p = port; p < port + bytes; p++)
		if (tss[base + p / 8] >> p % 8 & 1)
			return 0;
	return 1;
}

/* As the processor looks: every bit of an access must be clear, and the byte behind must be inside the limit. */
static void only_the_listed_ports(void **state)
{
	struct kvm_sregs sregs = { 0 };
	unsigned base = memory[PL_VM_TSS + 102];

	(void)state;
	pl_vm_cpu_sregs(&sregs);
	for (unsigned port = 0; port < PL_VM_PORTS_END; port++) {
		int listed = 0;

#define X(name, number) listed |= port == (number);
		PL_VM_PORT_LIST(X)
#undef X
		if (listed)
			assert_true(port_open(port, 4));
		else if (port % 4 == 0 || port < 0x10)
			assert_false(port_open(port, 4));
	}
	/* Beyond the bitmap the limit of the segment forbids. */
	assert_int_equal(sregs.tr.limit, base + PL_VM_PORTS_END / 8);
	assert_int_equal(memory[PL_VM_TSS + base + PL_VM_PORTS_END / 8], 0xff);
	assert_int_equal(sregs.tr.base, PL_VM_TSS);
}

static void the_processor_starts_as_it_should(void **state)
{
	struct kvm_sregs s;
	struct kvm_regs r;

	(void)state;
	memset(&s, 0xff, sizeof s);
	pl_vm_cpu_sregs(&s);
	pl_vm_cpu_regs(&r, 0x601000);
	assert_int_equal(s.cs.dpl, 3);
	assert_int_equal(s.ss.dpl, 3);
	assert_int_equal(s.cs.selector & 3, 3);
	assert_int_equal(s.gdt.limit, 0);
	assert_int_equal(s.idt.limit, 0);
	assert_int_equal(s.efer & 1, 0);              /* SCE */
	assert_int_equal(s.efer >> 11 & 1, 1);        /* NXE */
	assert_int_equal(s.cr4 & 1u << 16, 0);        /* FSGSBASE */
	assert_int_equal(s.cr4 & 1u << 18, 0);        /* OSXSAVE */
	assert_int_equal(s.cr4 & 1u << 22, 0);        /* PKE */
	assert_int_equal(s.cr0 >> 16 & 1, 1);         /* WP */
	assert_int_equal(s.cr3, PL_VM_TABLES);
	assert_int_equal(r.rflags, 2);                /* IOPL 0, no interrupts */
	assert_int_equal(r.rsp, PL_VM_STACK_TOP);
}

static void cpuid_is_a_list(void **state)
{
	static struct pl_vm_cpuid c;
	static const uint32_t functions[] = { 0, 1, 2, 4, 5, 6, 7, 7, 0xa, 0xb, 0xd, 0x14, 0x1d, 0x40000000, 0x80000000, 0x80000001, 0x80000008, 0x8000001f };

	(void)state;
	c.n = sizeof functions / sizeof *functions;
	for (uint32_t i = 0; i < c.n; i++)
		c.entries[i] = (struct kvm_cpuid_entry2){ .function = functions[i], .index = i == 7, .eax = ~0u, .ebx = ~0u, .ecx = ~0u, .edx = ~0u };
	assert_int_equal(pl_vm_xsave_mask(&c), ~0ull);
	pl_vm_cpuid_filter(&c);
	assert_int_equal(c.n, 6);
	for (uint32_t i = 0; i < c.n; i++) {
		const struct kvm_cpuid_entry2 *e = &c.entries[i];

		if (e->function == 1) {
			assert_int_equal(e->ecx & (1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31), 0); /* XSAVE, OSXSAVE, AVX, RDRAND, hypervisor */
			assert_int_equal(e->edx >> 26 & 1, 1); /* SSE2 */
		}
		if (e->function == 7) {
			assert_int_equal(e->ebx & (1u << 4 | 1u << 5 | 1u << 11 | 1u << 16 | 1u << 18), 0); /* HLE, AVX2, RTM, AVX-512F, RDSEED */
			assert_int_equal(e->ecx, 0); /* PKU, WAITPKG */
			assert_int_equal(e->edx, 0); /* AMX */
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_small_page),
		cmocka_unit_test(nothing_maps_the_low_pages),
		cmocka_unit_test(memory_ends_where_it_ends),
		cmocka_unit_test(only_the_listed_ports),
		cmocka_unit_test(a_bad_segment_is_refused),
		cmocka_unit_test(the_processor_starts_as_it_should),
		cmocka_unit_test(cpuid_is_a_list),
	};

	return cmocka_run_group_tests(tests, memory_take, memory_give);
}
