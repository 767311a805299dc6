/* SPDX-License-Identifier: Apache-2.0 */
/* tier: names of tiers and reasons, and nothing else; part of the public API. */
#include "plimsoll/plimsoll.h"

#include <errno.h>
#include <string.h>

static const struct {
	enum plimsoll_tier tier;
	const char *name;
} tiers[] = {
	{ PLIMSOLL_TIER_NONE, "none" },     { PLIMSOLL_TIER_UNKNOWN, "unknown" }, { PLIMSOLL_TIER_PROCESS, "process" },
	{ PLIMSOLL_TIER_CONTAINER, "container" }, { PLIMSOLL_TIER_KERNEL, "kernel" },   { PLIMSOLL_TIER_VM, "vm" },
};

static const char *const reasons[] = {
	[PLIMSOLL_REASON_NONE] = "",
	[PLIMSOLL_REASON_REQUEST] = "request",
	[PLIMSOLL_REASON_PERMISSION] = "permission",
	[PLIMSOLL_REASON_PROTOCOL] = "protocol",
	[PLIMSOLL_REASON_UNSUPPORTED] = "unsupported",
	[PLIMSOLL_REASON_ISOLATION] = "isolation",
	[PLIMSOLL_REASON_CAPACITY] = "capacity",
	[PLIMSOLL_REASON_ENVIRONMENT] = "environment",
};

const char *plimsoll_tier_name(enum plimsoll_tier tier)
{
	for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
		if (tiers[i].tier == tier)
			return tiers[i].name;
	return "unknown";
}

int plimsoll_tier_parse(const char *text, enum plimsoll_tier *ret)
{
	for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
		if (tiers[i].tier >= PLIMSOLL_TIER_PROCESS && strcmp(tiers[i].name, text) == 0) {
			*ret = tiers[i].tier;
			return 0;
		}
	}
	return -EINVAL;
}

const char *plimsoll_reason_name(enum plimsoll_reason reason)
{
	if ((unsigned)reason >= sizeof reasons / sizeof *reasons)
		return "";
	return reasons[reason];
}
