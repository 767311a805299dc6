/* SPDX-License-Identifier: Apache-2.0 */
/* break: sabotage that does more than leave out a step. Test builds only; the sabotage tests start it by name through
 * linux/fault, one name a sandbox, and each breaks one fact that the supervisor measures. What a name does stands in the
 * table of break.c. Called by plimsoll-launch at its first instruction and after every step. */
#ifndef PL_LAUNCH_BREAK_H
#define PL_LAUNCH_BREAK_H

#include "wire/jail.h"

#include <stdbool.h>

/* Before the plan is read: execute the launcher again, from a copy. */
void pl_break_first(void);
/* Whether the sabotage in force leaves out this step as well. */
bool pl_break_skips(const char *step);
/* What is done after a step; 0 or -errno, which is reported as that step's failure. */
int pl_break_after(const char *step, const struct pl_jail_plan *plan);

#endif
