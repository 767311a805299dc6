/* SPDX-License-Identifier: Apache-2.0 */
/* A line in a fixed array: it fits or says that it did not, and never runs over. */
#include "unit/unit.h"

#include "base/text.h"

static void test_fits_exactly(void **state)
{
	char array[6] = "";
	struct pl_text text = PL_TEXT(array);

	(void)state;
	pl_text_add(&text, "%s", "ab");
	pl_text_add(&text, "%d", 345);
	assert_false(text.full);
	assert_int_equal(text.len, 5);
	assert_string_equal(array, "ab345");
	pl_text_add(&text, "%s", "");
	assert_false(text.full);
	pl_text_add(&text, "x");
	assert_true(text.full);
	assert_string_equal(array, "ab345");
}

/* For every size of the array: what was written is the start of what was asked for, with a NUL, and no byte beyond. */
static void test_never_runs_over(void **state)
{
	static const char all[] = "one two three";

	(void)state;
	for (size_t size = 1; size < sizeof all + 3; size++) {
		char *array = malloc(size);
		struct pl_text text = { .chars = array, .size = size };
		size_t kept = size - 1 < sizeof all - 1 ? size - 1 : sizeof all - 1;

		assert_non_null(array);
		pl_text_add(&text, "%s ", "one");
		pl_text_add(&text, "%s ", "two");
		pl_text_add(&text, "%s", "three");
		assert_int_equal(text.full, size < sizeof all);
		assert_true(text.len < size);
		assert_int_equal(strlen(array), text.len);
		assert_memory_equal(array, all, text.len);
		if (!text.full)
			assert_int_equal(text.len, kept);
		free(array);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits_exactly),
		cmocka_unit_test(test_never_runs_over),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
