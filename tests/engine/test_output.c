/* SPDX-License-Identifier: Apache-2.0 */
/* test_output: what src/guest/output sends of a stream, and what it only counts. */
#include "guest/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1024u * 1024u)

struct sent {
	uint64_t bytes[2]; /* of OUTPUT, by stream */
	uint64_t dropped[2];
	unsigned output_frames, dropped_frames;
	uint8_t last; /* the last byte sent */
};

static struct sent sent;

static void take(void *opaque, enum pl_frame_type type, const uint8_t *head, size_t head_len, const uint8_t *body,
		 size_t body_len)
{
	enum pl_stream stream;
	uint64_t total;

	assert_ptr_equal(opaque, &sent);
	if (type == PL_FRAME_OUTPUT) {
		assert_int_equal(head_len, 1);
		assert_true(body_len > 0 && body_len <= PL_OUTPUT_CHUNK_MAX);
		sent.bytes[head[0] - 1] += body_len;
		sent.output_frames++;
		sent.last = body[body_len - 1];
		return;
	}
	assert_int_equal(type, PL_FRAME_DROPPED);
	assert_int_equal(body_len, 0);
	assert_int_equal(pl_dropped_parse(head, head_len, &stream, &total), 0);
	assert_true(total > sent.dropped[stream - 1]);
	sent.dropped[stream - 1] = total;
	sent.dropped_frames++;
}

static struct pl_output output_of(uint64_t stdout_max, uint64_t stderr_max)
{
	memset(&sent, 0, sizeof sent);
	return (struct pl_output){
		.streams = { { .max_bytes = stdout_max }, { .max_bytes = stderr_max } },
		.send = take,
		.opaque = &sent,
	};
}

static uint8_t bytes[3 * MIB];

static void test_all_is_sent(void **state)
{
	struct pl_output output = output_of(200000, 10);

	(void)state;
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 0);
	assert_int_equal(sent.output_frames, 0);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 200000);
	pl_output_write(&output, PL_STREAM_STDERR, bytes, 10);
	assert_int_equal(sent.bytes[0], 200000);
	assert_int_equal(sent.bytes[1], 10);
	assert_int_equal(sent.output_frames, 5); /* 64 KiB at most in one */
	assert_int_equal(sent.dropped_frames, 0);
	assert_int_equal(output.streams[0].total_bytes, 200000);
}

/* The cut is at the byte, wherever a write begins or ends. */
static void test_cut(void **state)
{
	struct pl_output output = output_of(10, 0);

	(void)state;
	for (uint8_t i = 0; i < 7; i++)
		bytes[i] = i + 1;
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 7);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 7);
	assert_int_equal(sent.bytes[0], 10);
	assert_int_equal(sent.last, 3);
	assert_int_equal(sent.dropped[0], 14);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 7);
	assert_int_equal(sent.bytes[0], 10);
	assert_int_equal(sent.dropped_frames, 1);
	assert_int_equal(output.streams[0].total_bytes, 21);
	pl_output_write(&output, PL_STREAM_STDERR, bytes, 1);
	assert_int_equal(sent.bytes[1], 0);
	assert_int_equal(sent.dropped[1], 1);
}

/* Once when the maximum is passed, then for every further MiB, however the bytes come. */
static void test_dropped_every_mib(void **state)
{
	struct pl_output output = output_of(100, 100);

	(void)state;
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 100);
	assert_int_equal(sent.dropped_frames, 0);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 1);
	assert_int_equal(sent.dropped_frames, 1);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, MIB - 1);
	assert_int_equal(sent.dropped_frames, 1);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 1);
	assert_int_equal(sent.dropped_frames, 2);
	assert_int_equal(sent.dropped[0], MIB + 101);
	pl_output_write(&output, PL_STREAM_STDOUT, bytes, 3 * MIB);
	assert_int_equal(sent.dropped_frames, 3);
	assert_int_equal(sent.dropped[0], 4 * MIB + 101);
	for (unsigned i = 0; i < 4096; i++)
		pl_output_write(&output, PL_STREAM_STDERR, bytes, 1024);
	assert_int_equal(sent.dropped_frames, 3 + 4);
	assert_int_equal(output.streams[1].total_bytes, 4 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_sent),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_dropped_every_mib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
