/* SPDX-License-Identifier: Apache-2.0 */
/* vm: what the machine monitor and the image inside the machine agree on: where things lie, the ports, the shared range; and
 * what the supervisor and the monitor say to each other before the gate.
 *
 * Theory of operation. The machine has one vCPU, at CPL 3, and no kernel: no interrupt table, no device, no system call. Its
 * only way out is a 32-bit `out` to one of the ports below, which the bitmap in the task state segment opens; anything else
 * that leaves the machine ends it. Guest-physical and guest-virtual addresses are the same where both exist.
 *
 *   0x000000  page tables, task segment, saved state   supervisor pages or not mapped at all; read-only memory
 *   0x100000  the shared range                          header, one frame in, frames out
 *   0x200000  stack, growing down from 0x600000         the lowest page is a guard
 *   0x600000  the image: text, constants, data          then the heap, to the end of memory
 *
 * The image trusts its host. The host trusts nothing in the machine's memory: every length is read once and checked. */
#ifndef PL_WIRE_VM_H
#define PL_WIRE_VM_H

#include "wire/frame.h"

#include <linux/kvm.h>
#include <stdint.h>

#define PL_VM_PAGE 4096ull
#define PL_VM_LOW_END 0x100000ull
#define PL_VM_TABLES 0x1000ull
#define PL_VM_TSS 0x20000ull
#define PL_VM_STATE 0x40000ull
#define PL_VM_SHARED 0x100000ull
#define PL_VM_SHARED_END 0x200000ull
#define PL_VM_STACK 0x200000ull
#define PL_VM_STACK_END 0x600000ull
#define PL_VM_IMAGE 0x600000ull
/* Up to here every page has an entry of its own; above, memory is mapped in pieces of 2 MiB. */
#define PL_VM_SMALL_END 0x1000000ull
#define PL_VM_LARGE 0x200000ull
#define PL_VM_MEMORY_MIN (16ull << 20)
#define PL_VM_MEMORY_MAX (4ull << 30)

/* The first page of the stack's range is the guard; the second holds what the C library keeps a thread: the stack
 * protector's value at the place where compilers expect it (%fs:0x28). */
#define PL_VM_THREAD (PL_VM_STACK_END - PL_VM_PAGE)
#define PL_VM_STACK_TOP PL_VM_THREAD
#define PL_VM_CANARY_OFFSET 0x28u

/* Ports. At each of them the monitor first takes the frames in the out area, and sets out_len to 0. A 32-bit access needs four bits of the bitmap, so they stand four apart. */
#define PL_VM_PORT_LIST(X)                                                                                             \
	X(RECEIVE, 0x10)  /* put the next frame into the in area; the end of the stream ends the machine */                \
	X(FLUSH, 0x14)    /* no more than that */                                                                          \
	X(SLEEP, 0x18)    /* return after sleep_ns, or a little later, with fresh clocks */                                \
	X(CLOCK, 0x1c)    /* fresh clocks */                                                                               \
	X(CALL, 0x20)     /* a call of the host: reserved; call_status becomes -ENOSYS */                                  \
	X(SNAPSHOT, 0x24) /* the engine is ready and no job has come; once, while the snapshot is made */

enum pl_vm_port {
#define X(name, number) PL_VM_PORT_##name = (number),
	PL_VM_PORT_LIST(X)
#undef X
};
#define PL_VM_PORTS_END 0x28u

#define PL_VM_SLEEP_MAX_NS (300ll * 1000000000)

/* The first page of the shared range. */
struct pl_vm_header {
	/* Written by the machine. */
	uint32_t out_len;     /* whole frames in the out area */
	uint32_t pad;
	int64_t sleep_ns;
	uint64_t heap_used_end; /* at SNAPSHOT: nothing above was touched */
	/* Written by the monitor. */
	uint32_t in_type, in_len; /* the frame in the in area */
	uint64_t memory_bytes;
	uint64_t text_end; /* where the image's writable part begins */
	int64_t monotonic_ns, real_ns; /* at the last return */
	uint32_t tsc_khz;         /* how fast the time stamp counter runs; 0: ask by CLOCK */
	int32_t call_status;
	uint16_t probes_tried, probes_denied; /* of the monitor, for HELLO */
	uint8_t landlock_denied, dumpable;
};
#define PL_VM_IN (PL_VM_SHARED + PL_VM_PAGE)
#define PL_VM_IN_SIZE (PL_FRAME_PAYLOAD_MAX + PL_VM_PAGE) /* the page is for the NUL after the code */
#define PL_VM_OUT (PL_VM_IN + PL_VM_IN_SIZE)
#define PL_VM_OUT_SIZE (PL_VM_SHARED_END - PL_VM_OUT)

/* Registers at the snapshot, in the machine's own low memory, where no guest address reaches. */
#define PL_VM_XSAVE_MAX 16384u
struct pl_vm_state {
	uint64_t magic;
	uint64_t image_end, text_end, used_end; /* used_end: the snapshot's size */
	struct kvm_regs regs;
	struct kvm_sregs sregs;
	uint32_t xsave_len;
	uint8_t xsave[PL_VM_XSAVE_MAX] __attribute__((aligned(64)));
};
#define PL_VM_STATE_MAGIC 0x31746174736d7670ull /* "pvmstat1" */

/* --- between supervisor and monitor ----------------------------------------------------------------------------------- */

/* The monitor's descriptors at its start, and the stream at 0 (wire/jail.h: PL_LAUNCH_EXTRA_FD and up). */
#define PL_VMM_CONTROL_FD 6  /* SOCK_SEQPACKET to the supervisor: one order, one answer, and it is closed */
#define PL_VMM_KVM_FD 7
#define PL_VMM_SNAPSHOT_FD 8 /* sealed; while it is made: not yet */
#define PL_VMM_IMAGE_FD 9    /* only while the snapshot is made */

enum pl_vmm_mode { PL_VMM_RUN = 1, PL_VMM_MAKE = 2 };

struct pl_vmm_order {
	char build_id[64];
	uint32_t mode;
	uint32_t pad;
	uint64_t memory_bytes;
};

struct pl_vmm_ready {
	int32_t error;        /* 0, or the -errno of step */
	int32_t stats_fd;     /* RUN: the monitor's number of the vCPU's statistics descriptor */
	uint64_t memory_bytes;/* RUN: sum of the memory slots. MAKE: the snapshot's size */
	char step[32];
};

#endif
