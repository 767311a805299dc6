/* SPDX-License-Identifier: Apache-2.0 */
/* break: sabotage that does more than leave out a step; absent from every build but the test build. */
#ifndef PL_LAUNCH_BREAK_H
#define PL_LAUNCH_BREAK_H

#include "wire/jail.h"

#include <stdbool.h>

static inline void pl_break_first(void)
{
}

static inline bool pl_break_skips(const char *step)
{
	(void)step;
	return false;
}

static inline int pl_break_after(const char *step, const struct pl_jail_plan *plan)
{
	(void)step;
	(void)plan;
	return 0;
}

#endif
