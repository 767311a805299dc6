/* SPDX-License-Identifier: Apache-2.0 */
/* evidence: see evidence.h. Pure. */
#include "contract/evidence.h"

#include "base/digest.h"

#include <stdio.h>
#include <string.h>

/* The order of the specs by name, as indices. Insertion sort: a profile has some thirty rows. */
static void order_by_name(const struct pl_profile *profile, size_t order[PL_FACTS_MAX])
{
	for (size_t i = 0; i < profile->specs_n; i++) {
		size_t k = i;

		for (; k > 0 && strcmp(profile->specs[order[k - 1]].name, profile->specs[i].name) > 0; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

static void reference_print(struct pl_digest *digest, const char *prefix, char *ret, size_t size)
{
	uint8_t bytes[PL_SHA256_LEN];
	char hex[PL_SHA256_HEX_SIZE];

	pl_digest_end(digest, bytes);
	pl_hex(bytes, sizeof bytes, hex);
	snprintf(ret, size, "%s:sha256:%s", prefix, hex);
}

void pl_policy_digest(const struct pl_profile *profile, char ret[PL_POLICY_SIZE])
{
	size_t order[PL_FACTS_MAX];
	struct pl_digest digest;

	order_by_name(profile, order);
	pl_digest_init(&digest);
	pl_digest_text(&digest, profile->wall);
	pl_digest_text(&digest, plimsoll_tier_name(profile->tier));
	for (size_t i = 0; i < profile->specs_n; i++) {
		const struct pl_fact_spec *spec = &profile->specs[order[i]];

		pl_digest_text(&digest, spec->name);
		pl_digest_text(&digest, pl_fact_source_name(spec->source));
		pl_digest_text(&digest, spec->required ? "required" : "stated");
		pl_digest_text(&digest, spec->expected);
	}
	reference_print(&digest, "plimsoll-profile", ret, PL_POLICY_SIZE);
}

void pl_evidence_digest(const struct pl_profile *profile, const struct pl_fact *facts, const uint8_t salt[PL_SALT_LEN],
			char ret[PL_INSTANCE_SIZE])
{
	size_t order[PL_FACTS_MAX];
	struct pl_digest all;

	order_by_name(profile, order);
	pl_digest_init(&all);
	for (size_t i = 0; i < profile->specs_n; i++) {
		uint8_t leaf_bytes[PL_SHA256_LEN];
		struct pl_digest leaf;

		pl_digest_init(&leaf);
		pl_digest_bytes(&leaf, salt, PL_SALT_LEN);
		pl_digest_text(&leaf, profile->specs[order[i]].name);
		pl_digest_bytes(&leaf, facts[order[i]].value, strlen(facts[order[i]].value));
		pl_digest_end(&leaf, leaf_bytes);
		pl_digest_bytes(&all, leaf_bytes, sizeof leaf_bytes);
	}
	reference_print(&all, "plimsoll-evidence", ret, PL_INSTANCE_SIZE);
}
