/* SPDX-License-Identifier: Apache-2.0 */
/* What library and supervisor may hear from each other. What is taken must print as the same bytes; a run that is within
 * bounds must become a job that the guest can read; options that are within bounds are within them. */
#include "base/buf.h"
#include "contract/gate.h"
#include "wire/msg.h"

#include <string.h>

#include "fuzz/target.h"

static struct pl_buf again;

static void again_compare(int rc, const uint8_t *payload, size_t len)
{
	MUST(rc == 0);
	MUST(again.len == PL_MSG_HEADER_LEN + len);
	MUST(len == 0 || memcmp(pl_buf_head(&again) + PL_MSG_HEADER_LEN, payload, len) == 0);
}

static void open_use(const struct pl_msg_open *open)
{
	struct plimsoll_error error;
	struct pl_settings s;

	if (pl_settings_check(open, &s, &error) < 0) {
		MUST(error.code == PLIMSOLL_ERROR_INVALID && error.reason == PLIMSOLL_REASON_REQUEST && error.message[0]);
		return;
	}
	MUST(s.runs_max >= 1 && s.runs_max <= PL_RUNS_MAX && s.pool <= PL_POOL_MAX);
	MUST(s.id_first >= 65536 && s.id_count >= 4 && (uint64_t)s.id_first + s.id_count <= UINT32_MAX - 65536u);
	MUST(s.timeout_max_ms >= 1 && s.timeout_max_ms <= PL_TIMEOUT_MAX_MS);
	MUST(s.memory_max_bytes >= PL_MEMORY_MIN_BYTES && s.memory_max_bytes <= PL_MEMORY_MAX_BYTES);
}

static void run_use(const struct pl_msg_run *msg)
{
	static const uint8_t seed[PL_SEED_LEN];
	struct pl_settings s = { .memory_max_bytes = PL_MEMORY_MAX_BYTES, .timeout_max_ms = PL_TIMEOUT_CEILING_MS };
	struct plimsoll_error error;
	struct pl_limits limits;
	struct pl_run run;
	struct pl_job job;

	if (pl_request_check(msg, &error) < 0 || pl_limits_fill(msg, &s, &limits, &error) < 0) {
		MUST(error.code == PLIMSOLL_ERROR_INVALID && error.reason == PLIMSOLL_REASON_REQUEST && error.message[0]);
		return;
	}
	MUST(limits.timeout_ms >= 1 && limits.timeout_ms <= PL_TIMEOUT_CEILING_MS);
	MUST(limits.memory_bytes >= PL_MEMORY_MIN_BYTES && limits.memory_bytes <= PL_MEMORY_MAX_BYTES);
	MUST(pl_run_init(&run, 1, msg, &limits, seed, 0) == 0);
	MUST(pl_job_parse(pl_buf_head(&run.job) + PL_FRAME_HEADER_LEN, run.job.len - PL_FRAME_HEADER_LEN, &job) == 0);
	MUST(job.code_len == msg->code_len && memcmp(job.code, msg->code, job.code_len) == 0);
	pl_run_fini(&run);
}

static void error_use(const struct plimsoll_error *error)
{
	MUST(error->code < 0 && error->reason <= PLIMSOLL_REASON_ENVIRONMENT);
	MUST(memchr(error->step, 0, sizeof error->step) && memchr(error->message, 0, sizeof error->message));
}

static void evidence_use(const struct pl_msg_evidence *evidence)
{
	MUST(evidence->facts_n <= PL_MSG_FACTS_MAX && evidence->wall && evidence->policy && evidence->instance);
}

#define TRY(lower, type, use)                                                                                          \
	static void lower##_try(const uint8_t *payload, size_t len)                                                        \
	{                                                                                                                  \
		type msg;                                                                                                      \
                                                                                                                       \
		if (pl_msg_##lower##_parse(payload, len, &msg) < 0)                                                            \
			return;                                                                                                    \
		use;                                                                                                           \
		again_compare(pl_msg_##lower##_print(&again, 1, &msg), payload, len);                                          \
	}

TRY(open, struct pl_msg_open, open_use(&msg))
TRY(opened, struct pl_msg_opened, MUST(msg.build_id))
TRY(run, struct pl_msg_run, run_use(&msg))
TRY(result, struct pl_msg_result, evidence_use(&msg.evidence))
TRY(error, struct plimsoll_error, error_use(&msg))
TRY(measure, struct pl_msg_measure, MUST(msg.wall))
TRY(evidence, struct pl_msg_evidence, evidence_use(&msg))
TRY(rows, struct pl_msg_rows, MUST(msg.rows_n <= PL_MSG_ROWS_MAX))

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const payload_try[])(const uint8_t *payload, size_t len) = {
		[PL_MSG_OPEN] = open_try,   [PL_MSG_OPENED] = opened_try,   [PL_MSG_RUN] = run_try,           [PL_MSG_RESULT] = result_try,
		[PL_MSG_ERROR] = error_try, [PL_MSG_MEASURE] = measure_try, [PL_MSG_EVIDENCE] = evidence_try, [PL_MSG_ROWS] = rows_try,
	};
	struct pl_msg_header header;
	uint8_t back[PL_MSG_HEADER_LEN];

	if (len < PL_MSG_HEADER_LEN || pl_msg_header_parse(bytes, &header) < 0)
		return 0;
	MUST(header.payload_len <= PL_MSG_PAYLOAD_MAX);
	pl_msg_header_print(back, &header);
	MUST(memcmp(back, bytes, sizeof back) == 0);
	if ((size_t)header.type >= sizeof payload_try / sizeof *payload_try || !payload_try[header.type])
		return 0; /* CANCEL and DOCTOR have no payload */
	pl_buf_init(&again, PL_MSG_HEADER_LEN + PL_MSG_PAYLOAD_MAX);
	payload_try[header.type](bytes + PL_MSG_HEADER_LEN, len - PL_MSG_HEADER_LEN);
	pl_buf_fini(&again);
	return 0;
}
