/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: the order of steps, the answer to the challenge, that dispatch takes the job, and the mark "nothing ran", which
 * follows the job. Every step is tried in every state; what is out of order is refused and changes nothing. */
#include "unit/facts.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "contract/gate.h"

static const struct pl_fact_spec specs[] = {
	{ "a.one", PL_FACT_HOST, true, PL_EQUAL, "equals the wanted", PL_AFTER_SAME, false },
	{ "b.two", PL_FACT_HOST, true, PL_PRIVATE, "private", PL_AFTER_SAME, true },
};
static const struct pl_profile profile = { .wall = "test", .tier = PLIMSOLL_TIER_CONTAINER, .specs = specs, .specs_n = N_OF(specs) };
static const uint8_t challenge[PL_CHALLENGE_LEN] = "challenge of thirty-two bytes..", image_id[PL_IMAGE_ID_LEN] = "image";
static const uint8_t seed[PL_SEED_LEN] = "seed";
static struct pl_fact facts[N_OF(specs)];

static struct pl_hello hello_make(void)
{
	struct pl_hello hello = { 0 };
	struct pl_digest digest;

	pl_digest_init(&digest);
	pl_digest_bytes(&digest, "plimsoll-hello-1", 16);
	pl_digest_bytes(&digest, challenge, sizeof challenge);
	pl_digest_bytes(&digest, image_id, sizeof image_id);
	pl_digest_end(&digest, hello.digest);
	memcpy(hello.image_id, image_id, sizeof image_id);
	return hello;
}

static struct pl_run run_make(const char *floor)
{
	struct pl_msg_run msg = { .code = (const uint8_t *)"1", .code_len = 1, .name = "", .floor = floor, .wall = "", .source = 2 };
	struct pl_limits limits = { .timeout_ms = 1500, .memory_bytes = 64 << 20, .stdout_max_bytes = 10, .stderr_max_bytes = 20 };
	struct pl_run run;

	assert_int_equal(pl_run_init(&run, 42, &msg, &limits, seed, 123456789), 0);
	return run;
}

/* Walks a fresh gate to a state, by its own steps. */
static struct pl_gate gate_at(enum pl_gate_state wanted)
{
	struct pl_hello hello = hello_make();
	struct pl_run run = run_make("");
	struct pl_verdict verdict;
	struct pl_buf job = { 0 };
	struct pl_gate gate;

	facts_meet(&profile, facts);
	pl_gate_init(&gate);
	if (wanted >= PL_GATE_CHALLENGED)
		assert_int_equal(pl_gate_challenge(&gate, challenge), 0);
	if (wanted >= PL_GATE_ANSWERED)
		assert_int_equal(pl_gate_hello(&gate, &hello, image_id), 0);
	if (wanted >= PL_GATE_WAITING)
		assert_int_equal(pl_gate_pass(&gate, &profile, facts, &verdict, NULL), 0);
	if (wanted >= PL_GATE_DISPATCHED)
		assert_int_equal(pl_gate_dispatch(&gate, &run, &profile, PLIMSOLL_TIER_UNKNOWN, 1, &job, NULL), 0);
	if (wanted >= PL_GATE_BLOCKED)
		assert_int_equal(pl_gate_result(&gate), 0);
	if (wanted == PL_GATE_ENDED)
		pl_gate_end(&gate);
	assert_int_equal(gate.state, wanted);
	pl_buf_fini(&job);
	pl_run_fini(&run);
	return gate;
}

enum step { STEP_CHALLENGE, STEP_HELLO, STEP_PASS, STEP_DISPATCH, STEP_RESULT, STEP_N };

/* Where a step leads from a state, or -1: it is out of order. */
static int step_leads(enum step step, enum pl_gate_state from)
{
	switch (step) {
	case STEP_CHALLENGE:
		return from == PL_GATE_OPENING ? PL_GATE_CHALLENGED : -1;
	case STEP_HELLO:
		return from == PL_GATE_CHALLENGED ? PL_GATE_ANSWERED : -1;
	case STEP_PASS:
		return from == PL_GATE_ANSWERED || from == PL_GATE_WAITING ? PL_GATE_WAITING : -1;
	case STEP_DISPATCH:
		return from == PL_GATE_WAITING ? PL_GATE_DISPATCHED : -1;
	default:
		return from == PL_GATE_DISPATCHED ? PL_GATE_BLOCKED : -1;
	}
}

static int step_take(enum step step, struct pl_gate *gate, struct pl_run *run, struct pl_buf *job)
{
	static const uint8_t other[PL_CHALLENGE_LEN] = "another";
	struct pl_hello hello = hello_make();
	struct pl_verdict verdict;
	struct plimsoll_error error;

	switch (step) {
	case STEP_CHALLENGE:
		return pl_gate_challenge(gate, other);
	case STEP_HELLO:
		return pl_gate_hello(gate, &hello, image_id);
	case STEP_PASS:
		return pl_gate_pass(gate, &profile, facts, &verdict, &error);
	case STEP_DISPATCH:
		return pl_gate_dispatch(gate, run, &profile, PLIMSOLL_TIER_UNKNOWN, 5000, job, &error);
	default:
		return pl_gate_result(gate);
	}
}

static void test_order(void **state)
{
	(void)state;
	for (int from = PL_GATE_OPENING; from <= PL_GATE_ENDED; from++) {
		for (int step = 0; step < STEP_N; step++) {
			struct pl_gate gate = gate_at((enum pl_gate_state)from), before = gate;
			struct pl_run run = run_make("");
			struct pl_buf job = { .max = 99 };
			int to = step_leads((enum step)step, (enum pl_gate_state)from);
			int rc = step_take((enum step)step, &gate, &run, &job);

			if (rc != (to < 0 ? -EPROTO : 0))
				fail_msg("step %d from state %d: %d", step, from, rc);
			if (to >= 0) {
				assert_int_equal(gate.state, to);
			} else {
				assert_memory_equal(&gate, &before, sizeof gate);
				assert_false(run.dispatched);
				assert_true(run.job.len > 0);
				assert_int_equal(job.max, 99);
			}
			pl_buf_fini(&job);
			pl_run_fini(&run);
		}
	}
}

static void test_the_end_is_always_allowed(void **state)
{
	(void)state;
	for (int from = PL_GATE_OPENING; from <= PL_GATE_ENDED; from++) {
		struct pl_gate gate = gate_at((enum pl_gate_state)from);

		pl_gate_end(&gate);
		assert_int_equal(gate.state, PL_GATE_ENDED);
	}
}

/* --- hello ------------------------------------------------------------------------------------------------------------- */

/* One wrong bit in the answer, in either part, and it is not one; the gate still waits for the right one. */
static void test_hello_every_bit(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < (PL_DIGEST_LEN + PL_IMAGE_ID_LEN) * 8; bit++) {
		struct pl_gate gate = gate_at(PL_GATE_CHALLENGED);
		struct pl_hello hello = hello_make();
		uint8_t *byte = bit < PL_DIGEST_LEN * 8 ? &hello.digest[bit / 8] : &hello.image_id[bit / 8 - PL_DIGEST_LEN];

		*byte ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pl_gate_hello(&gate, &hello, image_id), -EBADMSG);
		assert_int_equal(gate.state, PL_GATE_CHALLENGED);
		*byte ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pl_gate_hello(&gate, &hello, image_id), 0);
	}
}

/* A guest of another build that answers right for itself is not ours; an answer to another challenge is none. */
static void test_hello_of_another(void **state)
{
	static const uint8_t another[PL_IMAGE_ID_LEN] = "another image";
	struct pl_gate gate = gate_at(PL_GATE_OPENING);
	struct pl_hello hello = hello_make();
	uint8_t later[PL_CHALLENGE_LEN];
	struct pl_digest digest;

	(void)state;
	memcpy(later, challenge, sizeof later);
	later[PL_CHALLENGE_LEN - 1] ^= 1;
	assert_int_equal(pl_gate_challenge(&gate, later), 0);
	assert_int_equal(pl_gate_hello(&gate, &hello, image_id), -EBADMSG);

	gate = gate_at(PL_GATE_CHALLENGED);
	memcpy(hello.image_id, another, sizeof another);
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, "plimsoll-hello-1", 16);
	pl_digest_bytes(&digest, challenge, sizeof challenge);
	pl_digest_bytes(&digest, another, sizeof another);
	pl_digest_end(&digest, hello.digest);
	assert_int_equal(pl_gate_hello(&gate, &hello, image_id), -EBADMSG);
	assert_int_equal(pl_gate_hello(&gate, &hello, another), 0);
}

/* --- pass -------------------------------------------------------------------------------------------------------------- */

/* Unmet facts end the gate: what was measured wrong once is not measured right later. Also on the second pass. */
static void test_pass_with_a_broken_fact(void **state)
{
	(void)state;
	for (int from = PL_GATE_ANSWERED; from <= PL_GATE_WAITING; from++) {
		for (size_t i = 0; i < N_OF(specs); i++) {
			for (int unread = 0; unread < 2; unread++) {
				struct pl_gate gate = gate_at((enum pl_gate_state)from);
				struct plimsoll_error error;
				struct pl_verdict verdict;

				facts_meet(&profile, facts);
				if (unread)
					facts[i].error = -EACCES;
				else
					facts[i].value[0] = '!';
				assert_int_equal(pl_gate_pass(&gate, &profile, facts, &verdict, &error),
						 unread ? PLIMSOLL_ERROR_ENVIRONMENT : PLIMSOLL_ERROR_ISOLATION);
				assert_string_equal(error.fact, specs[i].name);
				assert_int_equal(gate.state, PL_GATE_ENDED);
				assert_int_equal(gate.tier, unread ? PLIMSOLL_TIER_UNKNOWN : PLIMSOLL_TIER_NONE);
				facts_meet(&profile, facts);
				assert_int_equal(pl_gate_pass(&gate, &profile, facts, &verdict, &error), -EPROTO);
			}
		}
	}
}

/* --- dispatch ------------------------------------------------------------------------------------------------------------ */

static void test_dispatch_takes_the_job(void **state)
{
	struct pl_gate gate = gate_at(PL_GATE_WAITING);
	struct pl_run run = run_make("container");
	struct pl_frame_header header;
	struct pl_buf job = { 0 };
	size_t len = run.job.len;
	struct pl_job parsed;

	(void)state;
	assert_int_equal(pl_gate_dispatch(&gate, &run, &profile, PLIMSOLL_TIER_PROCESS, 7000000, &job, NULL), 0);
	assert_true(run.dispatched);
	assert_int_equal(run.dispatched_us, 7000000);
	assert_int_equal(run.deadline_us, 7000000 + 1500000);
	assert_int_equal(run.job.len, 0);
	assert_null(run.job.bytes);
	assert_int_equal(job.len, len);
	assert_int_equal(pl_frame_header_parse(pl_buf_head(&job), &header), 0);
	assert_int_equal(header.type, PL_FRAME_JOB);
	assert_int_equal(header.payload_len, len - PL_FRAME_HEADER_LEN);
	assert_int_equal(pl_job_parse(pl_buf_head(&job) + PL_FRAME_HEADER_LEN, header.payload_len, &parsed), 0);
	assert_int_equal(parsed.kind, PL_SOURCE_MODULE);
	assert_int_equal(parsed.memory_bytes, (64 << 20) - (8 << 20));
	assert_int_equal(parsed.stdout_max_bytes, 10);
	assert_int_equal(parsed.stderr_max_bytes, 20);
	assert_int_equal(parsed.now_ms, 123456789);
	assert_int_equal(parsed.fail_allocation, 0);
	assert_memory_equal(parsed.seed, seed, sizeof seed);
	assert_int_equal(parsed.name_len, 6);
	assert_memory_equal(parsed.name, "[eval]", 6);
	assert_int_equal(parsed.code_len, 1);
	pl_buf_fini(&job);
	pl_run_fini(&run);
}

/* Neither a run twice nor a second run through the same passage. */
static void test_dispatch_once(void **state)
{
	struct pl_gate gate = gate_at(PL_GATE_WAITING), second = gate_at(PL_GATE_WAITING);
	struct pl_run run = run_make(""), other = run_make("");
	struct plimsoll_error error;
	struct pl_buf job = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(pl_gate_dispatch(&gate, &run, &profile, PLIMSOLL_TIER_UNKNOWN, 1, &job, &error), 0);
	assert_int_equal(pl_gate_dispatch(&second, &run, &profile, PLIMSOLL_TIER_UNKNOWN, 1, &none, &error), -EPROTO);
	assert_int_equal(second.state, PL_GATE_WAITING);
	assert_int_equal(pl_gate_dispatch(&gate, &other, &profile, PLIMSOLL_TIER_UNKNOWN, 1, &none, &error), -EPROTO);
	assert_false(other.dispatched);
	assert_int_equal(none.len, 0);
	pl_buf_fini(&job);
	pl_run_fini(&run);
	pl_run_fini(&other);
}

/* Below either floor nothing is dispatched: the job stays, and the gate may serve another run. */
static void test_dispatch_below_a_floor(void **state)
{
	static const char *const floors[] = { "", "process", "container", "kernel", "vm" };

	(void)state;
	for (int mine = 0; mine < (int)N_OF(floors); mine++) {
		for (int theirs = 0; theirs <= PLIMSOLL_TIER_VM; theirs++) {
			bool good = mine <= PLIMSOLL_TIER_CONTAINER && theirs <= PLIMSOLL_TIER_CONTAINER;
			struct pl_gate gate = gate_at(PL_GATE_WAITING), before = gate;
			struct pl_run run = run_make(floors[mine]);
			struct plimsoll_error error = { .reason = PLIMSOLL_REASON_NONE };
			size_t len = run.job.len;
			struct pl_buf job = { 0 };

			assert_int_equal(run.floor, mine);
			assert_int_equal(pl_gate_dispatch(&gate, &run, &profile, (enum plimsoll_tier)theirs, 1, &job, &error),
					 good ? 0 : PLIMSOLL_ERROR_ISOLATION);
			if (!good) {
				assert_memory_equal(&gate, &before, sizeof gate);
				assert_int_equal(run.job.len, len);
				assert_false(run.dispatched);
				assert_int_equal(job.len, 0);
				pl_run_mark(&run, &error);
				assert_int_equal(error.reason, PLIMSOLL_REASON_ISOLATION);
			}
			pl_buf_fini(&job);
			pl_run_fini(&run);
		}
	}
}

/* --- the mark ------------------------------------------------------------------------------------------------------------- */

/* Whatever the cause, the mark stands before dispatch and never after. */
static void test_mark(void **state)
{
	(void)state;
	for (int reason = PLIMSOLL_REASON_NONE; reason <= PLIMSOLL_REASON_ENVIRONMENT; reason++) {
		struct plimsoll_error error = { .code = -1, .reason = (enum plimsoll_reason)reason };
		struct pl_gate gate = gate_at(PL_GATE_WAITING);
		struct pl_run run = run_make("");
		struct pl_buf job = { 0 };

		pl_run_mark(&run, &error);
		assert_int_equal(error.reason, reason);
		assert_int_equal(pl_gate_dispatch(&gate, &run, &profile, PLIMSOLL_TIER_UNKNOWN, 1, &job, NULL), 0);
		pl_run_mark(&run, &error);
		assert_int_equal(error.reason, PLIMSOLL_REASON_NONE);
		pl_buf_fini(&job);
		pl_run_fini(&run);
	}
}

/* A run without its job cannot promise anything, dispatched or not: forgetting must read as "may have run". */
static void test_mark_without_a_job(void **state)
{
	struct plimsoll_error error = { .code = -1, .reason = PLIMSOLL_REASON_ENVIRONMENT };
	struct pl_run run = run_make(""), blank = { 0 };

	(void)state;
	pl_run_fini(&run);
	pl_run_mark(&run, &error);
	assert_int_equal(error.reason, PLIMSOLL_REASON_NONE);
	error.reason = PLIMSOLL_REASON_REQUEST;
	pl_run_mark(&blank, &error);
	assert_int_equal(error.reason, PLIMSOLL_REASON_NONE);
}

/* --- making a run ----------------------------------------------------------------------------------------------------------- */

static void test_run_init(void **state)
{
	static uint8_t code[PL_CODE_MAX_BYTES];
	struct pl_msg_run msg = { .code = code, .code_len = sizeof code, .name = "a.js", .floor = "strong", .wall = "" };
	struct pl_limits limits = { .memory_bytes = 16 << 20 };
	struct pl_run run;

	(void)state;
	memset(code, ' ', sizeof code);
	assert_int_equal(pl_run_init(&run, 1, &msg, &limits, seed, 0), -EINVAL);
	assert_int_equal(run.job.len, 0);
	msg.floor = "vm";
	pl_alloc_fail(1);
	assert_int_equal(pl_run_init(&run, 1, &msg, &limits, seed, 0), -ENOMEM);
	pl_alloc_fail(0);
	pl_run_fini(&run);
	assert_int_equal(pl_run_init(&run, 1, &msg, &limits, seed, 0), 0);
	assert_int_equal(run.floor, PLIMSOLL_TIER_VM);
	assert_true(run.id == 1);
	assert_true(run.job.len > sizeof code);
	pl_run_fini(&run);
	msg.code_len = PL_FRAME_PAYLOAD_MAX;
	assert_int_equal(pl_run_init(&run, 1, &msg, &limits, seed, 0), -EMSGSIZE);
	pl_run_fini(&run);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_the_end_is_always_allowed),
		cmocka_unit_test(test_hello_every_bit),
		cmocka_unit_test(test_hello_of_another),
		cmocka_unit_test(test_pass_with_a_broken_fact),
		cmocka_unit_test(test_dispatch_takes_the_job),
		cmocka_unit_test(test_dispatch_once),
		cmocka_unit_test(test_dispatch_below_a_floor),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_mark_without_a_job),
		cmocka_unit_test(test_run_init),
	};

	return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
