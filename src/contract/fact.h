/* SPDX-License-Identifier: Apache-2.0 */
/* fact: what is known about a sandbox, what it should be, and what follows from it.
 *
 * A profile is a wall's table of facts, written down before anything is measured. Measuring fills one struct pl_fact a row:
 * the value that was read, and the reference that the row's predicate speaks of (recorded before, or the request's limit).
 * pl_derive then compares every value with its reference and says which tier follows: a pure function, no I/O. */
#ifndef PL_CONTRACT_FACT_H
#define PL_CONTRACT_FACT_H

#include "plimsoll/plimsoll.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_FACTS_MAX 40u
#define PL_FACT_VALUE_SIZE 256u

enum pl_fact_source { PL_FACT_HOST, PL_FACT_RUNTIME, PL_FACT_GUEST };

/* How a value is compared with its reference. */
enum pl_predicate {
	PL_EQUAL,   /* the same text */
	PL_PRIVATE, /* a namespace: the reference's (init's), and none that is the supervisor's or another sandbox's */
	PL_STATED,  /* not compared: shown, and no tier rests on it */
};

/* What a fact may do during a run. */
enum pl_after {
	PL_AFTER_SAME,  /* read through init, which outlives the payload: must be the same */
	PL_AFTER_TASK,  /* read on the guest: the same, or gone with it */
	PL_AFTER_FIXED, /* cannot change once measured (a sealed image, a loaded filter); not read again */
};

struct pl_fact_spec {
	const char *name;
	enum pl_fact_source source;
	bool required;
	enum pl_predicate predicate;
	const char *expected; /* the predicate in words; symbolic, so that it is the same for every request and restart */
	enum pl_after after;
	bool hidden;          /* its value tells something about the host: callers see the verdict only */
};

struct pl_profile {
	const char *wall;
	enum plimsoll_tier tier;
	const struct pl_fact_spec *specs;
	size_t specs_n; /* at most PL_FACTS_MAX */
};

struct pl_fact {
	int error; /* 0: was read; else -errno, and then the value may say more */
	char value[PL_FACT_VALUE_SIZE];
	char reference[PL_FACT_VALUE_SIZE];
	const uint64_t *foreign; /* PL_PRIVATE: ids that it must not be; borrowed for the call */
	size_t foreign_n;
};

enum pl_verdict_kind { PL_VERDICT_MET, PL_VERDICT_UNREAD, PL_VERDICT_CONTRADICTED };

struct pl_verdict {
	enum pl_verdict_kind kind;
	size_t fact; /* the first that was not met */
};

/* The tier that the facts carry: the profile's own when every required fact is met; UNKNOWN when one could not be read, NONE
 * when one is contradicted (that counts first). facts holds profile->specs_n entries in the order of the specs. */
enum plimsoll_tier pl_derive(const struct pl_profile *profile, const struct pl_fact *facts, struct pl_verdict *ret);

/* The verdict on one fact. */
enum pl_verdict_kind pl_fact_judge(const struct pl_fact_spec *spec, const struct pl_fact *fact);

/* What became of a fact. gone: the guest had ended when the second reading was made. */
enum pl_change { PL_CHANGE_SAME, PL_CHANGE_GONE, PL_CHANGE_FIXED, PL_CHANGE_CHANGED };
enum pl_change pl_fact_compare(const struct pl_fact_spec *spec, const struct pl_fact *before, const struct pl_fact *after,
			       bool gone);

/* The first fact that changed, or specs_n: none did. ret_changes (specs_n entries) may be NULL. */
size_t pl_facts_compare(const struct pl_profile *profile, const struct pl_fact *before, const struct pl_fact *after,
			bool gone, enum pl_change *ret_changes);

/* 0, or PLIMSOLL_ERROR_ISOLATION: tier is not the wall's own, or below the request's or the operator's floor (UNKNOWN: no
 * floor). */
int pl_floor_compare(enum plimsoll_tier tier, enum plimsoll_tier wall_tier, enum plimsoll_tier request_floor,
		     enum plimsoll_tier operator_floor, struct plimsoll_error *error);

/* Fills *error for a verdict that is not MET: UNREAD is ENVIRONMENT, CONTRADICTED is ISOLATION. Names the fact, what was
 * found (unless hidden) and what was wanted. */
int pl_verdict_error(const struct pl_profile *profile, const struct pl_fact *facts, const struct pl_verdict *verdict,
		     struct plimsoll_error *error);

const char *pl_fact_source_name(enum pl_fact_source source);
const char *pl_change_name(enum pl_change change);

#endif
