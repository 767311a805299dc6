/* SPDX-License-Identifier: Apache-2.0 */
/* The heap as our own code sees it: the countdown that makes one allocation fail, and products that overflow. */
#include "unit/unit.h"

#include "base/alloc.h"

static void test_only_the_nth_fails(void **state)
{
	(void)state;
	for (unsigned long n = 1; n <= 6; n++) {
		pl_alloc_fail(n);
		for (unsigned long i = 1; i <= 8; i++) {
			void *p = i % 3 == 0 ? pl_calloc(2, 3) : i % 3 == 1 ? pl_malloc(5) : pl_realloc(NULL, 7);

			assert_int_equal(p == NULL, i == n);
			assert_int_equal(pl_alloc_failed(), i >= n);
			pl_free(p);
		}
	}
	pl_alloc_fail(0);
	assert_false(pl_alloc_failed());
}

static void test_realloc_failure_keeps_the_old(void **state)
{
	char *p = pl_strndup("kept", 4);

	(void)state;
	assert_non_null(p);
	pl_alloc_fail(1);
	assert_null(pl_realloc(p, 100));
	pl_alloc_fail(0);
	assert_string_equal(p, "kept");
	pl_free(p);
}

static void test_sizes(void **state)
{
	volatile size_t half = SIZE_MAX / 2 + 2;
	char *p = pl_calloc(3, 4);
	void *nothing = pl_malloc(0);

	(void)state;
	assert_non_null(p);
	assert_non_null(nothing);
	for (int i = 0; i < 12; i++)
		assert_int_equal(p[i], 0);
	assert_null(pl_calloc(half, 2));
	pl_free(p);
	pl_free(nothing);
	pl_free(NULL);
}

static void test_strndup(void **state)
{
	char three[3] = { 'a', 'b', 'c' };
	char *p = pl_strndup(three, sizeof three);

	(void)state;
	assert_non_null(p);
	assert_string_equal(p, "abc");
	pl_free(p);
	p = pl_strndup("ab", 10);
	assert_non_null(p);
	assert_string_equal(p, "ab");
	pl_free(p);
	pl_alloc_fail(1);
	assert_null(pl_strndup("ab", 2));
	pl_alloc_fail(0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_nth_fails),
		cmocka_unit_test(test_realloc_failure_keeps_the_old),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_strndup),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
