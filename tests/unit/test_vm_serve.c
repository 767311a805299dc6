/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's message handler against a machine that lies: lengths, frames, phases, ports, shapes of an access. */
#include "unit/unit.h"

#include "base/bytes.h"
#include "vmm/serve.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_SIZE (PL_VM_SHARED_END - PL_VM_SHARED)

static struct {
	uint8_t sent[2 << 20];
	size_t sent_len;
	int send_error, receive_rc, sleep_rc;
	struct pl_frame_header next;
	int received, slept;
	int64_t slept_ns;
} world;

static int world_send(void *opaque, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	assert_true(len <= sizeof world.sent - world.sent_len);
	memcpy(world.sent + world.sent_len, bytes, len);
	world.sent_len += len;
	return world.send_error;
}

static int world_receive(void *opaque, struct pl_frame_header *ret, uint8_t *payload, size_t max)
{
	(void)opaque;
	world.received++;
	if (world.receive_rc <= 0)
		return world.receive_rc;
	assert_true(world.next.payload_len <= max);
	memset(payload, 'p', world.next.payload_len);
	*ret = world.next;
	return 1;
}

static int world_sleep(void *opaque, int64_t ns)
{
	(void)opaque;
	world.slept++;
	world.slept_ns = ns;
	return world.sleep_rc;
}

static void world_clocks(void *opaque, int64_t *ret_monotonic_ns, int64_t *ret_real_ns)
{
	(void)opaque;
	*ret_monotonic_ns = 1234;
	*ret_real_ns = 5678;
}

static const struct pl_vm_world ops = {
	.send = world_send, .receive = world_receive, .sleep = world_sleep, .clocks = world_clocks,
};

static uint8_t *shared; /* with a page before and after that must stay as it is */
static struct pl_vm_serve serve;

static int start(void **state)
{
	uint8_t *all = malloc(SHARED_SIZE + 2 * PL_VM_PAGE);

	(void)state;
	if (!all)
		return -1;
	memset(all, 0xa5, SHARED_SIZE + 2 * PL_VM_PAGE);
	shared = all + PL_VM_PAGE;
	memset(shared, 0, SHARED_SIZE);
	memset(&world, 0, sizeof world);
	serve = (struct pl_vm_serve){ .world = &ops, .shared = shared, .memory_bytes = 256 << 20, .tsc_khz = 1000, .probes_tried = 24, .probes_denied = 24 };
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < PL_VM_PAGE; i++)
		if (shared[-1 - (ptrdiff_t)i] != 0xa5 || shared[SHARED_SIZE + i] != 0xa5)
			return -1;
	free(shared - PL_VM_PAGE);
	return 0;
}

static struct kvm_run out_of(unsigned port)
{
	struct kvm_run run = { .exit_reason = KVM_EXIT_IO };

	run.io.direction = KVM_EXIT_IO_OUT;
	run.io.size = 4;
	run.io.count = 1;
	run.io.port = (uint16_t)port;
	return run;
}

static enum pl_vm_verdict knock(unsigned port)
{
	struct kvm_run run = out_of(port);

	return pl_vm_serve(&serve, &run);
}

static struct pl_vm_header header_get(void)
{
	struct pl_vm_header header;

	memcpy(&header, shared, sizeof header);
	return header;
}

static void out_len_set(uint32_t len)
{
	memcpy(shared + offsetof(struct pl_vm_header, out_len), &len, sizeof len);
}

static size_t frame_put(size_t at, enum pl_frame_type type, uint32_t len)
{
	uint8_t *out = shared + (PL_VM_OUT - PL_VM_SHARED) + at;

	pl_frame_header_print(out, type, len);
	memset(out + PL_FRAME_HEADER_LEN, 'o', len);
	return at + PL_FRAME_HEADER_LEN + len;
}

static void hello_done(void)
{
	world.receive_rc = 1;
	world.next = (struct pl_frame_header){ .type = PL_FRAME_CHALLENGE, .payload_len = PL_CHALLENGE_LEN };
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_RESUME);
	out_len_set((uint32_t)frame_put(0, PL_FRAME_HELLO, PL_HELLO_LEN));
	world.next = (struct pl_frame_header){ .type = PL_FRAME_JOB, .payload_len = 200 };
}

static void job_given(void)
{
	hello_done();
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_RESUME);
	world.sent_len = 0;
}

static void a_whole_session(void **state)
{
	(void)state;
	hello_done();
	assert_int_equal(header_get().in_len, PL_CHALLENGE_LEN);
	assert_int_equal(header_get().probes_denied, 24);
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_RESUME);
	assert_int_equal(world.sent_len, PL_FRAME_HEADER_LEN + PL_HELLO_LEN);
	assert_int_equal(header_get().in_type, PL_FRAME_JOB);
	assert_int_equal(header_get().in_len, 200);
	assert_int_equal(header_get().out_len, 0);
	assert_int_equal(header_get().monotonic_ns, 1234);
	world.sent_len = 0;
	out_len_set((uint32_t)frame_put(frame_put(frame_put(0, PL_FRAME_OUTPUT, 10), PL_FRAME_DROPPED, 9), PL_FRAME_RESULT, PL_GUEST_RESULT_LEN));
	world.receive_rc = 0;
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_END);
	assert_int_equal(world.sent_len, 3 * PL_FRAME_HEADER_LEN + 10 + 9 + PL_GUEST_RESULT_LEN);
}

static void every_other_shape_of_an_access(void **state)
{
	struct kvm_run run;

	(void)state;
	job_given();
	for (unsigned reason = 0; reason < 64; reason++) {
		run = out_of(PL_VM_PORT_FLUSH);
		run.exit_reason = reason;
		assert_int_equal(pl_vm_serve(&serve, &run), reason == KVM_EXIT_IO ? PL_VM_RESUME : PL_VM_DESTROY);
	}
	for (unsigned direction = 0; direction < 256; direction++) {
		run = out_of(PL_VM_PORT_FLUSH);
		run.io.direction = (uint8_t)direction;
		assert_int_equal(pl_vm_serve(&serve, &run), direction == KVM_EXIT_IO_OUT ? PL_VM_RESUME : PL_VM_DESTROY);
	}
	for (unsigned size = 0; size < 256; size++) {
		run = out_of(PL_VM_PORT_FLUSH);
		run.io.size = (uint8_t)size;
		assert_int_equal(pl_vm_serve(&serve, &run), size == 4 ? PL_VM_RESUME : PL_VM_DESTROY);
	}
	for (unsigned count = 0; count < 1030; count++) {
		run = out_of(PL_VM_PORT_FLUSH);
		run.io.count = count;
		assert_int_equal(pl_vm_serve(&serve, &run), count == 1 ? PL_VM_RESUME : PL_VM_DESTROY);
	}
}

static void every_port(void **state)
{
	(void)state;
	job_given();
	for (unsigned port = 0; port < 65536; port++) {
		int fine = port == PL_VM_PORT_FLUSH || port == PL_VM_PORT_CLOCK || port == PL_VM_PORT_CALL || port == PL_VM_PORT_SLEEP;

		assert_int_equal(knock(port), fine ? PL_VM_RESUME : PL_VM_DESTROY);
	}
	assert_int_equal(header_get().call_status, -ENOSYS);
	assert_int_equal(world.received, 2);
}

static void lengths_that_lie(void **state)
{
	static const uint32_t lens[] = { 1, 7, PL_VM_OUT_SIZE, PL_VM_OUT_SIZE + 1, 1u << 20, INT32_MAX, (uint32_t)INT32_MAX + 1, UINT32_MAX };

	(void)state;
	job_given();
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		memset(shared + (PL_VM_OUT - PL_VM_SHARED), 0, PL_VM_OUT_SIZE);
		out_len_set(lens[i]);
		assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_DESTROY);
	}
	assert_int_equal(world.sent_len, 0);
}

static void frames_that_lie(void **state)
{
	(void)state;
	job_given();
	/* One byte short of its payload, one byte over, a payload length beyond the largest, an unknown type, a reserved byte. */
	out_len_set((uint32_t)frame_put(0, PL_FRAME_OUTPUT, 100) - 1);
	assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_DESTROY);
	out_len_set((uint32_t)frame_put(0, PL_FRAME_OUTPUT, 100) + 1);
	assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_DESTROY);
	frame_put(0, PL_FRAME_OUTPUT, 100);
	pl_put_u32(shared + (PL_VM_OUT - PL_VM_SHARED), UINT32_MAX - 7);
	out_len_set(108);
	assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_DESTROY);
	for (unsigned type = 0; type < 256; type++) {
		frame_put(0, PL_FRAME_OUTPUT, 100);
		shared[PL_VM_OUT - PL_VM_SHARED + 4] = (uint8_t)type;
		out_len_set(108);
		serve.phase = PL_VM_WORKING;
		assert_int_equal(knock(PL_VM_PORT_FLUSH),
				 type == PL_FRAME_OUTPUT || type == PL_FRAME_DROPPED || type == PL_FRAME_RESULT ? PL_VM_RESUME : PL_VM_DESTROY);
	}
	serve.phase = PL_VM_WORKING;
	frame_put(0, PL_FRAME_OUTPUT, 100);
	shared[PL_VM_OUT - PL_VM_SHARED + 6] = 1;
	out_len_set(108);
	assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_DESTROY);
}

/* Whatever the machine says out of turn ends it, and none of it goes out. */
static void frames_out_of_turn(void **state)
{
	static const enum pl_frame_type types[] = { PL_FRAME_CHALLENGE, PL_FRAME_HELLO, PL_FRAME_JOB, PL_FRAME_OUTPUT, PL_FRAME_DROPPED, PL_FRAME_RESULT };
	static const uint8_t may[5][6] = {
		[PL_VM_NEW] = { 0 },
		[PL_VM_ASKED] = { 0, 1 },
		[PL_VM_GREETED] = { 0 },
		[PL_VM_WORKING] = { 0, 0, 0, 1, 1, 1 },
		[PL_VM_DONE] = { 0 },
	};

	(void)state;
	for (unsigned phase = PL_VM_NEW; phase <= PL_VM_DONE; phase++) {
		for (size_t i = 0; i < 6; i++) {
			serve.phase = (enum pl_vm_phase)phase;
			world.sent_len = 0;
			out_len_set((uint32_t)frame_put(0, types[i], 20));
			assert_int_equal(pl_vm_serve_rest(&serve), may[phase][i] ? PL_VM_RESUME : PL_VM_DESTROY);
			assert_int_equal(world.sent_len != 0, may[phase][i]);
			out_len_set(0);
		}
	}
	/* Two hellos, and output behind the result. */
	serve.phase = PL_VM_ASKED;
	out_len_set((uint32_t)frame_put(frame_put(0, PL_FRAME_HELLO, 70), PL_FRAME_HELLO, 70));
	assert_int_equal(pl_vm_serve_rest(&serve), PL_VM_DESTROY);
	serve.phase = PL_VM_WORKING;
	out_len_set((uint32_t)frame_put(frame_put(0, PL_FRAME_RESULT, 21), PL_FRAME_OUTPUT, 5));
	assert_int_equal(pl_vm_serve_rest(&serve), PL_VM_DESTROY);
}

static void a_job_is_given_once(void **state)
{
	(void)state;
	job_given();
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_DESTROY);
	serve.phase = PL_VM_ASKED; /* asks for the job before it has said hello */
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_DESTROY);
}

static void sleeps_are_bounded(void **state)
{
	static const int64_t bad[] = { -1, INT64_MIN, PL_VM_SLEEP_MAX_NS + 1, INT64_MAX };
	int64_t good = 5;

	(void)state;
	job_given();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memcpy(shared + offsetof(struct pl_vm_header, sleep_ns), &bad[i], 8);
		assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_DESTROY);
	}
	assert_int_equal(world.slept, 0);
	memcpy(shared + offsetof(struct pl_vm_header, sleep_ns), &good, 8);
	assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_RESUME);
	assert_int_equal(world.slept_ns, 5);
	world.sleep_rc = -EINTR;
	assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_HALT);
	world.sleep_rc = 1;
	assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_END);
	serve.phase = PL_VM_GREETED; /* a machine without a job does not sleep */
	assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_DESTROY);
}

/* What the machine said before it sleeps is out before it sleeps. */
static void output_goes_first(void **state)
{
	(void)state;
	job_given();
	world.sleep_rc = -EINTR;
	out_len_set((uint32_t)frame_put(0, PL_FRAME_OUTPUT, 3));
	assert_int_equal(knock(PL_VM_PORT_SLEEP), PL_VM_HALT);
	assert_int_equal(world.sent_len, PL_FRAME_HEADER_LEN + 3);
}

static void a_host_that_is_gone_or_confused(void **state)
{
	(void)state;
	world.receive_rc = 0;
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_END);
	world.receive_rc = -EINTR;
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_HALT);
	world.receive_rc = 1;
	world.next = (struct pl_frame_header){ .type = PL_FRAME_JOB, .payload_len = 100 };
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_END);
	world.next = (struct pl_frame_header){ .type = PL_FRAME_CHALLENGE, .payload_len = 31 };
	assert_int_equal(knock(PL_VM_PORT_RECEIVE), PL_VM_END);
	job_given();
	world.send_error = -EPIPE;
	out_len_set((uint32_t)frame_put(0, PL_FRAME_OUTPUT, 3));
	assert_int_equal(knock(PL_VM_PORT_FLUSH), PL_VM_END);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_whole_session),    TEST(every_other_shape_of_an_access), TEST(every_port),
		TEST(lengths_that_lie),   TEST(frames_that_lie),                TEST(frames_out_of_turn),
		TEST(a_job_is_given_once), TEST(sleeps_are_bounded),            TEST(output_goes_first),
		TEST(a_host_that_is_gone_or_confused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
