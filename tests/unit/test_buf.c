/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer: what it holds, its hard maximum, and that a failure changes nothing. */
#include "unit/unit.h"

#include "base/alloc.h"
#include "base/buf.h"

static void test_starts_empty(void **state)
{
	struct pl_buf buf;

	(void)state;
	pl_buf_init(&buf, 10);
	assert_int_equal(buf.len, 0);
	assert_int_equal(pl_buf_append(&buf, NULL, 0), 0);
	assert_int_equal(buf.len, 0);
	pl_buf_fini(&buf);
	assert_int_equal(buf.max, 10);
}

/* Everything up to the maximum, nothing over it, for appends of every size. */
static void test_maximum_is_hard(void **state)
{
	static const size_t maxima[] = { 0, 1, 2, 255, 256, 257, 1000, 4096 };
	uint8_t bytes[5000];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t m = 0; m < N_OF(maxima); m++) {
		for (size_t n = 0; n <= maxima[m] + 2; n++) {
			struct pl_buf buf;
			int want = n <= maxima[m] ? 0 : -ENOBUFS;

			pl_buf_init(&buf, maxima[m]);
			assert_int_equal(pl_buf_append(&buf, bytes, n), want);
			assert_int_equal(buf.len, want ? 0 : n);
			assert_true(buf.capacity <= maxima[m]);
			if (!want && n)
				assert_memory_equal(pl_buf_head(&buf), bytes, n);
			if (!want)
				assert_int_equal(pl_buf_append(&buf, bytes, maxima[m] - n + 1), -ENOBUFS);
			if (!want)
				assert_int_equal(pl_buf_append(&buf, bytes, maxima[m] - n), 0);
			pl_buf_fini(&buf);
		}
	}
}

static void test_sizes_that_overflow(void **state)
{
	struct pl_buf buf;

	(void)state;
	pl_buf_init(&buf, 100);
	assert_int_equal(pl_buf_append(&buf, "0123456789", 10), 0);
	assert_int_equal(pl_buf_append(&buf, "x", SIZE_MAX), -ENOBUFS);
	assert_int_equal(pl_buf_append(&buf, "x", SIZE_MAX - 9), -ENOBUFS);
	assert_null(pl_buf_reserve(&buf, SIZE_MAX));
	assert_null(pl_buf_reserve(&buf, SIZE_MAX - 5));
	assert_null(pl_buf_reserve(&buf, 91));
	assert_non_null(pl_buf_reserve(&buf, 90));
	assert_int_equal(buf.len, 10);
	assert_memory_equal(pl_buf_head(&buf), "0123456789", 10);
	pl_buf_fini(&buf);
}

static void test_no_memory_changes_nothing(void **state)
{
	struct pl_buf buf;
	uint8_t more[600] = { 0 };

	(void)state;
	pl_buf_init(&buf, 1000);
	pl_alloc_fail(1);
	assert_int_equal(pl_buf_append(&buf, "abc", 3), -ENOMEM);
	assert_true(pl_alloc_failed());
	assert_int_equal(buf.len, 0);
	assert_int_equal(pl_buf_append(&buf, "abc", 3), 0);
	pl_alloc_fail(1);
	assert_int_equal(pl_buf_append(&buf, more, sizeof more), -ENOMEM);
	pl_alloc_fail(1);
	assert_null(pl_buf_reserve(&buf, sizeof more));
	pl_alloc_fail(0);
	assert_int_equal(buf.len, 3);
	assert_memory_equal(pl_buf_head(&buf), "abc", 3);
	pl_buf_fini(&buf);
}

/* A long walk of appends, reserves and consumes beside a plain array that does the same. */
static void test_beside_a_model(void **state)
{
	enum { MAX = 700 };
	uint64_t seed = 88172645463325252ull;
	uint8_t model[MAX], bytes[64];
	size_t model_len = 0;
	struct pl_buf buf;

	(void)state;
	pl_buf_init(&buf, MAX);
	for (int step = 0; step < 200000; step++) {
		size_t n = unit_random(&seed) % sizeof bytes;
		unsigned what = unit_random(&seed) % 5;

		for (size_t i = 0; i < n; i++)
			bytes[i] = (uint8_t)unit_random(&seed);
		if (what < 3) {
			int want = model_len + n <= MAX ? 0 : -ENOBUFS;

			if (what < 2) {
				assert_int_equal(pl_buf_append(&buf, bytes, n), want);
			} else {
				uint8_t *to = pl_buf_reserve(&buf, n);

				assert_int_equal(!to, want != 0);
				if (to && n)
					memcpy(to, bytes, n);
				if (to)
					pl_buf_commit(&buf, n);
			}
			if (!want)
				memcpy(model + model_len, bytes, n);
			if (!want)
				model_len += n;
		} else {
			n = n < model_len ? n : model_len;
			if (what == 4 && unit_random(&seed) % 8 == 0)
				n = model_len;
			pl_buf_consume(&buf, n);
			memmove(model, model + n, model_len - n);
			model_len -= n;
		}
		assert_int_equal(buf.len, model_len);
		assert_true(buf.start + buf.len <= buf.capacity);
		if (model_len)
			assert_memory_equal(pl_buf_head(&buf), model, model_len);
	}
	pl_buf_fini(&buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_empty),
		cmocka_unit_test(test_maximum_is_hard),
		cmocka_unit_test(test_sizes_that_overflow),
		cmocka_unit_test(test_no_memory_changes_nothing),
		cmocka_unit_test(test_beside_a_model),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
