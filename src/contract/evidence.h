/* SPDX-License-Identifier: Apache-2.0 */
/* evidence: the two digests of a run. The policy names the profile: what was required of the sandbox. The instance names
 * the values that were measured on this one. */
#ifndef PL_CONTRACT_EVIDENCE_H
#define PL_CONTRACT_EVIDENCE_H

#include "contract/fact.h"

#define PL_POLICY_SIZE 96u   /* "plimsoll-profile:sha256:" and 64 hexadecimal digits */
#define PL_INSTANCE_SIZE 96u /* "plimsoll-evidence:sha256:" and 64 hexadecimal digits */
#define PL_SALT_LEN 32u

/* SHA-256 over wall, tier and, sorted by name, each fact's name, source, whether it is required, and its predicate in words;
 * each text with its NUL. */
void pl_policy_digest(const struct pl_profile *profile, char ret[PL_POLICY_SIZE]);

/* SHA-256 over the facts' leaves, sorted by name; a leaf is SHA-256(salt || name || 0 || value). The zero keeps name and
 * value apart. Whoever has the salt and one value can show that value alone. */
void pl_evidence_digest(const struct pl_profile *profile, const struct pl_fact *facts, const uint8_t salt[PL_SALT_LEN],
			char ret[PL_INSTANCE_SIZE]);

#endif
