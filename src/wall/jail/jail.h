/* SPDX-License-Identifier: Apache-2.0 */
/* jail: one running plimsoll-launch and what it holds: namespaces made by our own clone3, ids, a cgroup, init and its child.
 * Used by the container wall (one jail a sandbox) and by the process wall (one jail for the zygote and its workers). */
#ifndef PL_WALL_JAIL_JAIL_H
#define PL_WALL_JAIL_JAIL_H

#include "wall/wall.h"
#include "wire/jail.h"

/* What kind of jail is wanted. Borrowed for the call. */
struct pl_jail_spec {
	const struct pl_image *image; /* the guest's program */
	const char *argv0;
	int stream_fd;                /* becomes the guest's descriptor 0 */
	int extra_fds[PL_LAUNCH_EXTRA_MAX]; /* become its descriptors PL_LAUNCH_EXTRA_FD and up */
	unsigned extra_n;
	uint64_t namespaces;          /* clone flags */
	bool may_go_without;          /* without namespaces, where they cannot be had (process wall) */
	uint64_t tmp_bytes;
	const struct pl_jail_filter *guest_filter, *init_filter;
	const struct pl_jail_rlimit *rlimits;
	uint32_t rlimit_n;
	const struct pl_cgroup_limits *cgroup_limits; /* NULL: no cgroup */
};

struct pl_jail {
	struct pl_wall_env *env;
	void *owner;
	/* A report came, or (report NULL) init has ended and was reaped. */
	void (*report)(struct pl_jail *jail, const struct pl_jail_report *report);
	struct pl_source control, exit; /* init's control socket; its pidfd */
	struct pl_proc init;            /* pinned at birth: the pidfd is clone3's own */
	bool reaped;
	uint64_t namespaces;            /* flags of those that were made */
	uint64_t ns[PL_NS_N];           /* init's, as our clone made them; 0: it made none */
	uint32_t id_first;              /* as root: init's host id, the guest's is the next; 0: none taken */
	struct pl_cgroup cgroup;
	bool has_cgroup;
};

/* The clone flags of all eight namespaces. */
#define PL_JAIL_NAMESPACES                                                                                             \
	(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |       \
	 CLONE_NEWTIME)

/* Starts a jail; returns at once, the guest comes up by itself. jail is the caller's storage, cleared by this; owner and
 * report are set by the caller afterwards. On failure nothing is left. */
int pl_jail_open(struct pl_wall_env *env, const struct pl_jail_spec *spec, struct pl_jail *jail,
		 struct plimsoll_error *error);
/* Kills init, and with it (pid namespace, parent-death signal) everything inside. */
void pl_jail_kill(struct pl_jail *jail);
/* After init was reaped: gives back ids and cgroup. false: not yet, ask again. */
bool pl_jail_release(struct pl_jail *jail);
/* The error for a FAILED report. */
int pl_jail_error(const char *wall, const struct pl_jail_report *report, struct plimsoll_error *error);

/* Sets both values of a resource limit of a process in the jail. Where the jail has no user namespace over which we have every
 * capability, a process of another id may be out of reach for a root without CAP_SYS_RESOURCE (as in a Docker container): then
 * a child of ours takes that id and does it. */
int pl_jail_limit(const struct pl_jail *jail, const struct pl_proc *proc, int resource, uint64_t value);

/* Tries what a jail needs of namespaces: 0, or -errno with the step that failed. Blocks for about a millisecond; for start. */
int pl_jail_probe(struct pl_wall_env *env, uint64_t namespaces, const char **ret_step);

/* The highest processor-time limit that a request can bring. */
struct pl_jail_rlimit pl_jail_rlimit_cpu(const struct pl_settings *settings);

/* Whether our own hard limits leave room for these, which can only be lowered from there. 0, or -ERANGE with texts for a person. */
int pl_jail_rlimits_fit(const struct pl_jail_rlimit *limits, size_t n, char found[PL_WALL_TEXT_LEN],
			char remedy[PL_WALL_TEXT_LEN]);

#endif
