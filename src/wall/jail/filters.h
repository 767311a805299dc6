/* SPDX-License-Identifier: Apache-2.0 */
/* filters: which system calls the processes inside a jail may make, as data with a reason a row. Everything that is not listed
 * fails with EPERM; a call of another architecture (x32 too) kills the process.
 *
 * The supervisor compiles the lists once at its start and hands the result to plimsoll-launch with every plan. A worker of the
 * process wall puts a smaller list of its own on top of the zygote's (worker/filter.c), since it forks and cannot be told. */
#ifndef PL_WALL_JAIL_FILTERS_H
#define PL_WALL_JAIL_FILTERS_H

#include "linux/seccomp.h"
#include "wire/jail.h"

extern const struct pl_seccomp_list pl_guest_calls;  /* plimsoll-guest, from before its exec to its end */
extern const struct pl_seccomp_list pl_zygote_calls; /* plimsoll-worker, likewise, and what a worker does to confine itself */
extern const struct pl_seccomp_list pl_vmm_calls;    /* plimsoll-vmm, until it loads its own smaller filter */
extern const struct pl_seccomp_list pl_init_calls;   /* plimsoll-launch as it waits */

struct pl_jail_filters {
	struct pl_jail_filter guest, zygote, init, vmm;
};

/* 0, or -errno: libseccomp refused a row, or a list became too long for a plan. */
int pl_jail_filters_compile(struct pl_jail_filters *ret);

#endif
