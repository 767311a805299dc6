/* SPDX-License-Identifier: Apache-2.0 */
/* cpu: see cpu.h. */
#include "vmm/cpu.h"

#include <string.h>

#define CR0 0x80050033ull  /* PG, AM, WP, NE, ET, MP, PE */
#define CR4 0x620ull       /* PAE, OSFXSR, OSXMMEXCPT: no FSGSBASE, no OSXSAVE, no PKE */
#define EFER 0xd00ull      /* LME, LMA, NXE: no SCE, so `syscall` is no instruction where the processor keeps to it */
#define SELECTOR_CODE 0x23u
#define SELECTOR_DATA 0x1bu
#define SELECTOR_TASK 0x28u

void pl_vm_cpu_sregs(struct kvm_sregs *s)
{
	struct kvm_segment code = {
		.limit = 0xffffffff, .selector = SELECTOR_CODE, .type = 11, .present = 1, .dpl = 3, .s = 1, .l = 1, .g = 1,
	};
	struct kvm_segment data = {
		.limit = 0xffffffff, .selector = SELECTOR_DATA, .type = 3, .present = 1, .dpl = 3, .s = 1, .db = 1, .g = 1,
	};

	s->cs = code;
	s->ds = s->es = s->fs = s->gs = s->ss = data;
	s->fs.base = PL_VM_THREAD;
	s->gdt = (struct kvm_dtable){ 0 };
	s->idt = (struct kvm_dtable){ 0 };
	/* The limit ends one byte behind the bitmap. */
	s->tr = (struct kvm_segment){
		.base = PL_VM_TSS, .limit = 0x68 + PL_VM_PORTS_END / 8, .selector = SELECTOR_TASK, .type = 11, .present = 1,
	};
	s->cr0 = CR0;
	s->cr3 = PL_VM_TABLES;
	s->cr4 = CR4;
	s->efer = EFER;
}

void pl_vm_cpu_regs(struct kvm_regs *regs, uint64_t entry)
{
	*regs = (struct kvm_regs){ .rip = entry, .rsp = PL_VM_STACK_TOP, .rflags = 2 };
}

/* What the image's code may find: SSE up to 4.2, SHA. No XSAVE, AVX, AMX, PKU, TSX, WAITPKG, RDRAND, hypervisor leaves. */
static const struct {
	uint32_t function, index, eax, ebx, ecx, edx;
} allowed[] = {
	{ 0x0, 0, ~0u, ~0u, ~0u, ~0u },
	{ 0x1, 0, ~0u, 0x00ffff00, 0x00982201, 0x07888111 | 0x8000 },
	{ 0x7, 0, 0, 1u << 29 | 1u << 9, 0, 0 },
	{ 0x80000000, 0, ~0u, ~0u, ~0u, ~0u },
	{ 0x80000001, 0, ~0u, 0, 0x1, 1u << 20 | 1u << 29 },
	{ 0x80000008, 0, 0xffff, 0, 0, 0 },
};

void pl_vm_cpuid_filter(struct pl_vm_cpuid *cpuid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < cpuid->n && i < PL_VM_CPUID_MAX; i++) {
		struct kvm_cpuid_entry2 e = cpuid->entries[i];

		for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++) {
			if (allowed[k].function != e.function || allowed[k].index != e.index)
				continue;
			e.eax &= allowed[k].eax;
			e.ebx &= allowed[k].ebx;
			e.ecx &= allowed[k].ecx;
			e.edx &= allowed[k].edx;
			cpuid->entries[kept++] = e;
		}
	}
	cpuid->n = kept;
}

uint64_t pl_vm_xsave_mask(const struct pl_vm_cpuid *cpuid)
{
	for (uint32_t i = 0; i < cpuid->n && i < PL_VM_CPUID_MAX; i++)
		if (cpuid->entries[i].function == 0xd && cpuid->entries[i].index == 0)
			return (uint64_t)cpuid->entries[i].edx << 32 | cpuid->entries[i].eax;
	return 3; /* x87 and SSE, which every processor of this kind has */
}
