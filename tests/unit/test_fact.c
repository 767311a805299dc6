/* SPDX-License-Identifier: Apache-2.0 */
/* Facts, what follows from them, and what may change: over a small profile in which every kind of row stands once required
 * and once not. The walls' own tables go through the same in test_walls. */
#include "unit/facts.h"

static const struct pl_fact_spec specs[] = {
	{ "a.equal", PL_FACT_HOST, true, PL_EQUAL, "equals the wanted", PL_AFTER_SAME, false },
	{ "b.private", PL_FACT_HOST, true, PL_PRIVATE, "private", PL_AFTER_SAME, true },
	{ "c.task", PL_FACT_HOST, true, PL_EQUAL, "equals the wanted", PL_AFTER_TASK, true },
	{ "d.fixed", PL_FACT_HOST, true, PL_EQUAL, "equals the wanted", PL_AFTER_FIXED, false },
	{ "e.equal", PL_FACT_GUEST, false, PL_EQUAL, "would be nice", PL_AFTER_SAME, false },
	{ "f.private", PL_FACT_GUEST, false, PL_PRIVATE, "would be nice", PL_AFTER_TASK, false },
	{ "g.stated", PL_FACT_GUEST, false, PL_STATED, "stated", PL_AFTER_FIXED, false },
};
static const struct pl_profile profile = { .wall = "test", .tier = PLIMSOLL_TIER_CONTAINER, .specs = specs, .specs_n = N_OF(specs) };

static void test_each_broken(void **state)
{
	(void)state;
	facts_break_each(&profile);
}

/* With several broken: a contradiction counts before an unread fact, wherever it stands; else the first. */
static void test_several_broken(void **state)
{
	static struct pl_fact facts[N_OF(specs)];
	struct pl_verdict verdict;

	(void)state;
	for (unsigned unread = 0; unread < 16; unread++) {
		for (unsigned wrong = 0; wrong < 16; wrong++) {
			unsigned bad = wrong & ~unread;
			enum plimsoll_tier want = bad ? PLIMSOLL_TIER_NONE : unread ? PLIMSOLL_TIER_UNKNOWN : PLIMSOLL_TIER_CONTAINER;

			facts_meet(&profile, facts);
			for (unsigned i = 0; i < 4; i++) {
				if (wrong & 1u << i)
					facts[i].value[0] = '!';
				if (unread & 1u << i)
					facts[i].error = -EACCES;
			}
			assert_int_equal(pl_derive(&profile, facts, &verdict), want);
			if (bad || unread)
				assert_int_equal(verdict.fact, __builtin_ctz(bad ? bad : unread));
		}
	}
}

/* Nothing can be derived from no facts at all but what a profile without required facts promises: there is none such. */
static void test_unread_value_is_not_trusted(void **state)
{
	struct pl_fact fact = { .error = -EIO, .value = "x", .reference = "x" };

	(void)state;
	assert_int_equal(pl_fact_judge(&specs[0], &fact), PL_VERDICT_UNREAD);
	fact.error = 0;
	assert_int_equal(pl_fact_judge(&specs[0], &fact), PL_VERDICT_MET);
}

static void test_private_without_foreign(void **state)
{
	struct pl_fact fact = { .value = "12", .reference = "12" };
	static const uint64_t twelve[] = { 11, 12 };

	(void)state;
	assert_int_equal(pl_fact_judge(&specs[1], &fact), PL_VERDICT_MET);
	fact.foreign = twelve;
	fact.foreign_n = 1;
	assert_int_equal(pl_fact_judge(&specs[1], &fact), PL_VERDICT_MET);
	fact.foreign_n = 2;
	assert_int_equal(pl_fact_judge(&specs[1], &fact), PL_VERDICT_CONTRADICTED);
}

/* --- after the run ----------------------------------------------------------------------------------------------------- */

static void test_compare(void **state)
{
	static const struct {
		enum pl_after after;
		bool gone, differs;
		enum pl_change want;
	} cases[] = {
		{ PL_AFTER_SAME, false, false, PL_CHANGE_SAME },  { PL_AFTER_SAME, false, true, PL_CHANGE_CHANGED },
		{ PL_AFTER_SAME, true, false, PL_CHANGE_SAME },   { PL_AFTER_SAME, true, true, PL_CHANGE_CHANGED },
		{ PL_AFTER_TASK, false, false, PL_CHANGE_SAME },  { PL_AFTER_TASK, false, true, PL_CHANGE_CHANGED },
		{ PL_AFTER_TASK, true, false, PL_CHANGE_GONE },   { PL_AFTER_TASK, true, true, PL_CHANGE_GONE },
		{ PL_AFTER_FIXED, false, true, PL_CHANGE_FIXED }, { PL_AFTER_FIXED, true, false, PL_CHANGE_FIXED },
	};

	(void)state;
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct pl_fact_spec spec = { .name = "x", .after = cases[i].after };
		struct pl_fact before = { .value = "1" }, after = { .value = "1" };

		if (cases[i].differs)
			after.value[0] = '2';
		assert_int_equal(pl_fact_compare(&spec, &before, &after, cases[i].gone), cases[i].want);
		/* To be unreadable afterwards is a change too, and so is to be readable only then. */
		after.value[0] = '1';
		after.error = cases[i].differs ? -ESRCH : 0;
		assert_int_equal(pl_fact_compare(&spec, &before, &after, cases[i].gone), cases[i].want);
		assert_int_equal(pl_fact_compare(&spec, &after, &before, cases[i].gone), cases[i].want);
	}
}

/* The first required fact that changed is named; one that is only stated may change. */
static void test_compare_all(void **state)
{
	static struct pl_fact before[N_OF(specs)], after[N_OF(specs)];
	enum pl_change changes[N_OF(specs)];

	(void)state;
	facts_meet(&profile, before);
	for (unsigned set = 0; set < 1u << N_OF(specs); set++) {
		for (int gone = 0; gone < 2; gone++) {
			size_t want = profile.specs_n;

			memcpy(after, before, sizeof before);
			for (size_t i = N_OF(specs); i-- > 0;) {
				bool counts = specs[i].after == PL_AFTER_SAME || (specs[i].after == PL_AFTER_TASK && !gone);

				if (!(set & 1u << i))
					continue;
				after[i].value[0] = '!';
				if (specs[i].required && counts)
					want = i;
			}
			assert_int_equal(pl_facts_compare(&profile, before, after, gone, changes), want);
			assert_int_equal(pl_facts_compare(&profile, before, after, gone, NULL), want);
			for (size_t i = 0; i < N_OF(specs); i++)
				assert_int_equal(changes[i], pl_fact_compare(&specs[i], &before[i], &after[i], gone));
		}
	}
}

/* --- floors ------------------------------------------------------------------------------------------------------------- */

/* Every tier against every wall and every pair of floors: passes exactly when it is the wall's own and below neither floor. */
static void test_floors(void **state)
{
	(void)state;
	for (int tier = -1; tier <= 4; tier++)
		for (int wall = 1; wall <= 4; wall++)
			for (int mine = 0; mine <= 4; mine++)
				for (int theirs = 0; theirs <= 4; theirs++) {
					struct plimsoll_error error = { .code = 0 };
					bool good = tier == wall && tier >= mine && tier >= theirs;
					int rc = pl_floor_compare((enum plimsoll_tier)tier, (enum plimsoll_tier)wall, (enum plimsoll_tier)mine,
								  (enum plimsoll_tier)theirs, &error);

					assert_int_equal(rc, good ? 0 : PLIMSOLL_ERROR_ISOLATION);
					if (good)
						continue;
					assert_int_equal(error.reason, PLIMSOLL_REASON_ISOLATION);
					assert_non_null(strstr(error.message, plimsoll_tier_name((enum plimsoll_tier)tier)));
					if (tier != wall)
						continue;
					assert_non_null(strstr(error.message, mine >= theirs ? "request's" : "operator's"));
					assert_non_null(strstr(error.message, plimsoll_tier_name((enum plimsoll_tier)(mine > theirs ? mine : theirs))));
				}
}

/* --- what is said --------------------------------------------------------------------------------------------------------- */

static void test_errors_say_enough(void **state)
{
	static struct pl_fact facts[N_OF(specs)];
	struct pl_verdict verdict = { .kind = PL_VERDICT_CONTRADICTED, .fact = 0 };
	struct plimsoll_error error;

	(void)state;
	facts_meet(&profile, facts);
	snprintf(facts[0].value, sizeof facts[0].value, "found-this");
	snprintf(facts[1].value, sizeof facts[1].value, "secret-of-the-host");
	pl_verdict_error(&profile, facts, &verdict, &error);
	assert_non_null(strstr(error.message, "found-this"));
	assert_non_null(strstr(error.message, "equals the wanted"));
	assert_non_null(strstr(error.message, "test wall"));
	verdict.fact = 1;
	pl_verdict_error(&profile, facts, &verdict, &error);
	assert_null(strstr(error.message, "secret-of-the-host"));
	verdict = (struct pl_verdict){ .kind = PL_VERDICT_UNREAD, .fact = 3 };
	facts[3].error = -EACCES;
	pl_verdict_error(&profile, facts, &verdict, &error);
	assert_non_null(strstr(error.message, strerror(EACCES)));
	assert_string_equal(error.fact, "d.fixed");
	assert_int_equal(pl_verdict_error(&profile, facts, &verdict, NULL), PLIMSOLL_ERROR_ENVIRONMENT);
}

static void test_names(void **state)
{
	static const char *const sources[] = { "host", "runtime", "guest" }, *const changes[] = { "same", "gone", "fixed", "changed" };

	(void)state;
	for (int i = PL_FACT_HOST; i <= PL_FACT_GUEST; i++)
		assert_string_equal(pl_fact_source_name((enum pl_fact_source)i), sources[i]);
	for (int i = PL_CHANGE_SAME; i <= PL_CHANGE_CHANGED; i++)
		assert_string_equal(pl_change_name((enum pl_change)i), changes[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_broken),
		cmocka_unit_test(test_several_broken),
		cmocka_unit_test(test_unread_value_is_not_trusted),
		cmocka_unit_test(test_private_without_foreign),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_compare_all),
		cmocka_unit_test(test_floors),
		cmocka_unit_test(test_errors_say_enough),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("fact", tests, NULL, NULL);
}
