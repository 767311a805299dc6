/* SPDX-License-Identifier: Apache-2.0 */
/* cpu: the state in which the machine's processor starts, and what it is told that it can do. Pure. */
#ifndef PL_VMM_CPU_H
#define PL_VMM_CPU_H

#include "wire/vm.h"

#define PL_VM_CPUID_MAX 128u
struct pl_vm_cpuid {
	uint32_t n, pad;
	struct kvm_cpuid_entry2 entries[PL_VM_CPUID_MAX];
};

/* Long mode at CPL 3, paging on, no interrupt and no global descriptor table, the task segment at PL_VM_TSS. sregs holds
 * what KVM gave. */
void pl_vm_cpu_sregs(struct kvm_sregs *sregs);
void pl_vm_cpu_regs(struct kvm_regs *regs, uint64_t entry);
/* Keeps what is on a fixed list of what KVM supports. Where KVM cannot hide the rest (pvm), it only says so. */
void pl_vm_cpuid_filter(struct pl_vm_cpuid *cpuid);
/* The state components that KVM supports, from its unfiltered CPUID. */
uint64_t pl_vm_xsave_mask(const struct pl_vm_cpuid *cpuid);

#endif
