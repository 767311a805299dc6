/* SPDX-License-Identifier: Apache-2.0 */
/* steps: a jail is built by a list of named steps, each one system call or a few; the first that fails names itself in the
 * report to the supervisor. In test builds linux/fault can leave out a step by its name, and launch/break can do something
 * after one; that is how the sabotage tests break one fact at a time. */
#ifndef PL_LAUNCH_STEPS_H
#define PL_LAUNCH_STEPS_H

#include "wire/jail.h"

#include <stddef.h>

struct pl_step {
	const char *name;
	int (*run)(const struct pl_jail_plan *plan); /* 0 or -errno */
};

/* Runs the steps in order; 0, or the -errno of the one that failed, whose name is then in *ret_name. */
int pl_steps_run(const struct pl_step *steps, size_t n, const struct pl_jail_plan *plan, const char **ret_name);

/* The jail's own steps, run by init before the guest is started; empty where there is no mount namespace. */
extern const struct pl_step pl_root_steps[];
extern const size_t pl_root_steps_n;
/* What the child does to itself before it executes the guest. */
extern const struct pl_step pl_guest_steps[];
extern const size_t pl_guest_steps_n;
/* What init does to itself once the guest is started. */
extern const struct pl_step pl_init_steps[];
extern const size_t pl_init_steps_n;

#endif
