/* SPDX-License-Identifier: Apache-2.0 */
/* Whether bytes are UTF-8, against a second opinion: a decoder that follows the definition (decode, then see that the number
 * needed that many bytes, is no surrogate and is not too large). */
#include "unit/unit.h"

#include "base/utf8.h"

static size_t lead_len(uint8_t lead)
{
	return lead < 0x80 ? 1 : (lead & 0xe0) == 0xc0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : (lead & 0xf8) == 0xf0 ? 4 : 0;
}

static int second_opinion(const uint8_t *bytes, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	for (size_t i = 0; i < len;) {
		size_t n = lead_len(bytes[i]);
		uint32_t point = n == 1 ? bytes[i] : bytes[i] & (0x7fu >> n);

		if (!n || n > len - i)
			return 0;
		for (size_t k = 1; k < n; k++) {
			if ((bytes[i + k] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (bytes[i + k] & 0x3f);
		}
		if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
			return 0;
		i += n;
	}
	return 1;
}

static void compare(const uint8_t *bytes, size_t len)
{
	if (pl_utf8_valid(bytes, len) != second_opinion(bytes, len))
		fail_msg("%02x %02x %02x %02x (%zu bytes)", bytes[0], len > 1 ? bytes[1] : 0, len > 2 ? bytes[2] : 0,
			 len > 3 ? bytes[3] : 0, len);
}

static void test_every_sequence_of_three(void **state)
{
	uint8_t *bytes = unit_copy("\0\0\0", 3), *two = unit_copy("\0\0", 2), *one = unit_copy("", 1);

	(void)state;
	for (unsigned n = 0; n < 1u << 24; n++) {
		bytes[0] = (uint8_t)(n >> 16);
		bytes[1] = (uint8_t)(n >> 8);
		bytes[2] = (uint8_t)n;
		compare(bytes, 3);
	}
	for (unsigned n = 0; n < 1u << 16; n++) {
		two[0] = (uint8_t)(n >> 8);
		two[1] = (uint8_t)n;
		compare(two, 2);
	}
	for (unsigned n = 0; n < 256; n++) {
		one[0] = (uint8_t)n;
		compare(one, 1);
	}
	free(bytes);
	free(two);
	free(one);
}

/* Four bytes at the edges of every range. */
static void test_four_bytes(void **state)
{
	static const uint8_t edges[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed,
					 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfe, 0xff };
	uint8_t *bytes = unit_copy("\0\0\0\0", 4);

	(void)state;
	for (unsigned lead = 0; lead < 256; lead++)
		for (size_t b = 0; b < N_OF(edges); b++)
			for (size_t c = 0; c < N_OF(edges); c++)
				for (size_t d = 0; d < N_OF(edges); d++) {
					bytes[0] = (uint8_t)lead;
					bytes[1] = edges[b];
					bytes[2] = edges[c];
					bytes[3] = edges[d];
					compare(bytes, 4);
				}
	free(bytes);
}

static void test_named_ones(void **state)
{
#define CASE(text, valid) { text, sizeof(text) - 1, valid }
	static const struct {
		const char *text;
		size_t len;
		int valid;
	} cases[] = {
		CASE("", 1),
		CASE("plain", 1),
		CASE("a\0b", 1),
		CASE("é€🐟", 1),
		CASE("\xf4\x8f\xbf\xbf", 1),     /* U+10FFFF */
		CASE("\xf4\x90\x80\x80", 0),     /* one more */
		CASE("\xed\xa0\x80", 0),         /* a surrogate */
		CASE("\xc0\xaf", 0),             /* "/" in two bytes */
		CASE("\xe0\x80\xaf", 0),
		CASE("\xf0\x80\x80\xaf", 0),
		CASE("\xef\xbb\xbfok", 1),       /* a byte order mark is UTF-8 */
		CASE("\xfe\xff\0a", 0),          /* UTF-16 is not */
		CASE("ok\x80", 0),
		CASE("caf\xe9", 0),              /* Latin-1 */
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		uint8_t *copy = unit_copy(cases[i].text, cases[i].len);

		if (pl_utf8_valid(copy, cases[i].len) != cases[i].valid)
			fail_msg("case %zu", i);
		free(copy);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sequence_of_three),
		cmocka_unit_test(test_four_bytes),
		cmocka_unit_test(test_named_ones),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
