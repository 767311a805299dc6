/* SPDX-License-Identifier: Apache-2.0 */
/* Filling an error: nothing of an earlier one is left, and what is too long is cut, not written beyond. */
#include "unit/unit.h"

#include "contract/error.h"

static void test_fills_all(void **state)
{
	struct plimsoll_error error;

	(void)state;
	memset(&error, 0xff, sizeof error);
	assert_int_equal(pl_error(&error, -1001, PLIMSOLL_REASON_REQUEST, "a step", "%s is %d", "it", 7), -1001);
	assert_int_equal(error.code, -1001);
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	assert_string_equal(error.step, "a step");
	assert_string_equal(error.fact, "");
	assert_string_equal(error.message, "it is 7");
	for (size_t i = sizeof "it is 7"; i < sizeof error.message; i++)
		assert_int_equal(error.message[i], 0);
}

static void test_nobody_asks(void **state)
{
	(void)state;
	assert_int_equal(pl_error(NULL, -5, PLIMSOLL_REASON_NONE, "s", "m"), -5);
}

static void test_long_texts_are_cut(void **state)
{
	struct plimsoll_error error;
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	pl_error(&error, -5, PLIMSOLL_REASON_NONE, text, "%s", text);
	assert_int_equal(strlen(error.step), sizeof error.step - 1);
	assert_int_equal(strlen(error.message), sizeof error.message - 1);
	assert_string_equal(error.fact, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills_all),
		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_long_texts_are_cut),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
