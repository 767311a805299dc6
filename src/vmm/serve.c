/* SPDX-License-Identifier: Apache-2.0 */
/* serve: see serve.h. */
#include "vmm/serve.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(struct pl_vm_header, field)

static uint32_t get_u32(const struct pl_vm_serve *serve, size_t at)
{
	uint32_t value;

	memcpy(&value, serve->shared + at, sizeof value);
	return value;
}

static void put(struct pl_vm_serve *serve, size_t at, const void *value, size_t len)
{
	memcpy(serve->shared + at, value, len);
}

#define PUT(serve, field, type, value) put(serve, AT(field), &(type){ value }, sizeof(type))

static uint8_t *area(struct pl_vm_serve *serve, uint64_t address)
{
	return serve->shared + (address - PL_VM_SHARED);
}

/* Whether a frame of this type may be next, and what may then. */
static int frame_next(enum pl_vm_phase *phase, enum pl_frame_type type)
{
	switch (type) {
	case PL_FRAME_HELLO:
		if (*phase != PL_VM_ASKED)
			return -EPROTO;
		*phase = PL_VM_GREETED;
		return 0;
	case PL_FRAME_OUTPUT:
	case PL_FRAME_DROPPED:
		return *phase == PL_VM_WORKING ? 0 : -EPROTO;
	case PL_FRAME_RESULT:
		if (*phase != PL_VM_WORKING)
			return -EPROTO;
		*phase = PL_VM_DONE;
		return 0;
	default:
		return -EPROTO;
	}
}

/* Whole frames, each of them allowed, to the last byte. */
static int frames_check(const uint8_t *bytes, size_t len, enum pl_vm_phase *phase)
{
	while (len) {
		struct pl_frame_header header;

		if (len < PL_FRAME_HEADER_LEN || pl_frame_header_parse(bytes, &header) < 0)
			return -EPROTO;
		bytes += PL_FRAME_HEADER_LEN;
		len -= PL_FRAME_HEADER_LEN;
		if (header.payload_len > len || frame_next(phase, header.type) < 0)
			return -EPROTO;
		bytes += header.payload_len;
		len -= header.payload_len;
	}
	return 0;
}

enum pl_vm_verdict pl_vm_serve_rest(struct pl_vm_serve *serve)
{
	uint32_t len = get_u32(serve, AT(out_len));
	enum pl_vm_phase phase = serve->phase;
	const uint8_t *out = area(serve, PL_VM_OUT);

	if (!len)
		return PL_VM_RESUME;
	if (len > PL_VM_OUT_SIZE || frames_check(out, len, &phase) < 0)
		return PL_VM_DESTROY;
	serve->phase = phase;
	PUT(serve, out_len, uint32_t, 0);
	return serve->world->send(serve->world->opaque, out, len) < 0 ? PL_VM_END : PL_VM_RESUME;
}

static void clocks_put(struct pl_vm_serve *serve)
{
	int64_t monotonic, real;

	serve->world->clocks(serve->world->opaque, &monotonic, &real);
	PUT(serve, monotonic_ns, int64_t, monotonic);
	PUT(serve, real_ns, int64_t, real);
}

static void words_put(struct pl_vm_serve *serve, const struct pl_frame_header *frame)
{
	PUT(serve, in_type, uint32_t, frame->type);
	PUT(serve, in_len, uint32_t, frame->payload_len);
	PUT(serve, memory_bytes, uint64_t, serve->memory_bytes);
	PUT(serve, text_end, uint64_t, serve->text_end);
	PUT(serve, tsc_khz, uint32_t, serve->tsc_khz);
	PUT(serve, probes_tried, uint16_t, serve->probes_tried);
	PUT(serve, probes_denied, uint16_t, serve->probes_denied);
	PUT(serve, landlock_denied, uint8_t, serve->landlock_denied);
	PUT(serve, dumpable, uint8_t, serve->dumpable);
	clocks_put(serve);
}

/* The machine asks for what comes next; what may be asked for now follows from what it has said. */
static enum pl_vm_verdict receive(struct pl_vm_serve *serve)
{
	enum pl_frame_type want = serve->phase == PL_VM_NEW ? PL_FRAME_CHALLENGE : PL_FRAME_JOB;
	struct pl_frame_header frame;
	int rc;

	if (serve->phase == PL_VM_ASKED || serve->phase == PL_VM_WORKING)
		return PL_VM_DESTROY;
	rc = serve->world->receive(serve->world->opaque, &frame, area(serve, PL_VM_IN), PL_FRAME_PAYLOAD_MAX);
	if (rc == -EINTR)
		return PL_VM_HALT;
	/* After the result nothing may come but the end. */
	if (rc <= 0 || serve->phase == PL_VM_DONE || frame.type != want)
		return PL_VM_END;
	if (want == PL_FRAME_CHALLENGE && frame.payload_len != PL_CHALLENGE_LEN)
		return PL_VM_END;
	serve->phase = want == PL_FRAME_CHALLENGE ? PL_VM_ASKED : PL_VM_WORKING;
	words_put(serve, &frame);
	return PL_VM_RESUME;
}

static enum pl_vm_verdict sleep_serve(struct pl_vm_serve *serve)
{
	int64_t ns;
	int rc;

	memcpy(&ns, serve->shared + AT(sleep_ns), sizeof ns);
	if (serve->phase != PL_VM_WORKING || ns < 0 || ns > PL_VM_SLEEP_MAX_NS)
		return PL_VM_DESTROY;
	rc = serve->world->sleep(serve->world->opaque, ns);
	if (rc == -EINTR)
		return PL_VM_HALT;
	if (rc)
		return PL_VM_END;
	clocks_put(serve);
	return PL_VM_RESUME;
}

static enum pl_vm_verdict port_serve(struct pl_vm_serve *serve, unsigned port)
{
	switch (port) {
	case PL_VM_PORT_RECEIVE:
		return receive(serve);
	case PL_VM_PORT_FLUSH:
		return PL_VM_RESUME;
	case PL_VM_PORT_SLEEP:
		return sleep_serve(serve);
	case PL_VM_PORT_CLOCK:
		clocks_put(serve);
		return PL_VM_RESUME;
	case PL_VM_PORT_CALL:
		PUT(serve, call_status, int32_t, -ENOSYS);
		return PL_VM_RESUME;
	default: /* SNAPSHOT is served only where one is made */
		return PL_VM_DESTROY;
	}
}

enum pl_vm_verdict pl_vm_serve(struct pl_vm_serve *serve, const struct kvm_run *run)
{
	enum pl_vm_verdict verdict;

	if (run->exit_reason != KVM_EXIT_IO || run->io.direction != KVM_EXIT_IO_OUT || run->io.size != 4 || run->io.count != 1)
		return PL_VM_DESTROY;
	/* Whatever it wants, what it has to say comes first: nothing is lost when it is stopped while it waits. */
	verdict = pl_vm_serve_rest(serve);
	return verdict == PL_VM_RESUME ? port_serve(serve, run->io.port) : verdict;
}
