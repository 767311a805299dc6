/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: groups that hold a sandbox's memory, number of tasks and processor time, on cgroup v2, v1 or both at once.
 *
 * Owned and called by the supervisor. Theory of operation:
 *
 * A *tree* is one mounted hierarchy in which the supervisor can make groups below its own. On v2 one tree has everything;
 * on v1 every controller has a tree; where v2 is mounted beside v1 without controllers, it still freezes and kills.
 * pl_cgroup_find looks for the trees once and says for each controller whether it is usable, and if not, why.
 * A *group* is one directory of one name in each tree, made for one sandbox and never used again (making and removing all
 * of them takes a fifth of a millisecond, and a fresh one owes nothing to the sandbox before it).
 *
 * A process enters a group without the kernel's global lock for moving processes: on v2 it is born there (CLONE_INTO_CGROUP
 * with pl_cgroup_clone_fd), on v1 it writes "0" to the descriptors of pl_cgroup_join_fds right after clone, before it has
 * any memory or descendant of its own.
 *
 * On v2 the controllers can be had only if nothing but the supervisor, and processes that agreed to it, lives in the
 * supervisor's own group, and that group is delegated: then these processes are moved into a leaf below it,
 * "plimsoll-supervisor.PID.START". Groups are called "plimsoll.PID.START.SERIAL" after the supervisor's pid and start time;
 * while it lives it holds a lock on each, so that pl_cgroup_sweep knows the groups that a killed supervisor left. */
#ifndef PL_LINUX_CGROUP_H
#define PL_LINUX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PL_CGROUP_TREE_MAX 4
#define PL_CGROUP_NAME_LEN 80
#define PL_CGROUP_TEXT_LEN 512
/* The period that every processor quota refers to, in microseconds. */
#define PL_CGROUP_CPU_PERIOD_US 100000u
/* What a pl_cgroup_get_* gives for "no limit". */
#define PL_CGROUP_UNLIMITED UINT64_MAX

#define PL_CGROUP_CONTROLLER_LIST(X)                                                                                   \
	X(MEMORY, "memory")                                                                                                \
	X(PIDS, "pids")                                                                                                    \
	X(CPU, "cpu")                                                                                                      \
	X(FREEZER, "freezer")

enum pl_cgroup_controller {
#define X(name, text) PL_CGROUP_##name,
	PL_CGROUP_CONTROLLER_LIST(X)
#undef X
	PL_CGROUP_CONTROLLER_N
};

const char *pl_cgroup_controller_name(enum pl_cgroup_controller controller);

struct pl_cgroup_tree {
	int version; /* 1 or 2 */
	int dir_fd;  /* the group in which ours are made */
	bool leaf;   /* v2: this process lives in a plimsoll-supervisor leaf of it, ours or another supervisor's */
};

struct pl_cgroup_found {
	int version; /* 1, 2; 0: the kernel offers it nowhere */
	bool usable;
	unsigned tree;                 /* if usable */
	char text[PL_CGROUP_TEXT_LEN]; /* for a person: what was found; if it is not usable, why, and what to do */
};

struct pl_cgroup_host {
	struct pl_cgroup_tree trees[PL_CGROUP_TREE_MAX];
	unsigned trees_n;
	struct pl_cgroup_found found[PL_CGROUP_CONTROLLER_N];
	char prefix[PL_CGROUP_NAME_LEN - 24]; /* "plimsoll.PID.START." */
	uint64_t serial;
};

/* 0: not limited. */
struct pl_cgroup_limits {
	uint64_t memory_bytes; /* held as a whole number of pages, rounded down; swap is not to be had in addition */
	uint64_t pids;
	uint64_t cpu_us; /* processor time per PL_CGROUP_CPU_PERIOD_US, at least 1000 */
};

struct pl_cgroup {
	struct pl_cgroup_host *host;
	char name[PL_CGROUP_NAME_LEN];
	unsigned held; /* controllers whose limit was set and read back, as bits */
	bool swap_held; /* swap is limited too; if not, the kernel keeps no account of it */
	int dirs[PL_CGROUP_TREE_MAX];
	int tasks[PL_CGROUP_TREE_MAX]; /* v1: to enter */
	int memory, swap, peak, events, pids, cpu, cpu_period, freeze, frozen, kill;
};

/* Looks at what this process can use, and on v2 moves it and the processes in ours (those that agreed, as the command line
 * that started the supervisor) into a leaf where that is needed. Succeeds also if nothing is usable; found[].text says why.
 * *ret owns descriptors until pl_cgroup_host_close, which undoes the moving if no other supervisor depends on it. */
int pl_cgroup_find(struct pl_cgroup_host *ret, const pid_t *ours, size_t ours_n);
void pl_cgroup_host_close(struct pl_cgroup_host *host);

/* Removes what killed supervisors left beside our groups, killing what still lives in it. Takes at most about budget_ms; for
 * the start of the supervisor, since it waits. Returns how many directories are still there, or -errno. */
int pl_cgroup_sweep(struct pl_cgroup_host *host, unsigned budget_ms);

/* Makes a group with a directory in each tree, sets the limits for which there is a usable controller (held says which) and
 * reads each back: -EIO if the kernel then says something else. host must outlive the group. On failure nothing is left. */
int pl_cgroup_new(struct pl_cgroup_host *host, const struct pl_cgroup_limits *limits, struct pl_cgroup *ret);
/* Removes the directories. -EBUSY: tasks have not ended yet, call again later; any other result: the struct is done with. Never
 * waits. */
int pl_cgroup_close(struct pl_cgroup *group);

/* v2: the directory for CLONE_INTO_CGROUP, -1 if there is no v2 tree. Stays with the group. */
int pl_cgroup_clone_fd(const struct pl_cgroup *group);
/* v1: the descriptors with which a process enters; returns their number. They stay with the group. */
int pl_cgroup_join_fds(const struct pl_cgroup *group, int ret_fds[PL_CGROUP_TREE_MAX]);
/* Moves the calling thread. Only write(): for the child of a clone. */
int pl_cgroup_join_self(const int *fds, int n);

/* Set and read again what a group is limited to; the get functions read the kernel's word through descriptors held since
 * pl_cgroup_new. -EOPNOTSUPP: the controller is not usable. */
int pl_cgroup_set_memory(struct pl_cgroup *group, uint64_t bytes);
int pl_cgroup_set_pids(struct pl_cgroup *group, uint64_t n);
int pl_cgroup_set_cpu(struct pl_cgroup *group, uint64_t us);
int pl_cgroup_get_memory(const struct pl_cgroup *group, uint64_t *ret_bytes);
/* What may be swapped out on top of the memory limit: 0 is right. */
int pl_cgroup_get_swap(const struct pl_cgroup *group, uint64_t *ret_bytes);
int pl_cgroup_get_pids(const struct pl_cgroup *group, uint64_t *ret_n);
int pl_cgroup_get_cpu(const struct pl_cgroup *group, uint64_t *ret_us);
/* -EOPNOTSUPP also on a v2 kernel before 5.19. */
int pl_cgroup_memory_peak(const struct pl_cgroup *group, uint64_t *ret_bytes);
/* Tasks of this group that the kernel killed because memory ran out. */
int pl_cgroup_oom_kills(const struct pl_cgroup *group, uint64_t *ret_n);
/* The threads in this group's directory of the controller's tree; returns their number, which can be above max. */
int pl_cgroup_tasks(const struct pl_cgroup *group, enum pl_cgroup_controller controller, pid_t *ret_tids, int max);

/* Stops or continues all tasks. The kernel does so in its own time: pl_cgroup_frozen says 1 when all stand still, else 0. A
 * frozen task on v1 does not even die. */
int pl_cgroup_freeze(struct pl_cgroup *group, bool frozen);
int pl_cgroup_frozen(const struct pl_cgroup *group);
/* Kills every process in the group, and thaws it. */
int pl_cgroup_kill(struct pl_cgroup *group);

#endif
