/* SPDX-License-Identifier: Apache-2.0 */
/* What a request and a context may ask for: each bound at its last good value and one past it, and that every message names
 * the input, what was found and the right form. The figures stand here as numbers, so that a changed constant is seen. */
#include "unit/unit.h"

#include "contract/limits.h"

static struct pl_msg_run request(void)
{
	return (struct pl_msg_run){ .code = (const uint8_t *)"1", .code_len = 1, .name = "", .floor = "", .wall = "" };
}

static void passes(const struct pl_msg_run *run)
{
	struct plimsoll_error error = { .message = "" };

	if (pl_request_check(run, &error) != 0)
		fail_msg("refused: %s", error.message);
}

/* words: comma-free pieces separated by '|', each of which the message must hold. */
static void message_holds(const struct plimsoll_error *error, const char *words)
{
	char piece[64];

	for (const char *at = words; *at;) {
		size_t len = strcspn(at, "|");

		assert_true(len < sizeof piece);
		memcpy(piece, at, len);
		piece[len] = 0;
		if (!strstr(error->message, piece))
			fail_msg("\"%s\" does not say \"%s\"", error->message, piece);
		at += len + (at[len] == '|');
	}
	assert_null(strchr(error->message, '\n'));
}

static void refused(const struct pl_msg_run *run, const char *words)
{
	struct plimsoll_error error;

	memset(&error, 0xff, sizeof error);
	if (pl_request_check(run, &error) != PLIMSOLL_ERROR_INVALID)
		fail_msg("taken, and should say \"%s\"", words);
	assert_int_equal(error.code, PLIMSOLL_ERROR_INVALID);
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	assert_string_equal(error.fact, "");
	message_holds(&error, words);
}

static void test_code(void **state)
{
	struct pl_msg_run run = request();
	uint8_t *big = malloc(262145);

	(void)state;
	assert_non_null(big);
	memset(big, ' ', 262145);
	passes(&run);
	run.code_len = 0;
	refused(&run, "code is empty|1 to 262144 bytes");
	run.code = big;
	run.code_len = 262144;
	passes(&run);
	run.code_len = 262145;
	refused(&run, "code is 262145 bytes|262144 bytes|256 KiB");
	for (size_t at = 0; at < 3; at++) {
		uint8_t three[3] = { 'a', 'b', 'c' };
		char words[64];

		three[at] = 0;
		run.code = three;
		run.code_len = 3;
		snprintf(words, sizeof words, "code holds a NUL byte at offset %zu|\\0", at);
		refused(&run, words);
		three[at] = 0xe9;
		refused(&run, "code is not valid UTF-8|UTF-8");
	}
	run.code = (const uint8_t *)"\xed\xa0\x80";
	refused(&run, "code is not valid UTF-8");
	run.code = (const uint8_t *)"\xc3\xa9 ";
	passes(&run);
	free(big);
}

static void test_name(void **state)
{
	struct pl_msg_run run = request();
	char name[300];

	(void)state;
	run.name = name;
	for (size_t len = 0; len <= 260; len++) {
		memset(name, 'n', len);
		name[len] = 0;
		if (len <= 255)
			passes(&run);
		else
			refused(&run, "name is|at most 255");
	}
	for (unsigned byte = 1; byte < 256; byte++) {
		snprintf(name, sizeof name, "ab%c", (int)byte);
		if (byte >= 0x20 && byte <= 0x7e)
			passes(&run);
		else
			refused(&run, "name holds|printable ASCII|offset 2");
	}
}

static void test_floor_and_source(void **state)
{
	static const char *const good[] = { "", "process", "container", "kernel", "vm" };
	static const char *const bad[] = { "none", "unknown", "Process", "process ", "strong", "1", "\xff" };
	struct pl_msg_run run = request();

	(void)state;
	for (size_t i = 0; i < N_OF(good); i++) {
		run.floor = good[i];
		passes(&run);
	}
	for (size_t i = 0; i < N_OF(bad); i++) {
		char words[100];

		snprintf(words, sizeof words, "floor \"%s\"|process, container, kernel and vm", bad[i]);
		run.floor = bad[i];
		refused(&run, words);
	}
	run.floor = "";
	for (uint32_t source = 0; source < 3; source++) {
		run.source = source;
		passes(&run);
	}
	run.source = 3;
	refused(&run, "source 3|0 is auto, 1 script, 2 module");
	run.source = UINT32_MAX;
	refused(&run, "source 4294967295");
}

static void test_timeout(void **state)
{
	static const int64_t good[] = { 0, 1, 5000, 30000, 300000, 300001, INT64_MAX };
	struct pl_msg_run run = request();

	(void)state;
	for (size_t i = 0; i < N_OF(good); i++) {
		run.timeout_ms = good[i];
		passes(&run);
	}
	run.timeout_ms = -1;
	refused(&run, "timeout is -1 ms|0 for the default (5000 ms)");
	run.timeout_ms = INT64_MIN;
	refused(&run, "timeout is -9223372036854775808 ms");
}

static void test_memory(void **state)
{
	static const uint64_t good[] = { 0, 16777216, 16777217, 268435456, 4294967296 };
	static const uint64_t bad[] = { 1, 16777215, 4294967297, UINT64_MAX };
	struct pl_msg_run run = request();

	(void)state;
	for (size_t i = 0; i < N_OF(good); i++) {
		run.memory_bytes = good[i];
		passes(&run);
	}
	for (size_t i = 0; i < N_OF(bad); i++) {
		char words[100];

		snprintf(words, sizeof words, "memory is %llu bytes|256 MiB|16 MiB to 4 GiB", (unsigned long long)bad[i]);
		run.memory_bytes = bad[i];
		refused(&run, words);
	}
}

static void test_output(void **state)
{
	struct pl_msg_run run = request();

	(void)state;
	run.stdout_max_bytes = run.stderr_max_bytes = 8388608;
	passes(&run);
	run.stdout_max_bytes = 8388609;
	refused(&run, "stdout limit is 8388609 bytes|8388608|8 MiB");
	run.stdout_max_bytes = 1;
	run.stderr_max_bytes = UINT64_MAX;
	refused(&run, "stderr limit is 18446744073709551615 bytes|8388608|8 MiB");
}

/* --- the limits of one run ------------------------------------------------------------------------------------------------ */

static struct pl_msg_open options(void)
{
	return (struct pl_msg_open){ .build_id = "", .walls = "", .floor = "" };
}

static struct pl_settings settings(void)
{
	struct pl_msg_open open = options();
	struct pl_settings s;

	assert_int_equal(pl_settings_check(&open, &s, NULL), 0);
	return s;
}

static void test_defaults(void **state)
{
	struct pl_msg_run run = request();
	struct pl_settings s = settings();
	struct pl_limits limits;

	(void)state;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, NULL), 0);
	assert_int_equal(limits.timeout_ms, 5000);
	assert_int_equal(limits.memory_bytes, 268435456);
	assert_int_equal(limits.stdout_max_bytes, 65536);
	assert_int_equal(limits.stderr_max_bytes, 65536);
	assert_int_equal(limits.cpu_seconds, 7);
}

/* A timeout is clamped to the ceiling and never wraps; processor time follows it, in whole seconds, and two. */
static void test_clamping(void **state)
{
	static const struct {
		int64_t asked, given;
		uint64_t cpu;
	} cases[] = { { 1, 1, 3 },           { 999, 999, 3 },        { 1000, 1000, 3 },      { 1001, 1001, 4 },
		      { 29999, 29999, 32 },  { 30000, 30000, 32 },   { 30001, 30000, 32 },   { INT64_MAX, 30000, 32 } };
	struct pl_msg_run run = request();
	struct pl_settings s = settings();
	struct pl_limits limits;

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		run.timeout_ms = cases[i].asked;
		assert_int_equal(pl_limits_fill(&run, &s, &limits, NULL), 0);
		assert_true(limits.timeout_ms == cases[i].given);
		assert_int_equal(limits.cpu_seconds, cases[i].cpu);
	}
	s.timeout_max_ms = 300000;
	run.timeout_ms = 299999;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, NULL), 0);
	assert_int_equal(limits.timeout_ms, 299999);
	s.timeout_max_ms = 200;
	run.timeout_ms = 0;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, NULL), 0);
	assert_int_equal(limits.timeout_ms, 200);
}

/* The context's maximum refuses, and a limit is a whole number of pages. */
static void test_memory_of_the_context(void **state)
{
	struct pl_msg_run run = request();
	struct pl_settings s = settings();
	struct plimsoll_error error;
	struct pl_limits limits = { .memory_bytes = 9 };

	(void)state;
	s.memory_max_bytes = 20 << 20;
	run.memory_bytes = 20 << 20;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, &error), 0);
	assert_int_equal(limits.memory_bytes, 20 << 20);
	limits.memory_bytes = 9;
	run.memory_bytes = (20 << 20) + 1;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, &error), PLIMSOLL_ERROR_INVALID);
	message_holds(&error, "memory is 20971521 bytes|maximum is 20971520");
	run.memory_bytes = 0;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, &error), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(limits.memory_bytes, 9); /* outputs are written on success only */
	run.memory_bytes = (18 << 20) + 4097;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, &error), 0);
	assert_int_equal(limits.memory_bytes, (18 << 20) + 4096);
}

static void test_output_of_the_run(void **state)
{
	struct pl_msg_run run = request();
	struct pl_settings s = settings();
	struct pl_limits limits;

	(void)state;
	run.stdout_max_bytes = 1;
	run.stderr_max_bytes = 8388608;
	assert_int_equal(pl_limits_fill(&run, &s, &limits, NULL), 0);
	assert_int_equal(limits.stdout_max_bytes, 1);
	assert_int_equal(limits.stderr_max_bytes, 8388608);
}

/* --- the context ----------------------------------------------------------------------------------------------------------- */

static void test_settings_defaults(void **state)
{
	struct pl_settings s = settings();

	(void)state;
	assert_int_equal(s.floor, PLIMSOLL_TIER_UNKNOWN);
	assert_int_equal(s.pool, 0);
	assert_int_equal(s.runs_max, 16);
	assert_int_equal(s.id_first, 1966080);
	assert_int_equal(s.id_first + s.id_count - 1, 1997999);
	assert_int_equal(s.memory_max_bytes, 4294967296);
	assert_int_equal(s.timeout_max_ms, 30000);
}

struct bound {
	const char *name;
	size_t offset, size;
	uint64_t low, high; /* the last good values; 0 for low: zero is the default */
};

static void option_put(struct pl_msg_open *open, const struct bound *bound, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	memcpy((char *)open + bound->offset, bound->size == 4 ? (void *)&narrow : (void *)&value, bound->size);
}

static void option_try(const struct bound *bound, uint64_t value, bool good)
{
	struct pl_settings s = { .pool = 77 };
	struct pl_msg_open open = options();
	struct plimsoll_error error;
	int rc;

	if (bound->size == 4 && value > UINT32_MAX)
		return;
	option_put(&open, bound, value);
	rc = pl_settings_check(&open, &s, &error);
	if (rc != (good ? 0 : PLIMSOLL_ERROR_INVALID))
		fail_msg("%s = %llu: %d", bound->name, (unsigned long long)value, rc);
	if (good)
		return;
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	message_holds(&error, bound->name);
	assert_int_equal(s.pool, 77);
}

#define BOUND(field, low, high) { #field, offsetof(struct pl_msg_open, field), sizeof(((struct pl_msg_open *)0)->field), low, high }

static const struct bound bounds[] = {
	BOUND(pool, 0, 256),
	BOUND(runs_max, 0, 256),
	BOUND(id_first, 65536, UINT32_MAX - 65536u - 4),
	BOUND(id_count, 4, UINT32_MAX - 65536u - 1966080u),
	BOUND(memory_max_bytes, 16777216, 4294967296),
	BOUND(timeout_max_ms, 1, 300000),
};

static void test_settings_bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(bounds); i++) {
		const struct bound *bound = &bounds[i];

		option_try(bound, 0, true);
		if (bound->low > 1)
			option_try(bound, 1, false);
		if (bound->low > 1)
			option_try(bound, bound->low - 1, false);
		if (bound->low)
			option_try(bound, bound->low, true);
		/* So high a first id leaves no room for the default number of them. */
		if (strcmp(bound->name, "id_first") != 0)
			option_try(bound, bound->high, true);
		option_try(bound, bound->high + 1, false);
		option_try(bound, bound->size == 4 ? UINT32_MAX : UINT64_MAX, false);
	}
}

/* Ids end below the last 65536, whatever the first is. */
static void test_settings_ids(void **state)
{
	struct pl_msg_open open = options();
	struct plimsoll_error error;
	struct pl_settings s;

	(void)state;
	open.id_first = 4000000000u;
	open.id_count = UINT32_MAX - 65536u - 4000000000u;
	assert_int_equal(pl_settings_check(&open, &s, &error), 0);
	assert_int_equal(s.id_first, 4000000000u);
	open.id_count++;
	assert_int_equal(pl_settings_check(&open, &s, &error), PLIMSOLL_ERROR_INVALID);
	message_holds(&error, "id_count");
	open.id_first = UINT32_MAX - 65536u - 4;
	open.id_count = 4;
	assert_int_equal(pl_settings_check(&open, &s, &error), 0);
	for (unsigned more = 0; more < 6; more++) {
		open.id_first = UINT32_MAX - 65536u - more;
		open.id_count = 5;
		assert_int_equal(pl_settings_check(&open, &s, &error), more < 5 ? PLIMSOLL_ERROR_INVALID : 0);
		/* No sum may wrap. */
		open.id_count = open.id_first;
		assert_int_equal(pl_settings_check(&open, &s, &error), PLIMSOLL_ERROR_INVALID);
	}
}

static void test_settings_floor(void **state)
{
	static const char *const good[] = { "process", "container", "kernel", "vm" };
	struct pl_msg_open open = options();
	struct plimsoll_error error;
	struct pl_settings s;

	(void)state;
	for (size_t i = 0; i < N_OF(good); i++) {
		open.floor = good[i];
		assert_int_equal(pl_settings_check(&open, &s, &error), 0);
		assert_int_equal(s.floor, PLIMSOLL_TIER_PROCESS + (int)i);
	}
	open.floor = "none";
	assert_int_equal(pl_settings_check(&open, &s, &error), PLIMSOLL_ERROR_INVALID);
	message_holds(&error, "floor is \"none\"|process, container, kernel or vm");
}

/* All that is wrong is said at once. */
static void test_settings_all_at_once(void **state)
{
	struct pl_msg_open open = options();
	struct plimsoll_error error;
	struct pl_settings s;

	(void)state;
	open.floor = "x";
	open.pool = open.runs_max = 257;
	open.id_first = open.id_count = 1;
	open.memory_max_bytes = 1;
	open.timeout_max_ms = -1;
	assert_int_equal(pl_settings_check(&open, &s, &error), PLIMSOLL_ERROR_INVALID);
	message_holds(&error, "floor|pool is 257|runs_max is 257|id_first is 1|id_count is 1|memory_max_bytes is 1|timeout_max_ms");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_name),
		cmocka_unit_test(test_floor_and_source),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_clamping),
		cmocka_unit_test(test_memory_of_the_context),
		cmocka_unit_test(test_output_of_the_run),
		cmocka_unit_test(test_settings_defaults),
		cmocka_unit_test(test_settings_bounds),
		cmocka_unit_test(test_settings_ids),
		cmocka_unit_test(test_settings_floor),
		cmocka_unit_test(test_settings_all_at_once),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
