/* SPDX-License-Identifier: Apache-2.0 */
/* frame: print and parse of the guest protocol. Pure functions over untrusted bytes; see frame.h. */
#include "wire/frame.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

#define JOB_FIXED_LEN (1u + 5u * 8u + PL_SEED_LEN + 1u)

static int frame_type_known(uint8_t type)
{
	switch (type) {
#define X(name, number, text) case number:
		PL_FRAME_LIST(X)
#undef X
		return 1;
	default:
		return 0;
	}
}

void pl_frame_header_print(uint8_t ret_header[PL_FRAME_HEADER_LEN], enum pl_frame_type type, uint32_t payload_len)
{
	pl_put_u32(ret_header, payload_len);
	ret_header[4] = (uint8_t)type;
	memset(ret_header + 5, 0, 3);
}

int pl_frame_header_parse(const uint8_t header[PL_FRAME_HEADER_LEN], struct pl_frame_header *ret)
{
	uint32_t len = pl_get_u32(header);

	if (len > PL_FRAME_PAYLOAD_MAX || !frame_type_known(header[4]) || header[5] || header[6] || header[7])
		return -EPROTO;
	ret->payload_len = len;
	ret->type = (enum pl_frame_type)header[4];
	return 0;
}

void pl_hello_print(uint8_t ret_payload[PL_HELLO_LEN], const struct pl_hello *hello)
{
	memcpy(ret_payload, hello->digest, PL_DIGEST_LEN);
	memcpy(ret_payload + 32, hello->image_id, PL_IMAGE_ID_LEN);
	pl_put_u16(ret_payload + 64, hello->probes_tried);
	pl_put_u16(ret_payload + 66, hello->probes_denied);
	ret_payload[68] = hello->landlock_denied;
	ret_payload[69] = hello->dumpable;
}

int pl_hello_parse(const uint8_t *payload, size_t len, struct pl_hello *ret)
{
	if (len != PL_HELLO_LEN)
		return -EPROTO;
	memcpy(ret->digest, payload, PL_DIGEST_LEN);
	memcpy(ret->image_id, payload + 32, PL_IMAGE_ID_LEN);
	ret->probes_tried = pl_get_u16(payload + 64);
	ret->probes_denied = pl_get_u16(payload + 66);
	ret->landlock_denied = payload[68];
	ret->dumpable = payload[69];
	return 0;
}

int64_t pl_job_len(const struct pl_job *job)
{
	if (job->name_len > 255 || job->code_len > PL_FRAME_PAYLOAD_MAX - JOB_FIXED_LEN - job->name_len)
		return -EMSGSIZE;
	return (int64_t)(JOB_FIXED_LEN + job->name_len + job->code_len);
}

void pl_job_print(uint8_t *ret_payload, const struct pl_job *job)
{
	uint8_t *p = ret_payload;

	*p++ = (uint8_t)job->kind;
	pl_put_u64(p, job->memory_bytes);
	pl_put_u64(p + 8, job->stdout_max_bytes);
	pl_put_u64(p + 16, job->stderr_max_bytes);
	pl_put_u64(p + 24, (uint64_t)job->now_ms);
	pl_put_u64(p + 32, job->fail_allocation);
	p += 40;
	memcpy(p, job->seed, PL_SEED_LEN);
	p += PL_SEED_LEN;
	*p++ = (uint8_t)job->name_len;
	memcpy(p, job->name, job->name_len);
	memcpy(p + job->name_len, job->code, job->code_len);
}

int pl_job_parse(const uint8_t *payload, size_t len, struct pl_job *ret)
{
	const uint8_t *p = payload;
	size_t name_len;

	if (len < JOB_FIXED_LEN || p[0] > PL_SOURCE_MODULE)
		return -EPROTO;
	name_len = p[JOB_FIXED_LEN - 1];
	if (name_len > len - JOB_FIXED_LEN)
		return -EPROTO;
	ret->kind = (enum pl_source_kind)p[0];
	p++;
	ret->memory_bytes = pl_get_u64(p);
	ret->stdout_max_bytes = pl_get_u64(p + 8);
	ret->stderr_max_bytes = pl_get_u64(p + 16);
	ret->now_ms = (int64_t)pl_get_u64(p + 24);
	ret->fail_allocation = pl_get_u64(p + 32);
	memcpy(ret->seed, p + 40, PL_SEED_LEN);
	ret->name = (const char *)payload + JOB_FIXED_LEN;
	ret->name_len = name_len;
	ret->code = ret->name + name_len;
	ret->code_len = len - JOB_FIXED_LEN - name_len;
	return 0;
}

void pl_guest_result_print(uint8_t ret_payload[PL_GUEST_RESULT_LEN], const struct pl_guest_result *result)
{
	pl_put_u32(ret_payload, (uint32_t)result->exit_code);
	ret_payload[4] = result->oom;
	pl_put_u64(ret_payload + 5, result->stdout_total);
	pl_put_u64(ret_payload + 13, result->stderr_total);
}

int pl_guest_result_parse(const uint8_t *payload, size_t len, struct pl_guest_result *ret)
{
	uint32_t code;

	if (len != PL_GUEST_RESULT_LEN || payload[4] > 1)
		return -EPROTO;
	code = pl_get_u32(payload);
	if (code > 255)
		return -EPROTO;
	ret->exit_code = (int32_t)code;
	ret->oom = payload[4];
	ret->stdout_total = pl_get_u64(payload + 5);
	ret->stderr_total = pl_get_u64(payload + 13);
	return 0;
}

static int stream_parse(uint8_t byte, enum pl_stream *ret)
{
	if (byte != PL_STREAM_STDOUT && byte != PL_STREAM_STDERR)
		return -EPROTO;
	*ret = (enum pl_stream)byte;
	return 0;
}

void pl_dropped_print(uint8_t ret_payload[PL_DROPPED_LEN], enum pl_stream stream, uint64_t total)
{
	ret_payload[0] = (uint8_t)stream;
	pl_put_u64(ret_payload + 1, total);
}

int pl_dropped_parse(const uint8_t *payload, size_t len, enum pl_stream *ret_stream, uint64_t *ret_total)
{
	if (len != PL_DROPPED_LEN || stream_parse(payload[0], ret_stream) < 0)
		return -EPROTO;
	*ret_total = pl_get_u64(payload + 1);
	return 0;
}

int pl_output_parse(const uint8_t *payload, size_t len, enum pl_stream *ret_stream, const uint8_t **ret_bytes,
		    size_t *ret_len)
{
	if (len < 1 || len - 1 > PL_OUTPUT_CHUNK_MAX || stream_parse(payload[0], ret_stream) < 0)
		return -EPROTO;
	*ret_bytes = payload + 1;
	*ret_len = len - 1;
	return 0;
}

void pl_task_name(const uint8_t challenge[PL_CHALLENGE_LEN], char ret_name[PL_TASK_NAME_LEN + 1])
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

	/* 15 characters of five bits: 75 bits, from the first ten bytes. */
	for (unsigned i = 0; i < PL_TASK_NAME_LEN; i++) {
		unsigned bit = i * 5, byte = bit / 8, shift = bit % 8;
		unsigned pair = (unsigned)challenge[byte] << 8 | challenge[byte + 1];

		ret_name[i] = alphabet[pair >> (11 - shift) & 31];
	}
	ret_name[PL_TASK_NAME_LEN] = 0;
}
