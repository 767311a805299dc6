/* SPDX-License-Identifier: Apache-2.0 */
/* What a guest may send: a header, and then the payload by the header's type. What is taken must print as the same bytes. */
#include "wire/frame.h"

#include <string.h>

#include "fuzz/target.h"

static uint8_t again[PL_FRAME_PAYLOAD_MAX];

static void hello_try(const uint8_t *payload, size_t len)
{
	struct pl_hello hello;

	if (pl_hello_parse(payload, len, &hello) < 0)
		return;
	pl_hello_print(again, &hello);
	MUST(len == PL_HELLO_LEN && memcmp(again, payload, len) == 0);
}

static void job_try(const uint8_t *payload, size_t len)
{
	struct pl_job job;

	if (pl_job_parse(payload, len, &job) < 0)
		return;
	MUST(len > PL_FRAME_PAYLOAD_MAX || pl_job_len(&job) == (int64_t)len);
	MUST(job.code + job.code_len == (const char *)payload + len);
	if (len > PL_FRAME_PAYLOAD_MAX)
		return;
	pl_job_print(again, &job);
	MUST(memcmp(again, payload, len) == 0);
}

static void result_try(const uint8_t *payload, size_t len)
{
	struct pl_guest_result result;

	if (pl_guest_result_parse(payload, len, &result) < 0)
		return;
	MUST(result.exit_code >= 0 && result.exit_code <= 255 && result.oom <= 1);
	pl_guest_result_print(again, &result);
	MUST(len == PL_GUEST_RESULT_LEN && memcmp(again, payload, len) == 0);
}

static void dropped_try(const uint8_t *payload, size_t len)
{
	enum pl_stream stream;
	uint64_t total;

	if (pl_dropped_parse(payload, len, &stream, &total) < 0)
		return;
	pl_dropped_print(again, stream, total);
	MUST(len == PL_DROPPED_LEN && memcmp(again, payload, len) == 0);
}

static void output_try(const uint8_t *payload, size_t len)
{
	enum pl_stream stream;
	const uint8_t *bytes;
	size_t n;

	if (pl_output_parse(payload, len, &stream, &bytes, &n) < 0)
		return;
	MUST(stream == PL_STREAM_STDOUT || stream == PL_STREAM_STDERR);
	MUST(n <= PL_OUTPUT_CHUNK_MAX && bytes == payload + 1 && n == len - 1);
}

static void challenge_try(const uint8_t *payload, size_t len)
{
	char name[PL_TASK_NAME_LEN + 1];

	if (len != PL_CHALLENGE_LEN)
		return;
	pl_task_name(payload, name);
	MUST(strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == PL_TASK_NAME_LEN && !name[PL_TASK_NAME_LEN]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const payload_try[])(const uint8_t *payload, size_t len) = {
		[PL_FRAME_CHALLENGE] = challenge_try, [PL_FRAME_HELLO] = hello_try,     [PL_FRAME_JOB] = job_try,
		[PL_FRAME_OUTPUT] = output_try,       [PL_FRAME_DROPPED] = dropped_try, [PL_FRAME_RESULT] = result_try,
	};
	struct pl_frame_header header;
	uint8_t back[PL_FRAME_HEADER_LEN];

	if (len < PL_FRAME_HEADER_LEN || pl_frame_header_parse(bytes, &header) < 0)
		return 0;
	MUST(header.payload_len <= PL_FRAME_PAYLOAD_MAX);
	pl_frame_header_print(back, header.type, header.payload_len);
	MUST(memcmp(back, bytes, sizeof back) == 0);
	payload_try[header.type](bytes + PL_FRAME_HEADER_LEN, len - PL_FRAME_HEADER_LEN);
	return 0;
}
