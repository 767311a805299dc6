/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's pure parts: numbers with units, the guest's bytes as text and as base64, and the walk over flags. */
#include "cli/args.h"
#include "cli/text.h"
#include "cli/units.h"

#include "base/utf8.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} good[] = { { "1ms", 1 }, { "500ms", 500 }, { "2s", 2000 }, { "1m", 60000 }, { "0005s", 5000 } };
	static const char *const bad[] = { "", "5", "0ms", "0s", "s", "ms", "-1s", "+1s", " 1s", "1 s", "1.5s", "1S", "1h", "1sec",
					   "1ms ", "1mss", "1e3ms", "0x10s", "99999999999999999999s", "9223372036854775807m" };
	int64_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_null(units_duration_parse(good[i].text, &ms));
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ms = -7;
		if (!units_duration_parse(bad[i], &ms))
			fail_msg("\"%s\" is taken for %ld ms", bad[i], (long)ms);
		assert_int_equal(ms, -7);
	}
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "1B", 1 },        { "64K", 65536 },     { "64KiB", 65536 },          { "64M", 64 << 20 },
		     { "64MiB", 64 << 20 }, { "4G", 4ull << 30 }, { "4GiB", 4ull << 30 } };
	static const char *const bad[] = { "", "64", "0B", "0MiB", "64MB", "64kb", "64k", "64m", "64 MiB", "-1MiB", "1.5GiB", "MiB",
					   "64MiBx", "99999999999999999999B", "9999999999999GiB", "١B" };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_null(units_size_parse(good[i].text, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!units_size_parse(bad[i], &bytes))
			fail_msg("\"%s\" is taken for %lu bytes", bad[i], (unsigned long)bytes);
}

static void test_descriptors(void **state)
{
	static const char *const bad[] = { "", "-1", "+3", " 3", "3 ", "3x", "0x3", "2147483648", "99999999999999999999" };
	int fd;

	(void)state;
	assert_null(units_fd_parse("0", &fd));
	assert_int_equal(fd, 0);
	assert_null(units_fd_parse("2147483647", &fd));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_non_null(units_fd_parse(bad[i], &fd));
}

/* R stands for U+FFFD. The first are the examples of Unicode 15, tables 3-8 to 3-11. */
static void test_text(void **state)
{
#define R "\xef\xbf\xbd"
#define CASE(in, out) { in, sizeof(in) - 1, out, sizeof(out) - 1 }
	static const struct {
		const char *in;
		size_t in_len;
		const char *out;
		size_t out_len;
	} cases[] = {
		CASE("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82" "A", R R R R R R R R "A"),
		CASE("\xed\xa0\x80\xed\xbf\xbf\xed\xaf" "A", R R R R R R R R "A"),
		CASE("\xf4\x91\x92\x93\xff" "A\x80\xbf" "B", R R R R R "A" R R "B"),
		CASE("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf" "A", R R R R "A"),
		CASE("", ""),
		CASE("plain\n", "plain\n"),
		CASE("a\0b", "a\0b"),
		CASE("é€🐟", "é€🐟"),
		CASE("\xff\xff\xff\xff\n", R R R R "\n"), /* BR-004 */
		CASE("\xf0\x9f\x90", R),
		CASE("\xf4\x8f\xbf\xbf\xf4\x90", "\xf4\x8f\xbf\xbf" R R),
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t len;
		char *text = text_utf8((const uint8_t *)cases[i].in, cases[i].in_len, &len);

		assert_non_null(text);
		if (len != cases[i].out_len || memcmp(text, cases[i].out, len))
			fail_msg("case %zu is \"%s\"", i, text);
		free(text);
	}
}

/* Whatever the bytes, the text is UTF-8, and bytes that are UTF-8 are left alone. */
static void test_text_is_always_valid(void **state)
{
	uint8_t bytes[4];
	size_t len;

	(void)state;
	for (uint32_t n = 0; n < 1u << 20; n++) {
		uint32_t mixed = n * 2654435761u;
		char *text;

		/* High bytes are the interesting ones. */
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (uint8_t)(mixed >> (8 * i)) | (uint8_t)(i == 0 ? 0xc0 : 0x80);
		bytes[3] = (uint8_t)mixed;
		text = text_utf8(bytes, sizeof bytes, &len);
		assert_non_null(text);
		assert_true(pl_utf8_valid((uint8_t *)text, len));
		if (pl_utf8_valid(bytes, sizeof bytes))
			assert_memory_equal(text, bytes, sizeof bytes);
		else
			assert_non_null(strstr(text, R));
		free(text);
	}
}

/* RFC 4648, 10. */
static void test_base64(void **state)
{
	static const char *const cases[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" },
						{ "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
						{ "\xff\xfe\xfb\xef", "//777w==" } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = text_base64((const uint8_t *)cases[i][0], strlen(cases[i][0]));

		assert_string_equal(text, cases[i][1]);
		free(text);
	}
}

static const struct args_option options[] = { { "--floor", "TIER" }, { "--json", NULL }, { "-e", "CODE" }, { NULL, NULL } };

/* Walks a command line: "0=value 1 @operand", or "!" at what is wrong. */
static void args_expect(const char *expected, int argc, char **argv)
{
	struct args args = { .subcommand = "test", .options = options, .argc = argc, .argv = argv };
	char walk[256] = "";
	const char *value;
	int i = 0;

	while (i != ARGS_END && i != ARGS_BAD) {
		size_t len = strlen(walk);

		i = args_next(&args, &value);
		if (i >= 0)
			snprintf(walk + len, sizeof walk - len, "%d%s%s ", i, value ? "=" : "", value ? value : "");
		else if (i == ARGS_OPERAND)
			snprintf(walk + len, sizeof walk - len, "@%s ", value);
		else if (i == ARGS_BAD)
			snprintf(walk + len, sizeof walk - len, "!");
	}
	assert_string_equal(walk, expected);
}

#define ARGS(expected, ...) args_expect(expected, (int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *)), (char *[]){ __VA_ARGS__ })

static void test_args(void **state)
{
	int stderr_fd = dup(STDERR_FILENO), null_fd = open("/dev/null", O_WRONLY);

	(void)state;
	/* What is said about bad flags is looked at where the program is run. */
	dup2(null_fd, STDERR_FILENO);
	ARGS("0=vm @file 1 ", "--floor", "vm", "file", "--json");
	ARGS("0=vm 1 ", "--floor=vm", "--json");
	ARGS("0= ", "--floor=");
	ARGS("0=a=b ", "--floor=a=b");
	ARGS("2=-1 @- ", "-e", "-1", "-");
	ARGS("@--json @-e @-- ", "--", "--json", "-e", "--");
	ARGS("2=-- 1 ", "-e", "--", "--json");
	ARGS("1 1 ", "--json", "--json");
	ARGS("@ ", "");
	ARGS("0=a !", "--floor", "a", "--floor=b");
	ARGS("!", "--floor");
	ARGS("!", "--json=1");
	ARGS("!", "--flo", "vm");
	ARGS("!", "--jsonx");
	ARGS("!", "-e=1");
	ARGS("!", "-je");
	ARGS("!", "--=x");
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	close(null_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations), cmocka_unit_test(test_sizes),  cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_text),      cmocka_unit_test(test_text_is_always_valid),
		cmocka_unit_test(test_base64),    cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests_name("cli_pure", tests, NULL, NULL);
}
