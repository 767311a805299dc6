/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a message's fields, in both directions: numbers at their edges, texts and bytes of every kind, and that one
 * error sticks. */
#include "unit/unit.h"

#include "base/alloc.h"
#include "wire/pack.h"

static void test_numbers(void **state)
{
	static const uint64_t values[] = { 0, 1, 0x7fffffff, 0x80000000, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < N_OF(values); i++) {
		uint32_t u32 = (uint32_t)values[i], u32_back = 9;
		int32_t i32 = (int32_t)u32, i32_back = 9;
		uint64_t u64 = values[i], u64_back = 9;
		int64_t i64 = (int64_t)u64, i64_back = 9;
		struct pl_buf buf;
		struct pl_pack out, in;

		pl_buf_init(&buf, 100);
		out = PL_PACK_PRINT(&buf);
		pl_pack_u32(&out, &u32);
		pl_pack_i32(&out, &i32);
		pl_pack_u64(&out, &u64);
		pl_pack_i64(&out, &i64);
		assert_int_equal(pl_pack_end(&out), 0);
		assert_int_equal(buf.len, 24);
		in = PL_PACK_PARSE(pl_buf_head(&buf), buf.len);
		pl_pack_u32(&in, &u32_back);
		pl_pack_i32(&in, &i32_back);
		pl_pack_u64(&in, &u64_back);
		assert_int_equal(pl_pack_end(&in), -EPROTO); /* something is left */
		pl_pack_i64(&in, &i64_back);
		assert_int_equal(pl_pack_end(&in), 0);
		assert_int_equal(u32, u32_back);
		assert_int_equal(i32, i32_back);
		assert_true(u64 == u64_back);
		assert_true(i64 == i64_back);
		pl_buf_fini(&buf);
	}
}

static void text_parse(const void *bytes, size_t len, int want)
{
	uint8_t *copy = unit_copy(bytes, len);
	struct pl_pack in = PL_PACK_PARSE(copy, len);
	const char *text = NULL;

	pl_pack_text(&in, &text);
	if (in.error)
		assert_null(text);
	assert_int_equal(pl_pack_end(&in), want);
	if (!want)
		assert_int_equal(strlen(text), len - 5);
	free(copy);
}

/* A text is its length, its characters and one NUL, at the end. */
static void test_texts(void **state)
{
	(void)state;
	text_parse("\1\0\0\0\0", 5, 0);
	text_parse("\3\0\0\0ab\0", 7, 0);
	text_parse("\0\0\0\0", 4, -EPROTO);            /* no NUL */
	text_parse("\2\0\0\0ab", 6, -EPROTO);
	text_parse("\3\0\0\0a\0\0", 7, -EPROTO);       /* two */
	text_parse("\3\0\0\0\0a\0", 7, -EPROTO);
	text_parse("\4\0\0\0ab\0", 7, -EPROTO);        /* longer than what is there */
	text_parse("\xff\xff\xff\xff" "ab\0", 7, -EPROTO);
	text_parse("\3\0\0\0ab\0x", 8, -EPROTO);       /* shorter */
	text_parse("\3\0\0", 3, -EPROTO);
	text_parse("", 0, -EPROTO);
}

static void test_null_prints_as_empty(void **state)
{
	const char *null = NULL, *text = NULL;
	struct pl_pack out, in;
	struct pl_buf buf;

	(void)state;
	pl_buf_init(&buf, 100);
	out = PL_PACK_PRINT(&buf);
	pl_pack_text(&out, &null);
	assert_int_equal(pl_pack_end(&out), 0);
	in = PL_PACK_PARSE(pl_buf_head(&buf), buf.len);
	pl_pack_text(&in, &text);
	assert_int_equal(pl_pack_end(&in), 0);
	assert_string_equal(text, "");
	pl_buf_fini(&buf);
}

/* The text borrows from the input, and an array takes what fits it with its NUL. */
static void test_arrays(void **state)
{
	(void)state;
	for (size_t len = 0; len < 12; len++) {
		uint8_t bytes[20] = { (uint8_t)(len + 1) };
		char array[9] = "unspoilt";
		struct pl_pack in = PL_PACK_PARSE(bytes, len + 5);

		memset(bytes + 4, 'x', len);
		pl_pack_array(&in, array, sizeof array - 1);
		assert_int_equal(pl_pack_end(&in), len < sizeof array - 1 ? 0 : -EPROTO);
		if (len < sizeof array - 1)
			assert_int_equal(strlen(array), len);
		else
			assert_string_equal(array, "unspoilt");
	}
}

static void test_bytes_borrow(void **state)
{
	uint8_t in_bytes[] = { 3, 0, 0, 0, 0, 1, 2 };
	struct pl_pack in = PL_PACK_PARSE(in_bytes, sizeof in_bytes);
	const uint8_t *bytes = NULL;
	size_t len = 77;

	(void)state;
	pl_pack_bytes(&in, &bytes, &len);
	assert_int_equal(pl_pack_end(&in), 0);
	assert_int_equal(len, 3);
	assert_ptr_equal(bytes, in_bytes + 4);
	for (size_t n = 0; n < sizeof in_bytes; n++) {
		in = PL_PACK_PARSE(in_bytes, n);
		len = 77;
		bytes = NULL;
		pl_pack_bytes(&in, &bytes, &len);
		assert_int_equal(pl_pack_end(&in), -EPROTO);
		assert_int_equal(len, 77);
		assert_null(bytes);
	}
}

/* After an error later fields are left alone, although their bytes would be there. */
static void test_error_sticks(void **state)
{
	uint8_t bytes[] = { 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 };
	struct pl_pack in = PL_PACK_PARSE(bytes, sizeof bytes);
	const char *text = NULL;
	uint32_t number = 42;
	struct pl_buf buf;
	struct pl_pack out;

	(void)state;
	pl_pack_text(&in, &text); /* needs nine bytes, has eight */
	pl_pack_u32(&in, &number);
	assert_int_equal(number, 42);
	assert_int_equal(pl_pack_end(&in), -EPROTO);

	pl_buf_init(&buf, 6);
	out = PL_PACK_PRINT(&buf);
	pl_pack_u32(&out, &number);
	pl_pack_u32(&out, &number);
	assert_int_equal(pl_pack_end(&out), -ENOBUFS);
	pl_buf_fini(&buf);

	pl_buf_init(&buf, 600);
	out = PL_PACK_PRINT(&buf);
	pl_alloc_fail(1);
	pl_pack_u32(&out, &number);
	pl_pack_u32(&out, &number);
	pl_alloc_fail(0);
	assert_int_equal(pl_pack_end(&out), -ENOMEM);
	pl_buf_fini(&buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_texts),        cmocka_unit_test(test_null_prints_as_empty),
		cmocka_unit_test(test_arrays),  cmocka_unit_test(test_bytes_borrow), cmocka_unit_test(test_error_sticks),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
