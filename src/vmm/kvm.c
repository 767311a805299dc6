/* SPDX-License-Identifier: Apache-2.0 */
/* kvm: see kvm.h. Each ioctl has a row with its reason in wall/jail/filters.c. */
#include "vmm/kvm.h"

#include "linux/sys.h"

#include <string.h>
#include <sys/ioctl.h>

/* From Linux 5.17; the numbers are the kernel's for good. */
#define GET_XSAVE2 _IOR(KVMIO, 0xcf, struct kvm_xsave)
#define CAP_XSAVE2 208

static long kvm_call(int fd, unsigned long request, unsigned long arg)
{
	return PL_SYS("ioctl", ioctl(fd, (int)request, arg));
}

static long kvm_ptr(int fd, unsigned long request, void *arg)
{
	return PL_SYS("ioctl", ioctl(fd, (int)request, arg));
}

static int memory_map(struct pl_vm *vm, int file_fd, uint64_t file_len, int shared)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *at = mmap(NULL, vm->memory_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	vm->memory = at;
	if (!shared && pl_sabotage("guest.image"))
		return pl_sys_pread(file_fd, at, file_len, 0) == (ssize_t)file_len ? 0 : -EIO;
	flags = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED | MAP_NORESERVE;
	if (mmap(at, file_len, PROT_READ | PROT_WRITE, flags, file_fd, 0) == MAP_FAILED)
		return -errno;
	return 0;
}

static int slot_set(struct pl_vm *vm, unsigned slot, uint64_t start, uint64_t end, uint32_t flags)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = start,
		.memory_size = end - start,
		.userspace_addr = (uintptr_t)vm->memory + start,
	};
	long rc = kvm_ptr(vm->vm_fd, KVM_SET_USER_MEMORY_REGION, &region);

	if (rc == 0)
		vm->slots_bytes += end - start;
	return (int)rc;
}

int pl_vm_slots(struct pl_vm *vm, uint64_t text_end)
{
	int rc = slot_set(vm, 0, 0, PL_VM_LOW_END, KVM_MEM_READONLY);

	if (rc == 0)
		rc = slot_set(vm, 1, PL_VM_LOW_END, PL_VM_IMAGE, 0);
	if (rc == 0)
		rc = slot_set(vm, 2, PL_VM_IMAGE, text_end, KVM_MEM_READONLY);
	if (rc == 0)
		rc = slot_set(vm, 3, text_end, vm->memory_bytes, 0);
	return rc;
}

static int vcpu_make(struct pl_vm *vm)
{
	static struct pl_vm_cpuid cpuid; /* 5 KiB; one thread */
	long size = kvm_call(vm->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0), rc;
	void *run;

	if (size < 0)
		return (int)size;
	vm->vcpu_fd = (int)kvm_call(vm->vm_fd, KVM_CREATE_VCPU, 0);
	if (vm->vcpu_fd < 0)
		return vm->vcpu_fd;
	run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vm->vcpu_fd, 0);
	if (run == MAP_FAILED)
		return -errno;
	vm->run = run;
	cpuid.n = PL_VM_CPUID_MAX;
	rc = kvm_ptr(vm->kvm_fd, KVM_GET_SUPPORTED_CPUID, &cpuid);
	if (rc < 0)
		return (int)rc;
	vm->xsave_mask = pl_vm_xsave_mask(&cpuid);
	pl_vm_cpuid_filter(&cpuid);
	rc = kvm_ptr(vm->vcpu_fd, KVM_SET_CPUID2, &cpuid);
	return rc < 0 ? (int)rc : 0;
}

static int figures_get(struct pl_vm *vm)
{
	long len = kvm_call(vm->vm_fd, KVM_CHECK_EXTENSION, CAP_XSAVE2);
	long khz = kvm_call(vm->vcpu_fd, KVM_GET_TSC_KHZ, 0);

	vm->xsave_len = len > (long)sizeof(struct kvm_xsave) ? (uint32_t)len : (uint32_t)sizeof(struct kvm_xsave);
	vm->tsc_khz = khz > 0 ? (uint32_t)khz : 0;
	return vm->xsave_len > PL_VM_XSAVE_MAX ? -E2BIG : 0;
}

int pl_vm_make(struct pl_vm *vm, int kvm_fd, int file_fd, uint64_t file_len, int shared, uint64_t memory_bytes,
	       const char **ret_step)
{
	int rc;

	*vm = (struct pl_vm){ .kvm_fd = kvm_fd, .vm_fd = -1, .vcpu_fd = -1, .stats_fd = -1, .memory_bytes = memory_bytes };
	*ret_step = "map memory";
	rc = memory_map(vm, file_fd, file_len, shared);
	if (rc < 0)
		return rc;
	*ret_step = "create machine";
	vm->vm_fd = (int)kvm_call(kvm_fd, KVM_CREATE_VM, 0);
	if (vm->vm_fd < 0)
		return vm->vm_fd;
	*ret_step = "create vCPU";
	rc = vcpu_make(vm);
	return rc < 0 ? rc : figures_get(vm);
}

int pl_vm_state_get(struct pl_vm *vm, struct pl_vm_state *ret)
{
	unsigned long request = vm->xsave_len > sizeof(struct kvm_xsave) ? GET_XSAVE2 : KVM_GET_XSAVE;
	long rc = kvm_ptr(vm->vcpu_fd, KVM_GET_REGS, &ret->regs);
	uint64_t present;

	if (rc >= 0)
		rc = kvm_ptr(vm->vcpu_fd, KVM_GET_SREGS, &ret->sregs);
	if (rc >= 0)
		rc = kvm_ptr(vm->vcpu_fd, request, ret->xsave);
	if (rc < 0)
		return (int)rc;
	/* A component whose bit is clear would keep what the processor held before: every one is said to be there. */
	memcpy(&present, ret->xsave + 512, sizeof present);
	present |= vm->xsave_mask;
	memcpy(ret->xsave + 512, &present, sizeof present);
	ret->xsave_len = vm->xsave_len;
	return 0;
}

int pl_vm_state_set(struct pl_vm *vm, const struct pl_vm_state *state)
{
	long rc;

	if (state->xsave_len != vm->xsave_len)
		return -EINVAL;
	rc = kvm_ptr(vm->vcpu_fd, KVM_SET_SREGS, (void *)&state->sregs);
	if (rc >= 0)
		rc = kvm_ptr(vm->vcpu_fd, KVM_SET_XSAVE, (void *)state->xsave);
	if (rc >= 0)
		rc = kvm_ptr(vm->vcpu_fd, KVM_SET_REGS, (void *)&state->regs);
	return rc < 0 ? (int)rc : 0;
}

/* Not retried after a signal: that is what the signal is for. */
int pl_vm_run(struct pl_vm *vm)
{
	return ioctl(vm->vcpu_fd, KVM_RUN, 0) < 0 ? -errno : 0;
}
