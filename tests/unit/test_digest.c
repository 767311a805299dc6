/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 in the shapes that are used, against the examples of FIPS 180-4. */
#include "unit/unit.h"

#include "base/digest.h"

static void end(struct pl_digest *digest, char ret[PL_SHA256_HEX_SIZE])
{
	uint8_t bytes[PL_SHA256_LEN];

	pl_digest_end(digest, bytes);
	pl_hex(bytes, sizeof bytes, ret);
}

static void test_examples(void **state)
{
	static const struct {
		const char *text, *hex;
	} cases[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[PL_SHA256_HEX_SIZE];
	struct pl_digest digest;

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		pl_digest_init(&digest);
		pl_digest_bytes(&digest, cases[i].text, strlen(cases[i].text));
		end(&digest, hex);
		assert_string_equal(hex, cases[i].hex);
	}
}

/* Texts carry their NUL, so that "ab", "c" is not "a", "bc". */
static void test_texts_keep_apart(void **state)
{
	char one[PL_SHA256_HEX_SIZE], two[PL_SHA256_HEX_SIZE], three[PL_SHA256_HEX_SIZE];
	struct pl_digest digest;

	(void)state;
	pl_digest_init(&digest);
	pl_digest_text(&digest, "ab");
	pl_digest_text(&digest, "c");
	end(&digest, one);
	pl_digest_init(&digest);
	pl_digest_text(&digest, "a");
	pl_digest_text(&digest, "bc");
	end(&digest, two);
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, "ab\0c\0", 5);
	end(&digest, three);
	assert_string_not_equal(one, two);
	assert_string_equal(one, three);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_texts_keep_apart),
	};

	return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
