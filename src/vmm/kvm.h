/* SPDX-License-Identifier: Apache-2.0 */
/* kvm: one machine of one vCPU, made of the kernel's interface: its memory, its processor, how it starts again from a snapshot. */
#ifndef PL_VMM_KVM_H
#define PL_VMM_KVM_H

#include "vmm/cpu.h"

struct pl_vm {
	int kvm_fd, vm_fd, vcpu_fd, stats_fd;
	uint8_t *memory;
	uint64_t memory_bytes, slots_bytes;
	struct kvm_run *run;
	uint64_t xsave_mask;
	uint32_t xsave_len, tsc_khz;
};

/* Makes the machine with memory of memory_bytes, of which the first file_len are file_fd's: shared (so that they are written
 * there) or private. On failure *ret_step says which step. 0 or -errno. */
int pl_vm_make(struct pl_vm *vm, int kvm_fd, int file_fd, uint64_t file_len, int shared, uint64_t memory_bytes,
	       const char **ret_step);
/* Gives the machine its memory, and with it what it may not write: everything below the shared range, and [PL_VM_IMAGE, text_end). */
int pl_vm_slots(struct pl_vm *vm, uint64_t text_end);
int pl_vm_state_get(struct pl_vm *vm, struct pl_vm_state *ret);
int pl_vm_state_set(struct pl_vm *vm, const struct pl_vm_state *state);
/* KVM_RUN once: 0, or -errno (-EINTR: a signal came). */
int pl_vm_run(struct pl_vm *vm);

#endif
