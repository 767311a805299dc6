/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's message handler under a machine that writes what it likes: the input is a list of turns, each some bytes for the
 * header, some for the out area, and an exit. Nothing outside the shared range may change, what goes out must be whole frames in
 * their order, and after a verdict that ends the machine nothing more may happen. */
#include "vmm/serve.h"

#include <errno.h>
#include <string.h>

#include "fuzz/target.h"

#define SHARED_SIZE (PL_VM_SHARED_END - PL_VM_SHARED)
#define GUARD 64u

static uint8_t all[GUARD + SHARED_SIZE + GUARD];
static enum pl_frame_type last;
static uint8_t answers; /* how the world answers, two bits a question */

static int world_send(void *opaque, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	MUST(bytes >= all + GUARD && len <= PL_VM_OUT_SIZE);
	while (len) {
		struct pl_frame_header h;

		MUST(len >= PL_FRAME_HEADER_LEN && pl_frame_header_parse(bytes, &h) == 0 && h.payload_len <= len - PL_FRAME_HEADER_LEN);
		MUST(h.type != PL_FRAME_CHALLENGE && h.type != PL_FRAME_JOB && last != PL_FRAME_RESULT);
		MUST((h.type == PL_FRAME_HELLO) == (last == PL_FRAME_CHALLENGE));
		last = h.type;
		bytes += PL_FRAME_HEADER_LEN + h.payload_len;
		len -= PL_FRAME_HEADER_LEN + h.payload_len;
	}
	return answers & 64 ? -EPIPE : 0;
}

static int world_receive(void *opaque, struct pl_frame_header *ret, uint8_t *payload, size_t max)
{
	static const int rcs[] = { 1, 1, 0, -EINTR };

	(void)opaque;
	MUST(payload >= all + GUARD && payload + max <= all + GUARD + SHARED_SIZE);
	memset(payload, 0x5a, max);
	*ret = (struct pl_frame_header){ .type = last == PL_FRAME_HELLO ? PL_FRAME_JOB : PL_FRAME_CHALLENGE, .payload_len = PL_CHALLENGE_LEN };
	if (rcs[answers & 3] == 1)
		last = ret->type == PL_FRAME_JOB ? PL_FRAME_JOB : PL_FRAME_CHALLENGE;
	return rcs[answers & 3];
}

static int world_sleep(void *opaque, int64_t ns)
{
	static const int rcs[] = { 0, 0, 1, -EINTR };

	(void)opaque;
	MUST(ns >= 0 && ns <= PL_VM_SLEEP_MAX_NS);
	return rcs[answers >> 2 & 3];
}

static void world_clocks(void *opaque, int64_t *ret_monotonic_ns, int64_t *ret_real_ns)
{
	(void)opaque;
	*ret_monotonic_ns = *ret_real_ns = 1;
}

static const struct pl_vm_world world = {
	.send = world_send, .receive = world_receive, .sleep = world_sleep, .clocks = world_clocks,
};

struct input {
	const uint8_t *bytes;
	size_t len;
};

static uint8_t take(struct input *in)
{
	return in->len ? in->len--, *in->bytes++ : 0;
}

static void copy(struct input *in, uint8_t *to, size_t n)
{
	n = n < in->len ? n : in->len;
	memcpy(to, in->bytes, n);
	in->bytes += n;
	in->len -= n;
}

/* Mostly what a machine really does, so that the rest is reached. */
static void exit_make(struct input *in, struct kvm_run *run)
{
	uint8_t kind = take(in);

	*run = (struct kvm_run){ .exit_reason = KVM_EXIT_IO };
	run->io.direction = KVM_EXIT_IO_OUT;
	run->io.size = 4;
	run->io.count = 1;
	run->io.port = (uint16_t)(PL_VM_PORT_RECEIVE + kind % 8 * 4);
	if (kind >= 0xf0) {
		run->exit_reason = take(in);
		run->io.direction = take(in);
		run->io.size = take(in);
		run->io.count = take(in);
		run->io.port = take(in);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct input in = { bytes, len };
	uint8_t *shared = all + GUARD;
	struct pl_vm_serve serve = { .world = &world, .shared = shared };
	enum pl_vm_verdict verdict = PL_VM_RESUME;

	memset(all, 0, sizeof all);
	memset(all, 0xa5, GUARD);
	memset(all + GUARD + SHARED_SIZE, 0xa5, GUARD);
	last = 0;
	for (int turns = 0; turns < 64 && in.len && verdict == PL_VM_RESUME; turns++) {
		struct kvm_run run;

		answers = take(&in);
		if (answers & 16)
			copy(&in, shared, 24);
		if (answers & 32)
			copy(&in, shared + (PL_VM_OUT - PL_VM_SHARED), (size_t)take(&in) * 4);
		exit_make(&in, &run);
		verdict = pl_vm_serve(&serve, &run);
		MUST(verdict != PL_VM_RESUME || run.exit_reason == KVM_EXIT_IO);
	}
	(void)pl_vm_serve_rest(&serve);
	for (size_t i = 0; i < GUARD; i++)
		MUST(all[i] == 0xa5 && all[GUARD + SHARED_SIZE + i] == 0xa5);
	return 0;
}
