/* SPDX-License-Identifier: Apache-2.0 */
/* The guest protocol: there and back, every truncation, every flipped bit, sizes at and over their limits. Whether the bytes
 * are the ones that docs promise is a matter of the vectors (tests/vectors). */
#include "unit/unit.h"

#include "wire/frame.h"

/* Every number of a byte that is a type of frame. */
static int type_listed(unsigned number)
{
#define X(name, value, text) +(number == (value))
	return 0 PL_FRAME_LIST(X);
#undef X
}

static void test_header_of_every_type(void **state)
{
	static const uint32_t lens[] = { 0, 1, 255, 256, 65537, PL_FRAME_PAYLOAD_MAX };
	uint8_t bytes[PL_FRAME_HEADER_LEN];
	struct pl_frame_header header;

	(void)state;
	for (unsigned type = 0; type < 256; type++) {
		for (size_t i = 0; i < N_OF(lens); i++) {
			pl_frame_header_print(bytes, (enum pl_frame_type)type, lens[i]);
			assert_int_equal(pl_frame_header_parse(bytes, &header), type_listed(type) ? 0 : -EPROTO);
			if (!type_listed(type))
				continue;
			assert_int_equal(header.type, type);
			assert_int_equal(header.payload_len, lens[i]);
		}
	}
}

static void test_header_over_the_limit(void **state)
{
	static const uint32_t lens[] = { PL_FRAME_PAYLOAD_MAX + 1, 1u << 20, 1u << 31, UINT32_MAX };
	uint8_t bytes[PL_FRAME_HEADER_LEN];
	struct pl_frame_header header = { .payload_len = 7, .type = PL_FRAME_HELLO };

	(void)state;
	for (size_t i = 0; i < N_OF(lens); i++) {
		pl_frame_header_print(bytes, PL_FRAME_OUTPUT, lens[i]);
		assert_int_equal(pl_frame_header_parse(bytes, &header), -EPROTO);
	}
	assert_int_equal(header.payload_len, 7);
	assert_int_equal(header.type, PL_FRAME_HELLO);
}

/* One flipped bit is refused, or read as exactly what the bits then say. */
static void test_header_every_bit(void **state)
{
	uint8_t bytes[PL_FRAME_HEADER_LEN];
	struct pl_frame_header header;

	(void)state;
	for (unsigned bit = 0; bit < PL_FRAME_HEADER_LEN * 8; bit++) {
		uint32_t len = 1000 ^ (bit < 32 ? 1u << bit : 0);
		unsigned type = PL_FRAME_RESULT ^ (bit / 8 == 4 ? 1u << (bit - 32) : 0);
		int good = len <= PL_FRAME_PAYLOAD_MAX && type_listed(type) && bit < 40;

		pl_frame_header_print(bytes, PL_FRAME_RESULT, 1000);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pl_frame_header_parse(bytes, &header), good ? 0 : -EPROTO);
		if (!good)
			continue;
		assert_int_equal(header.payload_len, len);
		assert_int_equal(header.type, type);
	}
}

static void test_hello(void **state)
{
	struct pl_hello hello = { .probes_tried = 0x1234, .probes_denied = 0xfedc, .landlock_denied = 1, .dumpable = 2 }, back;
	uint8_t bytes[PL_HELLO_LEN + 1];

	(void)state;
	for (unsigned i = 0; i < PL_DIGEST_LEN; i++) {
		hello.digest[i] = (uint8_t)(i + 1);
		hello.image_id[i] = (uint8_t)(200 - i);
	}
	pl_hello_print(bytes, &hello);
	for (size_t len = 0; len <= sizeof bytes; len++) {
		uint8_t *copy = unit_copy(bytes, len);

		assert_int_equal(pl_hello_parse(copy, len, &back), len == PL_HELLO_LEN ? 0 : -EPROTO);
		free(copy);
	}
	assert_memory_equal(back.digest, hello.digest, sizeof hello.digest);
	assert_memory_equal(back.image_id, hello.image_id, sizeof hello.image_id);
	assert_int_equal(back.probes_tried, 0x1234);
	assert_int_equal(back.probes_denied, 0xfedc);
	assert_int_equal(back.landlock_denied, 1);
	assert_int_equal(back.dumpable, 2);
}

static struct pl_job job_make(const char *name, const char *code)
{
	struct pl_job job = {
		.kind = PL_SOURCE_MODULE,
		.memory_bytes = 0x0102030405060708ull,
		.stdout_max_bytes = 0x1112131415161718ull,
		.stderr_max_bytes = 0x2122232425262728ull,
		.now_ms = -5,
		.fail_allocation = 0x4142434445464748ull,
		.name = name,
		.name_len = strlen(name),
		.code = code,
		.code_len = strlen(code),
	};

	memset(job.seed, 0xa7, sizeof job.seed);
	return job;
}

static void job_compare(const struct pl_job *a, const struct pl_job *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(a->memory_bytes == b->memory_bytes);
	assert_true(a->stdout_max_bytes == b->stdout_max_bytes);
	assert_true(a->stderr_max_bytes == b->stderr_max_bytes);
	assert_true(a->now_ms == b->now_ms);
	assert_true(a->fail_allocation == b->fail_allocation);
	assert_memory_equal(a->seed, b->seed, sizeof a->seed);
	assert_int_equal(a->name_len, b->name_len);
	assert_memory_equal(a->name, b->name, a->name_len);
	assert_int_equal(a->code_len, b->code_len);
	assert_memory_equal(a->code, b->code, a->code_len);
}

/* Every length: what is too short for the fixed part and the name is refused; from there on every byte more is code. */
static void test_job_every_length(void **state)
{
	struct pl_job job = job_make("[eval]", "console.log(1)"), back;
	int64_t len = pl_job_len(&job);
	size_t least = (size_t)len - job.code_len;
	uint8_t *bytes = malloc((size_t)len);

	(void)state;
	assert_non_null(bytes);
	pl_job_print(bytes, &job);
	for (size_t n = 0; n <= (size_t)len; n++) {
		uint8_t *copy = unit_copy(bytes, n);
		int rc = pl_job_parse(copy, n, &back);

		assert_int_equal(rc, n < least ? -EPROTO : 0);
		if (rc == 0)
			assert_int_equal(back.code_len, n - least);
		if (n == (size_t)len)
			job_compare(&job, &back);
		free(copy);
	}
	free(bytes);
}

static void test_job_kinds(void **state)
{
	struct pl_job job = job_make("n", "c"), back;
	uint8_t bytes[128];

	(void)state;
	pl_job_print(bytes, &job);
	for (unsigned kind = 0; kind < 256; kind++) {
		bytes[0] = (uint8_t)kind;
		assert_int_equal(pl_job_parse(bytes, (size_t)pl_job_len(&job), &back), kind <= PL_SOURCE_MODULE ? 0 : -EPROTO);
	}
}

/* The largest job is as large as a payload may be. */
static void test_job_limits(void **state)
{
	static char name[256], code[PL_FRAME_PAYLOAD_MAX];
	struct pl_job job = job_make("", ""), back;
	int64_t fixed = pl_job_len(&job);
	uint8_t *bytes = malloc(PL_FRAME_PAYLOAD_MAX);

	(void)state;
	assert_non_null(bytes);
	memset(name, 'n', sizeof name);
	memset(code, 'c', sizeof code);
	job.name = name;
	job.code = code;
	job.name_len = 255;
	job.code_len = PL_FRAME_PAYLOAD_MAX - (size_t)fixed - 255;
	assert_int_equal(pl_job_len(&job), PL_FRAME_PAYLOAD_MAX);
	pl_job_print(bytes, &job);
	assert_int_equal(pl_job_parse(bytes, PL_FRAME_PAYLOAD_MAX, &back), 0);
	job_compare(&job, &back);
	job.code_len++;
	assert_int_equal(pl_job_len(&job), -EMSGSIZE);
	job.code_len = SIZE_MAX;
	assert_int_equal(pl_job_len(&job), -EMSGSIZE);
	job.code_len = 1;
	job.name_len = 256;
	assert_int_equal(pl_job_len(&job), -EMSGSIZE);
	free(bytes);
}

static void test_guest_result(void **state)
{
	struct pl_guest_result back;
	uint8_t bytes[PL_GUEST_RESULT_LEN + 1] = { 0 };

	(void)state;
	for (int code = 0; code < 256; code++) {
		struct pl_guest_result result = { .exit_code = code, .oom = code & 1, .stdout_total = UINT64_MAX - (uint64_t)code,
						  .stderr_total = (uint64_t)code << 40 };

		pl_guest_result_print(bytes, &result);
		assert_int_equal(pl_guest_result_parse(bytes, PL_GUEST_RESULT_LEN, &back), 0);
		assert_int_equal(back.exit_code, code);
		assert_int_equal(back.oom, code & 1);
		assert_true(back.stdout_total == result.stdout_total);
		assert_true(back.stderr_total == result.stderr_total);
	}
	for (size_t len = 0; len <= sizeof bytes; len++) {
		uint8_t *copy = unit_copy(bytes, len);

		assert_int_equal(pl_guest_result_parse(copy, len, &back), len == PL_GUEST_RESULT_LEN ? 0 : -EPROTO);
		free(copy);
	}
}

/* A code outside 0 to 255 is refused, however it is written. */
static void test_guest_result_bad(void **state)
{
	static const uint32_t codes[] = { 256, 257, 0x10000, 0x7fffffff, 0x80000000, UINT32_MAX };
	struct pl_guest_result back = { .exit_code = 9 };
	uint8_t bytes[PL_GUEST_RESULT_LEN];

	(void)state;
	for (size_t i = 0; i < N_OF(codes); i++) {
		struct pl_guest_result result = { .exit_code = (int32_t)codes[i] };

		pl_guest_result_print(bytes, &result);
		assert_int_equal(pl_guest_result_parse(bytes, sizeof bytes, &back), -EPROTO);
	}
	for (unsigned oom = 2; oom < 256; oom++) {
		struct pl_guest_result result = { .oom = (uint8_t)oom };

		pl_guest_result_print(bytes, &result);
		assert_int_equal(pl_guest_result_parse(bytes, sizeof bytes, &back), -EPROTO);
	}
	assert_int_equal(back.exit_code, 9);
}

static void test_dropped(void **state)
{
	uint8_t bytes[PL_DROPPED_LEN + 1] = { 0 };
	enum pl_stream stream;
	uint64_t total;

	(void)state;
	pl_dropped_print(bytes, PL_STREAM_STDERR, 0x0102030405060708ull);
	for (size_t len = 0; len <= sizeof bytes; len++) {
		uint8_t *copy = unit_copy(bytes, len);

		assert_int_equal(pl_dropped_parse(copy, len, &stream, &total), len == PL_DROPPED_LEN ? 0 : -EPROTO);
		free(copy);
	}
	assert_int_equal(stream, PL_STREAM_STDERR);
	assert_true(total == 0x0102030405060708ull);
	for (unsigned n = 0; n < 256; n++) {
		bytes[0] = (uint8_t)n;
		assert_int_equal(pl_dropped_parse(bytes, PL_DROPPED_LEN, &stream, &total),
				 n == PL_STREAM_STDOUT || n == PL_STREAM_STDERR ? 0 : -EPROTO);
	}
}

static void test_output(void **state)
{
	uint8_t *bytes = calloc(1, PL_OUTPUT_CHUNK_MAX + 2);
	enum pl_stream stream;
	const uint8_t *at;
	size_t len;

	(void)state;
	assert_non_null(bytes);
	bytes[0] = PL_STREAM_STDOUT;
	assert_int_equal(pl_output_parse(bytes, 0, &stream, &at, &len), -EPROTO);
	assert_int_equal(pl_output_parse(bytes, 1, &stream, &at, &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(pl_output_parse(bytes, PL_OUTPUT_CHUNK_MAX + 1, &stream, &at, &len), 0);
	assert_int_equal(len, PL_OUTPUT_CHUNK_MAX);
	assert_ptr_equal(at, bytes + 1);
	assert_int_equal(pl_output_parse(bytes, PL_OUTPUT_CHUNK_MAX + 2, &stream, &at, &len), -EPROTO);
	for (unsigned n = 0; n < 256; n++) {
		bytes[0] = (uint8_t)n;
		assert_int_equal(pl_output_parse(bytes, 5, &stream, &at, &len),
				 n == PL_STREAM_STDOUT || n == PL_STREAM_STDERR ? 0 : -EPROTO);
	}
	free(bytes);
}

/* Each bit of the first 75 of a challenge changes the name, the others do not. */
static void test_task_name(void **state)
{
	uint8_t challenge[PL_CHALLENGE_LEN] = { 0 };
	char plain[PL_TASK_NAME_LEN + 1], name[PL_TASK_NAME_LEN + 1];

	(void)state;
	pl_task_name(challenge, plain);
	assert_string_equal(plain, "AAAAAAAAAAAAAAA");
	for (unsigned bit = 0; bit < PL_CHALLENGE_LEN * 8; bit++) {
		challenge[bit / 8] = (uint8_t)(0x80 >> bit % 8);
		pl_task_name(challenge, name);
		assert_int_equal(strlen(name), PL_TASK_NAME_LEN);
		assert_int_equal(strcmp(plain, name) != 0, bit < PL_TASK_NAME_LEN * 5);
		challenge[bit / 8] = 0;
	}
	memset(challenge, 0xff, sizeof challenge);
	pl_task_name(challenge, name);
	assert_string_equal(name, "777777777777777");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_of_every_type), cmocka_unit_test(test_header_over_the_limit),
		cmocka_unit_test(test_header_every_bit),     cmocka_unit_test(test_hello),
		cmocka_unit_test(test_job_every_length),     cmocka_unit_test(test_job_kinds),
		cmocka_unit_test(test_job_limits),           cmocka_unit_test(test_guest_result),
		cmocka_unit_test(test_guest_result_bad),     cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_output),               cmocka_unit_test(test_task_name),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
