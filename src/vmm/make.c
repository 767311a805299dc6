/* SPDX-License-Identifier: Apache-2.0 */
/* make: see make.h. */
#include "vmm/make.h"

#include "linux/sys.h"
#include "vmm/tables.h"

#include <elf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define SEGMENTS_MAX 6u
#define EXITS_MAX 64

struct image {
	const uint8_t *bytes;
	uint64_t len, entry, text_end, end;
	struct pl_vm_segment segments[SEGMENTS_MAX];
	unsigned segments_n;
};

static uint64_t page_up(uint64_t at)
{
	return (at + PL_VM_PAGE - 1) & ~(PL_VM_PAGE - 1);
}

static int segment_load(struct image *image, const Elf64_Phdr *p, uint8_t *memory)
{
	struct pl_vm_segment *s = &image->segments[image->segments_n];

	if (image->segments_n == SEGMENTS_MAX || p->p_vaddr < PL_VM_IMAGE || p->p_vaddr > PL_VM_SMALL_END ||
	    p->p_memsz > PL_VM_SMALL_END - p->p_vaddr || p->p_filesz > p->p_memsz || p->p_offset > image->len ||
	    p->p_filesz > image->len - p->p_offset)
		return -ENOEXEC;
	memcpy(memory + p->p_vaddr, image->bytes + p->p_offset, p->p_filesz);
	*s = (struct pl_vm_segment){
		.start = p->p_vaddr & ~(PL_VM_PAGE - 1),
		.end = page_up(p->p_vaddr + p->p_memsz),
		.write = p->p_flags & PF_W,
		.execute = p->p_flags & PF_X,
	};
	image->end = s->end;
	if (!s->write)
		image->text_end = s->end;
	image->segments_n++;
	return 0;
}

static int image_load(struct image *image, uint8_t *memory)
{
	Elf64_Ehdr header;
	int rc = 0;

	if (image->len < sizeof header)
		return -ENOEXEC;
	memcpy(&header, image->bytes, sizeof header);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != EM_X86_64 || header.e_type != ET_EXEC ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > image->len ||
	    header.e_phnum > (image->len - header.e_phoff) / sizeof(Elf64_Phdr))
		return -ENOEXEC;
	image->entry = header.e_entry;
	for (unsigned i = 0; i < header.e_phnum && rc == 0; i++) {
		Elf64_Phdr p;

		memcpy(&p, image->bytes + header.e_phoff + i * sizeof p, sizeof p);
		if (p.p_type == PT_LOAD && p.p_memsz)
			rc = segment_load(image, &p, memory);
	}
	return rc;
}

static int image_map(struct image *image)
{
	struct stat st;
	int rc = pl_sys_fstat(PL_VMM_IMAGE_FD, &st);
	void *at;

	if (rc < 0)
		return rc;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, PL_VMM_IMAGE_FD, 0);
	if (at == MAP_FAILED)
		return -errno;
	image->bytes = at;
	image->len = (uint64_t)st.st_size;
	return 0;
}

static void header_put(struct pl_vm *vm)
{
	struct pl_vm_header header = { .memory_bytes = vm->memory_bytes, .tsc_khz = vm->tsc_khz };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	header.real_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	memcpy(vm->memory + PL_VM_SHARED, &header, sizeof header);
}

static int processor_start(struct pl_vm *vm, uint64_t entry)
{
	struct kvm_fpu fpu = { .fcw = 0x37f, .mxcsr = 0x1f80 };
	struct kvm_sregs sregs;
	struct kvm_regs regs;
	long rc = PL_SYS("ioctl", ioctl(vm->vcpu_fd, KVM_GET_SREGS, &sregs));

	pl_vm_cpu_regs(&regs, entry);
	if (rc >= 0) {
		pl_vm_cpu_sregs(&sregs);
		rc = PL_SYS("ioctl", ioctl(vm->vcpu_fd, KVM_SET_SREGS, &sregs));
	}
	if (rc >= 0)
		rc = PL_SYS("ioctl", ioctl(vm->vcpu_fd, KVM_SET_FPU, &fpu));
	if (rc >= 0)
		rc = PL_SYS("ioctl", ioctl(vm->vcpu_fd, KVM_SET_REGS, &regs));
	return (int)rc;
}

/* To SNAPSHOT; then the pending `out` is completed without running on. */
static int snapshot_reach(struct pl_vm *vm)
{
	for (int i = 0; i < EXITS_MAX; i++) {
		int rc = pl_vm_run(vm);

		if (rc < 0)
			return rc;
		if (vm->run->exit_reason != KVM_EXIT_IO || vm->run->io.direction != KVM_EXIT_IO_OUT)
			return -ENOEXEC;
		if (vm->run->io.port == PL_VM_PORT_CLOCK)
			continue;
		if (vm->run->io.port != PL_VM_PORT_SNAPSHOT)
			return -ENOEXEC;
		vm->run->immediate_exit = 1;
		rc = pl_vm_run(vm);
		vm->run->immediate_exit = 0;
		return rc == -EINTR ? 0 : -EIO;
	}
	return -ELOOP;
}

static int state_save(struct pl_vm *vm, const struct image *image, uint64_t *ret_len)
{
	static struct pl_vm_state state;
	uint64_t used;
	int rc = pl_vm_state_get(vm, &state);

	memcpy(&used, vm->memory + PL_VM_SHARED + offsetof(struct pl_vm_header, heap_used_end), sizeof used);
	used = page_up(used);
	if (rc == 0 && (used < image->end || used > vm->memory_bytes))
		rc = -ERANGE;
	if (rc < 0)
		return rc;
	state.magic = PL_VM_STATE_MAGIC;
	state.image_end = image->end;
	state.text_end = image->text_end;
	state.used_end = used;
	memcpy(vm->memory + PL_VM_STATE, &state, sizeof state);
	memset(vm->memory + PL_VM_SHARED, 0, sizeof(struct pl_vm_header));
	*ret_len = used;
	return 0;
}

int pl_vm_snapshot_make(uint64_t *ret_len, const char **ret_step)
{
	struct image image = { 0 };
	struct pl_vm vm;
	int rc = pl_vm_make(&vm, PL_VMM_KVM_FD, PL_VMM_SNAPSHOT_FD, PL_VM_MEMORY_MIN, 1, PL_VM_MEMORY_MIN, ret_step);

	if (rc < 0)
		return rc;
	*ret_step = "load image";
	rc = image_map(&image);
	if (rc == 0)
		rc = image_load(&image, vm.memory);
	if (rc == 0)
		rc = pl_vm_tables_build(vm.memory, image.segments, image.segments_n);
	if (rc < 0)
		return rc;
	*ret_step = "set memory";
	rc = pl_vm_slots(&vm, image.text_end);
	if (rc < 0)
		return rc;
	*ret_step = "set processor";
	header_put(&vm);
	rc = processor_start(&vm, image.entry);
	if (rc < 0)
		return rc;
	*ret_step = "run the image";
	rc = snapshot_reach(&vm);
	if (rc < 0)
		return rc;
	*ret_step = "save state";
	return state_save(&vm, &image, ret_len);
}
