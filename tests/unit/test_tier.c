/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tiers and reasons: every enumerator has one, they differ, and only the four floors can be parsed. */
#include "unit/unit.h"

#include "plimsoll/plimsoll.h"

static const struct {
	enum plimsoll_tier tier;
	const char *name;
	int floor;
} tiers[] = {
	{ PLIMSOLL_TIER_NONE, "none", 0 },           { PLIMSOLL_TIER_UNKNOWN, "unknown", 0 }, { PLIMSOLL_TIER_PROCESS, "process", 1 },
	{ PLIMSOLL_TIER_CONTAINER, "container", 1 }, { PLIMSOLL_TIER_KERNEL, "kernel", 1 },   { PLIMSOLL_TIER_VM, "vm", 1 },
};

static void test_tiers(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(tiers); i++) {
		enum plimsoll_tier tier = (enum plimsoll_tier)99;

		assert_string_equal(plimsoll_tier_name(tiers[i].tier), tiers[i].name);
		assert_int_equal(plimsoll_tier_parse(tiers[i].name, &tier), tiers[i].floor ? 0 : -EINVAL);
		assert_int_equal(tier, tiers[i].floor ? (int)tiers[i].tier : 99);
	}
}

/* The order of the enumerators is the order of strength. */
static void test_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < N_OF(tiers); i++)
		assert_true((int)tiers[i].tier > (int)tiers[i - 1].tier);
	assert_int_equal(PLIMSOLL_TIER_PROCESS, 1);
	assert_int_equal(PLIMSOLL_TIER_VM, 4);
}

static void test_other_texts_are_no_floor(void **state)
{
	static const char *const bad[] = { "", " ", "Process", "PROCESS", "process ", " process", "processs", "proces", "container,process",
					   "0", "1", "gvisor", "microvm", "docker", "auto", "process\n", "conta\xc3\xadner" };
	enum plimsoll_tier tier = (enum plimsoll_tier)99;

	(void)state;
	for (size_t i = 0; i < N_OF(bad); i++)
		if (plimsoll_tier_parse(bad[i], &tier) != -EINVAL || (int)tier != 99)
			fail_msg("\"%s\" is taken for a floor", bad[i]);
}

static void test_numbers_that_are_no_tier(void **state)
{
	(void)state;
	for (int n = -300; n < 300; n++)
		if (n < PLIMSOLL_TIER_NONE || n > PLIMSOLL_TIER_VM)
			assert_string_equal(plimsoll_tier_name((enum plimsoll_tier)n), "unknown");
	assert_string_equal(plimsoll_tier_name((enum plimsoll_tier)INT32_MIN), "unknown");
	assert_string_equal(plimsoll_tier_name((enum plimsoll_tier)INT32_MAX), "unknown");
}

static void test_reasons(void **state)
{
	static const char *const names[] = { "", "request", "permission", "protocol", "unsupported", "isolation", "capacity", "environment" };

	(void)state;
	assert_int_equal(N_OF(names), PLIMSOLL_REASON_ENVIRONMENT + 1);
	for (int i = 0; i < (int)N_OF(names); i++)
		assert_string_equal(plimsoll_reason_name((enum plimsoll_reason)i), names[i]);
	assert_string_equal(plimsoll_reason_name((enum plimsoll_reason)-1), "");
	assert_string_equal(plimsoll_reason_name((enum plimsoll_reason)N_OF(names)), "");
	assert_string_equal(plimsoll_reason_name((enum plimsoll_reason)INT32_MAX), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tiers),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_other_texts_are_no_floor),
		cmocka_unit_test(test_numbers_that_are_no_tier),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests_name("tier", tests, NULL, NULL);
}
