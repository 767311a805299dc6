/* SPDX-License-Identifier: Apache-2.0 */
/* serve: what the monitor does when the machine has left the processor: the one place where bytes of the machine are looked at.
 *
 * The vCPU stands still while this runs, and there is only one, so nothing changes under it; all the same each length is
 * read once. Frames are checked one by one against what may come now, and go on to the supervisor as they are, which checks them
 * again. What it needs of the world is in struct pl_vm_world, so tests and fuzzers drive it with hostile memory. */
#ifndef PL_VMM_SERVE_H
#define PL_VMM_SERVE_H

#include "wire/vm.h"

enum pl_vm_verdict {
	PL_VM_RESUME,  /* run on */
	PL_VM_END,     /* the host has left: end quietly */
	PL_VM_DESTROY, /* the machine did what it may not */
	PL_VM_HALT,    /* the deadline came while it waited */
};

struct pl_vm_world {
	void *opaque;
	/* All of it, or -errno. */
	int (*send)(void *opaque, const uint8_t *bytes, size_t len);
	/* One frame, its payload to at most max bytes: 1, 0 at the end of the stream, -EINTR when the deadline came, -errno. */
	int (*receive)(void *opaque, struct pl_frame_header *ret, uint8_t *payload, size_t max);
	/* 0 after ns, 1 when the host has left, -EINTR when the deadline came. */
	int (*sleep)(void *opaque, int64_t ns);
	void (*clocks)(void *opaque, int64_t *ret_monotonic_ns, int64_t *ret_real_ns);
};

enum pl_vm_phase {
	PL_VM_NEW,      /* waits for the challenge */
	PL_VM_ASKED,    /* HELLO is due */
	PL_VM_GREETED,  /* HELLO went out: waits for the job */
	PL_VM_WORKING,  /* output and at last the result */
	PL_VM_DONE,     /* the result went out: nothing may follow */
};

struct pl_vm_serve {
	const struct pl_vm_world *world;
	uint8_t *shared; /* the machine's shared range: PL_VM_SHARED_END - PL_VM_SHARED bytes */
	enum pl_vm_phase phase;
	/* The monitor's word, for HELLO and the machine's clocks and heap. */
	uint64_t memory_bytes, text_end;
	uint32_t tsc_khz;
	uint16_t probes_tried, probes_denied;
	uint8_t landlock_denied, dumpable;
};

/* Serves one exit. run is the kernel's page of the vCPU. */
enum pl_vm_verdict pl_vm_serve(struct pl_vm_serve *serve, const struct kvm_run *run);
/* Hands on the whole frames that lie in the shared range; at the deadline, and when the machine has crashed. RESUME, or DESTROY
 * when they are not what may come now: then none went out. */
enum pl_vm_verdict pl_vm_serve_rest(struct pl_vm_serve *serve);

#endif
