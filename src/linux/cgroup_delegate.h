/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_delegate: what it takes on v2 to have controllers in groups below one's own. Used by cgroup_find.c only. */
#ifndef PL_LINUX_CGROUP_DELEGATE_H
#define PL_LINUX_CGROUP_DELEGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PL_CGROUP_WHY_LEN 256

struct pl_cgroup_place {
	int dir_fd;
	const char *dir;  /* where it is mounted */
	const char *path; /* as /proc/self/cgroup calls it */
};

struct pl_cgroup_delegation {
	int dir_fd;       /* the group to make groups in: the place, or the one above if the place is a supervisor's leaf */
	bool leaf;        /* this process is in a plimsoll-supervisor leaf below it */
	unsigned missing; /* wanted controllers, as bits, that the group above does not pass on */
};

/* Enables the wanted controllers (bits of enum pl_cgroup_controller) for groups below our own, as far as they are to be had; why
 * says what stood in the way. Moves this process and those in ours into a leaf if that is needed.
 * -EAGAIN: another supervisor has moved this process meanwhile; place->dir_fd is closed. Otherwise 0, and ret->dir_fd is
 * the caller's in place of place->dir_fd. */
int pl_cgroup_delegate(const struct pl_cgroup_place *place, unsigned wanted, const pid_t *ours, size_t ours_n,
		       struct pl_cgroup_delegation *ret, char why[PL_CGROUP_WHY_LEN]);
/* If no other supervisor needs it: disables the controllers, brings everybody back from the leaves and removes these. */
void pl_cgroup_undelegate(int dir_fd);

#endif
