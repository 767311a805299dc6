/* SPDX-License-Identifier: Apache-2.0 */
/* fact: comparing, deriving, and saying what was wrong; see fact.h. Pure. */
#include "contract/fact.h"

#include "contract/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool private_met(const struct pl_fact *fact)
{
	char *end;
	uint64_t id = strtoull(fact->value, &end, 10);

	if (!fact->value[0] || *end || strcmp(fact->value, fact->reference) != 0)
		return false;
	for (size_t i = 0; i < fact->foreign_n; i++)
		if (fact->foreign[i] == id)
			return false;
	return true;
}

enum pl_verdict_kind pl_fact_judge(const struct pl_fact_spec *spec, const struct pl_fact *fact)
{
	bool met = false;

	if (fact->error)
		return PL_VERDICT_UNREAD;
	switch (spec->predicate) {
	case PL_EQUAL:
		/* An empty reference is one that nobody recorded; nothing equals it. */
		met = fact->reference[0] && strcmp(fact->value, fact->reference) == 0;
		break;
	case PL_PRIVATE:
		met = private_met(fact);
		break;
	case PL_STATED:
		met = true;
		break;
	}
	return met ? PL_VERDICT_MET : PL_VERDICT_CONTRADICTED;
}

enum plimsoll_tier pl_derive(const struct pl_profile *profile, const struct pl_fact *facts, struct pl_verdict *ret)
{
	*ret = (struct pl_verdict){ .kind = PL_VERDICT_MET };
	for (size_t i = 0; i < profile->specs_n; i++) {
		enum pl_verdict_kind kind = pl_fact_judge(&profile->specs[i], &facts[i]);

		if (!profile->specs[i].required || kind <= ret->kind)
			continue;
		*ret = (struct pl_verdict){ .kind = kind, .fact = i };
	}
	if (ret->kind == PL_VERDICT_MET)
		return profile->tier;
	return ret->kind == PL_VERDICT_UNREAD ? PLIMSOLL_TIER_UNKNOWN : PLIMSOLL_TIER_NONE;
}

enum pl_change pl_fact_compare(const struct pl_fact_spec *spec, const struct pl_fact *before, const struct pl_fact *after,
			       bool gone)
{
	if (spec->after == PL_AFTER_FIXED)
		return PL_CHANGE_FIXED;
	if (spec->after == PL_AFTER_TASK && gone)
		return PL_CHANGE_GONE;
	if (before->error != after->error || strcmp(before->value, after->value) != 0)
		return PL_CHANGE_CHANGED;
	return PL_CHANGE_SAME;
}

size_t pl_facts_compare(const struct pl_profile *profile, const struct pl_fact *before, const struct pl_fact *after,
			bool gone, enum pl_change *ret_changes)
{
	size_t first = profile->specs_n;

	for (size_t i = 0; i < profile->specs_n; i++) {
		enum pl_change change = pl_fact_compare(&profile->specs[i], &before[i], &after[i], gone);

		if (change == PL_CHANGE_CHANGED && profile->specs[i].required && first == profile->specs_n)
			first = i;
		if (ret_changes)
			ret_changes[i] = change;
	}
	return first;
}

int pl_floor_compare(enum plimsoll_tier tier, enum plimsoll_tier wall_tier, enum plimsoll_tier request_floor,
		     enum plimsoll_tier operator_floor, struct plimsoll_error *error)
{
	enum plimsoll_tier floor = request_floor > operator_floor ? request_floor : operator_floor;

	if (tier != wall_tier || tier < PLIMSOLL_TIER_PROCESS)
		return pl_error(error, PLIMSOLL_ERROR_ISOLATION, PLIMSOLL_REASON_ISOLATION, "compare tier",
				"the sandbox measured as %s, its wall promises %s; nothing ran", plimsoll_tier_name(tier),
				plimsoll_tier_name(wall_tier));
	if (tier < floor)
		return pl_error(error, PLIMSOLL_ERROR_ISOLATION, PLIMSOLL_REASON_ISOLATION, "compare tier",
				"isolation is %s, the %s floor is %s; choose a stronger wall or a lower floor",
				plimsoll_tier_name(tier), request_floor >= operator_floor ? "request's" : "operator's",
				plimsoll_tier_name(floor));
	return 0;
}

int pl_verdict_error(const struct pl_profile *profile, const struct pl_fact *facts, const struct pl_verdict *verdict,
		     struct plimsoll_error *error)
{
	const struct pl_fact_spec *spec = &profile->specs[verdict->fact];
	const struct pl_fact *fact = &facts[verdict->fact];
	const char *value = spec->hidden ? "a value kept from callers" : fact->value;
	int rc;

	if (verdict->kind == PL_VERDICT_UNREAD)
		rc = pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "measure",
			      "fact %s of the %s wall could not be read (%s%s%s); wanted: %s; see plimsoll doctor", spec->name,
			      profile->wall, strerror(-fact->error), fact->value[0] ? ": " : "", fact->value[0] ? value : "", spec->expected);
	else
		rc = pl_error(error, PLIMSOLL_ERROR_ISOLATION, PLIMSOLL_REASON_ISOLATION, "measure",
			      "fact %s of the %s wall is contradicted: found %s; wanted: %s; see plimsoll doctor", spec->name,
			      profile->wall, value[0] ? value : "nothing", spec->expected);
	if (error)
		snprintf(error->fact, sizeof error->fact, "%s", spec->name);
	return rc;
}

const char *pl_fact_source_name(enum pl_fact_source source)
{
	static const char *const names[] = { [PL_FACT_HOST] = "host", [PL_FACT_RUNTIME] = "runtime", [PL_FACT_GUEST] = "guest" };

	return names[source];
}

const char *pl_change_name(enum pl_change change)
{
	static const char *const names[] = {
		[PL_CHANGE_SAME] = "same",
		[PL_CHANGE_GONE] = "gone",
		[PL_CHANGE_FIXED] = "fixed",
		[PL_CHANGE_CHANGED] = "changed",
	};

	return names[change];
}
