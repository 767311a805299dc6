/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_dir: one cgroup directory, named by a descriptor; what cgroup.c, cgroup_find.c and cgroup_sweep.c share.
 * Nobody else includes this. */
#ifndef PL_LINUX_CGROUP_DIR_H
#define PL_LINUX_CGROUP_DIR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PL_CGROUP_GROUP_PREFIX "plimsoll."
#define PL_CGROUP_LEAF_PREFIX "plimsoll-supervisor."

/* Writes text to a file of the directory. */
int pl_cgroup_dir_write(int dir_fd, const char *file, const char *text);
/* The ids that a file of one id a line lists (cgroup.procs, tasks, cgroup.threads), without those that this pid namespace
 * does not show; returns how many there are, which can be above max.
 *
 * The file is opened anew each time: on v1 a held descriptor goes on giving the list that it gave before, for up to a second. */
int pl_cgroup_dir_ids(int dir_fd, const char *file, pid_t *ret_ids, int max);
/* Removes the empty directory name. -EBUSY: somebody lives there. Success also if it is not there. */
int pl_cgroup_dir_remove(int parent_fd, const char *name);
/* Calls visit with each directory in dir_fd whose name begins with prefix, until it returns something other than 0, which is then
 * returned. visit may remove the directory. */
int pl_cgroup_dir_each(int dir_fd, const char *prefix, int (*visit)(int dir_fd, const char *name, void *data), void *data);
/* Kills every process in the directory: by cgroup.kill where the kernel has it, else one by one. A v1 freezer is thawed. Does
 * not wait for their end. */
int pl_cgroup_dir_kill(int dir_fd);
/* The start time of a process in clock ticks since boot, field 22 of its stat file; pid "self" for our own.
 * -ENOENT, -ESRCH: there is no such process, or it has ended and was not yet waited for. */
int pl_cgroup_start_time(const char *pid, uint64_t *ret_ticks);

#endif
