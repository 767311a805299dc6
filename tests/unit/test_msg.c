/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between library and supervisor. Each kind has one full sample here; what is asked of all of them (there and
 * back, every truncation, one byte more, every flipped bit, no room, no memory) is asked by the same code. */
#include "unit/unit.h"

#include "base/alloc.h"
#include "wire/msg.h"

/* --- samples ------------------------------------------------------------------------------------------------------------ */

static const uint8_t code[] = "console.log('\xc3\xa9')", out_bytes[] = { 0, 0xff, '\n', 0 };

static struct pl_msg_open open_sample = {
	.build_id = "build", .walls = "container,process", .floor = "process", .pool = 1, .runs_max = 2, .id_first = 3,
	.id_count = UINT32_MAX, .memory_max_bytes = 1ull << 40, .timeout_max_ms = INT64_MIN,
};
static struct pl_msg_opened opened_sample = { .build_id = "build" };
static struct pl_msg_run run_sample = {
	.code = code, .code_len = sizeof code - 1, .name = "a.mjs", .floor = "vm", .wall = "auto", .source = 2, .timeout_ms = -1,
	.memory_bytes = 5, .stdout_max_bytes = UINT64_MAX, .stderr_max_bytes = 7,
};
static struct pl_msg_result result_sample = {
	.exit_code = -7, .timed_out = 1, .oom = 2, .out = out_bytes, .out_len = sizeof out_bytes, .err = NULL, .err_len = 0,
	.out_total = 1ull << 50, .err_total = 0, .duration_us = 123456789012, .cpu_us = -1, .peak_bytes = 3, .timeout_ms = 4,
	.memory_bytes = 5,
	.evidence = { .tier = 2, .wall = "container", .policy = "p", .instance = "i", .facts_n = 1,
		      .facts = { { "n", "v", "e", "host", "met", "same", 1 } } },
};
static struct plimsoll_error error_sample = {
	.code = PLIMSOLL_ERROR_ISOLATION, .reason = PLIMSOLL_REASON_ISOLATION, .step = "measure", .fact = "ns.pid",
	.message = "fact ns.pid is contradicted",
};
static struct pl_msg_measure measure_sample = { .wall = "process" };
static struct pl_msg_evidence evidence_sample = {
	.tier = -1, .wall = "process", .policy = "plimsoll-profile:sha256:00", .instance = "plimsoll-evidence:sha256:11", .facts_n = 3,
	.facts = { { "ns.pid", "", "private", "host", "met", "gone", 1 }, { "b", "2", "two", "guest", "stated", "", 0 },
		   { "c", "3", "three", "runtime", "met", "same", -1 } },
};
static struct pl_msg_rows rows_sample = {
	.rows_n = 2, .rows = { { "wall", "container", "ok", "found", "" }, { "host", "hidepid", "limited", "masked", "unmask it" } },
};

/* --- the same for every kind --------------------------------------------------------------------------------------------- */

union any {
	struct pl_msg_open open;
	struct pl_msg_opened opened;
	struct pl_msg_run run;
	struct pl_msg_result result;
	struct plimsoll_error error;
	struct pl_msg_measure measure;
	struct pl_msg_evidence evidence;
	struct pl_msg_rows rows;
};

#define KIND(lower, UPPER, type)                                                                                       \
	static int lower##_print(struct pl_buf *out, void *msg) { return pl_msg_##lower##_print(out, 77, (type *)msg); }  \
	static int lower##_parse(const uint8_t *in, size_t len, union any *ret) { return pl_msg_##lower##_parse(in, len, &ret->lower); }

#define KINDS(X)                                                                                                       \
	X(open, OPEN, struct pl_msg_open)                                                                                  \
	X(opened, OPENED, struct pl_msg_opened)                                                                            \
	X(run, RUN, struct pl_msg_run)                                                                                     \
	X(result, RESULT, struct pl_msg_result)                                                                            \
	X(error, ERROR, struct plimsoll_error)                                                                             \
	X(measure, MEASURE, struct pl_msg_measure)                                                                         \
	X(evidence, EVIDENCE, struct pl_msg_evidence)                                                                      \
	X(rows, ROWS, struct pl_msg_rows)

KINDS(KIND)

static const struct {
	const char *name;
	enum pl_msg_type type;
	void *sample;
	int (*print)(struct pl_buf *out, void *msg);
	int (*parse)(const uint8_t *in, size_t len, union any *ret);
} kinds[] = {
#define X(lower, UPPER, type) { #lower, PL_MSG_##UPPER, &lower##_sample, lower##_print, lower##_parse },
	KINDS(X)
#undef X
};

static struct pl_buf printed(size_t kind, void *msg)
{
	struct pl_buf buf;

	pl_buf_init(&buf, PL_MSG_HEADER_LEN + PL_MSG_PAYLOAD_MAX);
	assert_int_equal(kinds[kind].print(&buf, msg), 0);
	return buf;
}

/* What was parsed prints as the very bytes that it was parsed from. */
static void same_again(size_t kind, union any *msg, const uint8_t *payload, size_t len)
{
	struct pl_buf again = printed(kind, msg);

	assert_int_equal(again.len, PL_MSG_HEADER_LEN + len);
	assert_memory_equal(pl_buf_head(&again) + PL_MSG_HEADER_LEN, payload, len);
	pl_buf_fini(&again);
}

static void test_there_and_back(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_OF(kinds); k++) {
		struct pl_buf buf = printed(k, kinds[k].sample);
		struct pl_msg_header header;
		union any msg;
		uint8_t *payload;

		assert_int_equal(pl_msg_header_parse(pl_buf_head(&buf), &header), 0);
		assert_int_equal(header.type, kinds[k].type);
		assert_true(header.id == 77);
		assert_int_equal(header.payload_len, buf.len - PL_MSG_HEADER_LEN);
		payload = unit_copy(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, header.payload_len);
		assert_int_equal(kinds[k].parse(payload, header.payload_len, &msg), 0);
		same_again(k, &msg, payload, header.payload_len);
		free(payload);
		pl_buf_fini(&buf);
	}
}

static void test_every_truncation(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_OF(kinds); k++) {
		struct pl_buf buf = printed(k, kinds[k].sample);
		size_t full = buf.len - PL_MSG_HEADER_LEN;
		union any msg;

		assert_int_equal(pl_buf_append(&buf, "\0", 1), 0);
		for (size_t len = 0; len <= full + 1; len++) {
			uint8_t *payload = unit_copy(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, len);

			if (len != full && kinds[k].parse(payload, len, &msg) != -EPROTO)
				fail_msg("%s of %zu bytes is taken at %zu", kinds[k].name, full, len);
			free(payload);
		}
		pl_buf_fini(&buf);
	}
}

/* One flipped bit is refused, or taken for what it then says. Lengths inside cannot reach outside (the sanitizer build). */
static void test_every_bit(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_OF(kinds); k++) {
		struct pl_buf buf = printed(k, kinds[k].sample);
		size_t len = buf.len - PL_MSG_HEADER_LEN, taken = 0;

		for (size_t bit = 0; bit < len * 8; bit++) {
			uint8_t *payload = unit_copy(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, len);
			union any msg;
			int rc;

			payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
			rc = kinds[k].parse(payload, len, &msg);
			assert_true(rc == 0 || rc == -EPROTO);
			if (rc == 0)
				same_again(k, &msg, payload, len);
			taken += rc == 0;
			free(payload);
		}
		/* Bits of characters and numbers are free; a parse that refuses all or none does not look. */
		assert_true(taken > 0 && taken < len * 8);
		pl_buf_fini(&buf);
	}
}

/* Without room or memory nothing is appended, and what was there before is still there. */
static void test_no_room(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_OF(kinds); k++) {
		struct pl_buf full = printed(k, kinds[k].sample);

		for (size_t max = 3; max <= full.len + 3; max++) {
			struct pl_buf buf;
			int want = max < full.len + 3 ? -ENOBUFS : 0;

			pl_buf_init(&buf, max);
			assert_int_equal(pl_buf_append(&buf, "abc", 3), 0);
			assert_int_equal(kinds[k].print(&buf, kinds[k].sample), want);
			assert_int_equal(buf.len, want ? 3 : full.len + 3);
			assert_memory_equal(pl_buf_head(&buf), "abc", 3);
			pl_buf_fini(&buf);
		}
		pl_buf_fini(&full);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_OF(kinds); k++) {
		unsigned long n = 1;

		for (;; n++) {
			struct pl_buf buf;
			int rc;

			pl_buf_init(&buf, 1 << 20);
			pl_alloc_fail(n);
			rc = kinds[k].print(&buf, kinds[k].sample);
			if (!pl_alloc_failed())
				assert_int_equal(rc, 0);
			else
				assert_int_equal(rc, -ENOMEM);
			assert_int_equal(buf.len > 0, rc == 0);
			pl_alloc_fail(0);
			pl_buf_fini(&buf);
			if (rc == 0)
				break;
		}
		assert_true(n > 1);
	}
}

/* --- headers and limits --------------------------------------------------------------------------------------------------- */

static int type_listed(uint32_t number)
{
#define X(name, value, text) +(number == (value))
	return 0 PL_MSG_LIST(X);
#undef X
}

static void test_header(void **state)
{
	static const uint32_t lens[] = { 0, 1, PL_MSG_PAYLOAD_MAX, PL_MSG_PAYLOAD_MAX + 1, UINT32_MAX };
	static const uint32_t types[] = { 256, 257, 1u << 16, 1u << 24, (1u << 24) + 1, UINT32_MAX };
	uint8_t bytes[PL_MSG_HEADER_LEN];

	(void)state;
	for (uint32_t t = 0; t < 64 + N_OF(types); t++) {
		uint32_t type = t < 64 ? t : types[t - 64];

		for (size_t i = 0; i < N_OF(lens); i++) {
			struct pl_msg_header header = { .payload_len = lens[i], .type = (enum pl_msg_type)type, .id = UINT64_MAX - t }, back;
			int good = type_listed(type) && lens[i] <= PL_MSG_PAYLOAD_MAX;

			pl_msg_header_print(bytes, &header);
			assert_int_equal(pl_msg_header_parse(bytes, &back), good ? 0 : -EPROTO);
			if (!good)
				continue;
			assert_int_equal(back.payload_len, lens[i]);
			assert_int_equal(back.type, type);
			assert_true(back.id == UINT64_MAX - t);
		}
	}
}

static void test_header_every_bit(void **state)
{
	struct pl_msg_header header = { .payload_len = 1000, .type = PL_MSG_RUN, .id = 0x0102030405060708ull }, back;
	uint8_t bytes[PL_MSG_HEADER_LEN];

	(void)state;
	for (unsigned bit = 0; bit < PL_MSG_HEADER_LEN * 8; bit++) {
		uint32_t len = 1000 ^ (bit < 32 ? 1u << bit : 0);
		uint32_t type = PL_MSG_RUN ^ (bit >= 32 && bit < 64 ? 1u << (bit - 32) : 0);
		uint64_t id = header.id ^ (bit >= 64 ? 1ull << (bit - 64) : 0);
		int good = len <= PL_MSG_PAYLOAD_MAX && type_listed(type);

		pl_msg_header_print(bytes, &header);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pl_msg_header_parse(bytes, &back), good ? 0 : -EPROTO);
		if (good)
			assert_true(back.payload_len == len && (uint32_t)back.type == type && back.id == id);
	}
}

static void test_messages_without_payload(void **state)
{
	static const enum pl_msg_type types[] = { PL_MSG_CANCEL, PL_MSG_DOCTOR };
	struct pl_msg_header header;
	struct pl_buf buf;

	(void)state;
	pl_buf_init(&buf, 100);
	for (size_t i = 0; i < N_OF(types); i++) {
		assert_int_equal(pl_msg_empty_print(&buf, 5 + i, types[i]), 0);
		assert_int_equal(buf.len, (i + 1) * PL_MSG_HEADER_LEN);
		assert_int_equal(pl_msg_header_parse(pl_buf_head(&buf) + i * PL_MSG_HEADER_LEN, &header), 0);
		assert_int_equal(header.payload_len, 0);
		assert_int_equal(header.type, types[i]);
		assert_true(header.id == 5 + i);
	}
	pl_buf_fini(&buf);
}

/* A payload of exactly the maximum passes, one byte more does not. */
static void test_payload_limit(void **state)
{
	struct pl_msg_run run = run_sample;
	size_t other, room;
	uint8_t *big = calloc(1, PL_MSG_PAYLOAD_MAX);
	struct pl_buf buf;

	(void)state;
	assert_non_null(big);
	pl_buf_init(&buf, PL_MSG_PAYLOAD_MAX * 2);
	assert_int_equal(pl_msg_run_print(&buf, 1, &run), 0);
	other = buf.len - PL_MSG_HEADER_LEN - run.code_len;
	room = PL_MSG_PAYLOAD_MAX - other;
	pl_buf_consume(&buf, buf.len);
	run.code = big;
	run.code_len = room;
	assert_int_equal(pl_msg_run_print(&buf, 1, &run), 0);
	assert_int_equal(buf.len, PL_MSG_HEADER_LEN + PL_MSG_PAYLOAD_MAX);
	assert_int_equal(pl_msg_run_parse(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, PL_MSG_PAYLOAD_MAX, &run), 0);
	assert_int_equal(run.code_len, room);
	pl_buf_consume(&buf, buf.len);
	run = run_sample;
	run.code = big;
	run.code_len = room + 1;
	assert_int_equal(pl_msg_run_print(&buf, 1, &run), -ENOBUFS);
	assert_int_equal(buf.len, 0);
	pl_buf_fini(&buf);
	free(big);
}

static void test_counts_over_the_limit(void **state)
{
	static struct pl_msg_evidence evidence;
	static struct pl_msg_rows rows;
	struct pl_buf buf;
	union any msg;

	(void)state;
	for (size_t i = 0; i < PL_MSG_FACTS_MAX; i++)
		evidence.facts[i].name = "n";
	pl_buf_init(&buf, 1 << 20);
	evidence.facts_n = PL_MSG_FACTS_MAX;
	assert_int_equal(pl_msg_evidence_print(&buf, 1, &evidence), 0);
	assert_int_equal(pl_msg_evidence_parse(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, buf.len - PL_MSG_HEADER_LEN, &msg.evidence), 0);
	assert_int_equal(msg.evidence.facts_n, PL_MSG_FACTS_MAX);
	evidence.facts_n++;
	pl_buf_consume(&buf, buf.len);
	assert_int_equal(pl_msg_evidence_print(&buf, 1, &evidence), -EPROTO);
	assert_int_equal(buf.len, 0);
	rows.rows_n = PL_MSG_ROWS_MAX;
	assert_int_equal(pl_msg_rows_print(&buf, 1, &rows), 0);
	pl_buf_consume(&buf, buf.len);
	rows.rows_n++;
	assert_int_equal(pl_msg_rows_print(&buf, 1, &rows), -EPROTO);
	assert_int_equal(buf.len, 0);
	pl_buf_fini(&buf);
	/* What arrives may say any number. */
	for (uint32_t n = PL_MSG_ROWS_MAX + 1; n && n > PL_MSG_ROWS_MAX; n = n << 1 | 1) {
		uint8_t bytes[4] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24) };

		assert_int_equal(pl_msg_rows_parse(bytes, sizeof bytes, &msg.rows), -EPROTO);
		if (n == UINT32_MAX)
			break;
	}
}

/* An error that is no failure, or has a reason that nobody knows, is no error. */
static void test_error_bounds(void **state)
{
	struct plimsoll_error error, back;
	struct pl_buf buf;

	(void)state;
	for (int reason = 0; reason <= PLIMSOLL_REASON_ENVIRONMENT + 2; reason++) {
		for (int i = -1; i <= 1; i++) {
			int want = reason <= PLIMSOLL_REASON_ENVIRONMENT && i < 0 ? 0 : -EPROTO;

			error = error_sample;
			error.reason = (enum plimsoll_reason)reason;
			error.code = i;
			pl_buf_init(&buf, 4096);
			assert_int_equal(pl_msg_error_print(&buf, 1, &error), want);
			if (!want)
				assert_int_equal(pl_msg_error_parse(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, buf.len - PL_MSG_HEADER_LEN, &back), 0);
			if (!want)
				assert_memory_equal(&back, &error, offsetof(struct plimsoll_error, step));
			pl_buf_fini(&buf);
		}
	}
	/* Texts that fill their arrays. */
	error = error_sample;
	memset(error.step, 's', sizeof error.step - 1);
	memset(error.fact, 'f', sizeof error.fact - 1);
	memset(error.message, 'm', sizeof error.message - 1);
	pl_buf_init(&buf, 4096);
	assert_int_equal(pl_msg_error_print(&buf, 1, &error), 0);
	assert_int_equal(pl_msg_error_parse(pl_buf_head(&buf) + PL_MSG_HEADER_LEN, buf.len - PL_MSG_HEADER_LEN, &back), 0);
	assert_string_equal(back.step, error.step);
	assert_string_equal(back.fact, error.fact);
	assert_string_equal(back.message, error.message);
	pl_buf_fini(&buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_header_every_bit),
		cmocka_unit_test(test_messages_without_payload),
		cmocka_unit_test(test_payload_limit),
		cmocka_unit_test(test_counts_over_the_limit),
		cmocka_unit_test(test_error_bounds),
	};

	return cmocka_run_group_tests_name("msg", tests, NULL, NULL);
}
