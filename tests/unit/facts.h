/* SPDX-License-Identifier: Apache-2.0 */
/* facts: makes the facts of a sandbox that meets a profile, and breaks them one by one. Shared by the tests of fact, gate and
 * the walls' own tables. */
#ifndef PL_TESTS_UNIT_FACTS_H
#define PL_TESTS_UNIT_FACTS_H

#include "unit/unit.h"

#include "contract/fact.h"

static const uint64_t facts_foreign[] = { 1, 4026531836u, 7 };

/* Facts that meet every predicate of profile. */
static inline void facts_meet(const struct pl_profile *profile, struct pl_fact *facts)
{
	memset(facts, 0, profile->specs_n * sizeof *facts);
	for (size_t i = 0; i < profile->specs_n; i++) {
		struct pl_fact *fact = &facts[i];

		if (profile->specs[i].predicate == PL_PRIVATE) {
			snprintf(fact->value, sizeof fact->value, "%zu", 4026532000u + i);
			fact->foreign = facts_foreign;
			fact->foreign_n = N_OF(facts_foreign);
		} else {
			snprintf(fact->value, sizeof fact->value, "value of %s", profile->specs[i].name);
		}
		if (profile->specs[i].predicate != PL_STATED)
			memcpy(fact->reference, fact->value, sizeof fact->value);
	}
}

/* The ways in which a fact can contradict its predicate; false: there are no more. */
static inline bool fact_contradict(const struct pl_fact_spec *spec, struct pl_fact *fact, unsigned way)
{
	bool ns = spec->predicate == PL_PRIVATE;
	size_t len = strlen(fact->value);

	switch (way) {
	case 0: /* another value */
		fact->value[len - 1] = fact->value[len - 1] == '9' ? '8' : '9';
		return true;
	case 1: /* nothing found */
		fact->value[0] = 0;
		return true;
	case 2: /* more than was wanted */
		snprintf(fact->value + len, sizeof fact->value - len, "0");
		return true;
	case 3: /* less */
		fact->value[len - 1] = 0;
		return true;
	case 4: /* nobody recorded a reference, and nothing was found either */
		fact->value[0] = fact->reference[0] = 0;
		return true;
	case 5: /* the case of a letter, or the supervisor's own namespace */
		if (ns)
			snprintf(fact->value, sizeof fact->value, "%llu", (unsigned long long)facts_foreign[1]);
		else
			fact->value[0] = 'V';
		if (ns)
			memcpy(fact->reference, fact->value, sizeof fact->value);
		return true;
	case 6: /* a namespace that another sandbox holds */
		if (ns)
			snprintf(fact->value, sizeof fact->value, "%llu", (unsigned long long)facts_foreign[N_OF(facts_foreign) - 1]);
		if (ns)
			memcpy(fact->reference, fact->value, sizeof fact->value);
		return ns;
	case 7: /* no number, although both sides agree */
		if (ns)
			snprintf(fact->value, sizeof fact->value, "4026532000x");
		if (ns)
			memcpy(fact->reference, fact->value, sizeof fact->value);
		return ns;
	default:
		return false;
	}
}

static const int facts_errors[] = { -ENOENT, -EACCES, -ESRCH, -EIO, -EPERM };

/* Breaks each fact of profile in every way and sees that the tier falls for the required ones, with that fact named, and that
 * nothing rests on the others. */
static inline void facts_break_each(const struct pl_profile *profile)
{
	static struct pl_fact facts[PL_FACTS_MAX];
	struct plimsoll_error error;
	struct pl_verdict verdict;

	facts_meet(profile, facts);
	assert_int_equal(pl_derive(profile, facts, &verdict), profile->tier);
	assert_int_equal(verdict.kind, PL_VERDICT_MET);
	for (size_t i = 0; i < profile->specs_n; i++) {
		const struct pl_fact_spec *spec = &profile->specs[i];

		for (size_t e = 0; e < N_OF(facts_errors); e++) {
			facts_meet(profile, facts);
			facts[i].error = facts_errors[e];
			assert_int_equal(pl_derive(profile, facts, &verdict), spec->required ? PLIMSOLL_TIER_UNKNOWN : (int)profile->tier);
			assert_int_equal(verdict.kind, spec->required ? PL_VERDICT_UNREAD : PL_VERDICT_MET);
			if (!spec->required)
				continue;
			assert_int_equal(verdict.fact, i);
			assert_int_equal(pl_verdict_error(profile, facts, &verdict, &error), PLIMSOLL_ERROR_ENVIRONMENT);
			assert_int_equal(error.reason, PLIMSOLL_REASON_ENVIRONMENT);
			assert_string_equal(error.fact, spec->name);
		}
		for (unsigned way = 0; facts_meet(profile, facts), fact_contradict(spec, &facts[i], way); way++) {
			if (pl_derive(profile, facts, &verdict) != (spec->required ? PLIMSOLL_TIER_NONE : profile->tier))
				fail_msg("%s broken in way %u: %s", spec->name, way, plimsoll_tier_name(pl_derive(profile, facts, &verdict)));
			assert_int_equal(verdict.kind, spec->required ? PL_VERDICT_CONTRADICTED : PL_VERDICT_MET);
			if (!spec->required)
				continue;
			assert_int_equal(verdict.fact, i);
			assert_int_equal(pl_verdict_error(profile, facts, &verdict, &error), PLIMSOLL_ERROR_ISOLATION);
			assert_int_equal(error.reason, PLIMSOLL_REASON_ISOLATION);
			assert_string_equal(error.fact, spec->name);
			assert_non_null(strstr(error.message, spec->name));
			if (spec->hidden && facts[i].value[0])
				assert_null(strstr(error.message, facts[i].value));
		}
	}
}

#endif
