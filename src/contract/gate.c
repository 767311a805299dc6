/* SPDX-License-Identifier: Apache-2.0 */
/* gate: see gate.h. Pure. */
#include "contract/gate.h"

#include "base/digest.h"
#include "contract/error.h"

#include <errno.h>
#include <nettle/memops.h>
#include <string.h>

void pl_gate_init(struct pl_gate *gate)
{
	*gate = (struct pl_gate){ .state = PL_GATE_OPENING, .tier = PLIMSOLL_TIER_UNKNOWN };
}

int pl_gate_challenge(struct pl_gate *gate, const uint8_t challenge[PL_CHALLENGE_LEN])
{
	if (gate->state != PL_GATE_OPENING)
		return -EPROTO;
	memcpy(gate->challenge, challenge, PL_CHALLENGE_LEN);
	gate->state = PL_GATE_CHALLENGED;
	return 0;
}

int pl_gate_hello(struct pl_gate *gate, const struct pl_hello *hello, const uint8_t image_id[PL_IMAGE_ID_LEN])
{
	static const char label[] = "plimsoll-hello-1";
	uint8_t want[PL_SHA256_LEN];
	struct pl_digest digest;

	if (gate->state != PL_GATE_CHALLENGED)
		return -EPROTO;
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, label, sizeof label - 1);
	pl_digest_bytes(&digest, gate->challenge, PL_CHALLENGE_LEN);
	pl_digest_bytes(&digest, image_id, PL_IMAGE_ID_LEN);
	pl_digest_end(&digest, want);
	if (!memeql_sec(hello->image_id, image_id, PL_IMAGE_ID_LEN) || !memeql_sec(hello->digest, want, PL_DIGEST_LEN))
		return -EBADMSG;
	gate->state = PL_GATE_ANSWERED;
	return 0;
}

int pl_gate_pass(struct pl_gate *gate, const struct pl_profile *profile, const struct pl_fact *facts,
		 struct pl_verdict *ret_verdict, struct plimsoll_error *error)
{
	if (gate->state != PL_GATE_ANSWERED && gate->state != PL_GATE_WAITING)
		return pl_error(error, -EPROTO, PLIMSOLL_REASON_ENVIRONMENT, "measure", "the gate is not where facts may pass");
	gate->tier = pl_derive(profile, facts, ret_verdict);
	if (ret_verdict->kind != PL_VERDICT_MET) {
		gate->state = PL_GATE_ENDED;
		return pl_verdict_error(profile, facts, ret_verdict, error);
	}
	gate->state = PL_GATE_WAITING;
	return 0;
}

int pl_gate_dispatch(struct pl_gate *gate, struct pl_run *run, const struct pl_profile *profile,
		     enum plimsoll_tier operator_floor, int64_t now_us, struct pl_buf *ret_job, struct plimsoll_error *error)
{
	int rc;

	if (gate->state != PL_GATE_WAITING || run->dispatched || !run->job.len)
		return pl_error(error, -EPROTO, PLIMSOLL_REASON_ENVIRONMENT, "dispatch", "the gate is not where a run may pass");
	rc = pl_floor_compare(gate->tier, profile->tier, run->floor, operator_floor, error);
	if (rc < 0)
		return rc;
	gate->state = PL_GATE_DISPATCHED;
	run->dispatched = true;
	run->dispatched_us = now_us;
	run->deadline_us = now_us + run->limits.timeout_ms * 1000;
	*ret_job = run->job;
	pl_buf_init(&run->job, 0);
	return 0;
}

int pl_gate_result(struct pl_gate *gate)
{
	if (gate->state != PL_GATE_DISPATCHED)
		return -EPROTO;
	gate->state = PL_GATE_BLOCKED;
	return 0;
}

void pl_gate_end(struct pl_gate *gate)
{
	gate->state = PL_GATE_ENDED;
}

static void job_fill(struct pl_job *job, const struct pl_msg_run *msg, const struct pl_limits *limits,
		     const uint8_t seed[PL_SEED_LEN], int64_t now_ms)
{
	const char *name = msg->name[0] ? msg->name : "[eval]";

	*job = (struct pl_job){
		.kind = (enum pl_source_kind)msg->source,
		.memory_bytes = limits->memory_bytes - PL_MEMORY_RESERVE_BYTES,
		.stdout_max_bytes = limits->stdout_max_bytes,
		.stderr_max_bytes = limits->stderr_max_bytes,
		.now_ms = now_ms,
		.fail_allocation = limits->fail_allocation,
		.name = name,
		.name_len = strlen(name),
		.code = (const char *)msg->code,
		.code_len = msg->code_len,
	};
	memcpy(job->seed, seed, PL_SEED_LEN);
}

int pl_run_init(struct pl_run *run, uint64_t id, const struct pl_msg_run *msg, const struct pl_limits *limits,
		const uint8_t seed[PL_SEED_LEN], int64_t now_ms)
{
	struct pl_job job;
	uint8_t *frame;
	int64_t len;

	*run = (struct pl_run){ .id = id, .limits = *limits, .floor = PLIMSOLL_TIER_UNKNOWN };
	if (msg->floor[0] && plimsoll_tier_parse(msg->floor, &run->floor) < 0)
		return -EINVAL;
	job_fill(&job, msg, limits, seed, now_ms);
	len = pl_job_len(&job);
	if (len < 0)
		return (int)len;
	pl_buf_init(&run->job, PL_FRAME_HEADER_LEN + PL_FRAME_PAYLOAD_MAX);
	frame = pl_buf_reserve(&run->job, PL_FRAME_HEADER_LEN + (size_t)len);
	if (!frame)
		return -ENOMEM;
	pl_frame_header_print(frame, PL_FRAME_JOB, (uint32_t)len);
	pl_job_print(frame + PL_FRAME_HEADER_LEN, &job);
	pl_buf_commit(&run->job, PL_FRAME_HEADER_LEN + (size_t)len);
	return 0;
}

void pl_run_fini(struct pl_run *run)
{
	pl_buf_fini(&run->job);
}

void pl_run_mark(const struct pl_run *run, struct plimsoll_error *error)
{
	if (run->dispatched || !run->job.len)
		error->reason = PLIMSOLL_REASON_NONE;
}
