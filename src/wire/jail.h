/* SPDX-License-Identifier: Apache-2.0 */
/* jail: what the supervisor tells plimsoll-launch (a plan) and the standing worker process (fork one more), and what
 * they say back. All of it crosses SOCK_SEQPACKET sockets of the supervisor's own making, between programs of one build
 * (the build id is compared first), so a message is one struct in native byte order.
 *
 * Theory of operation. The supervisor clones a child into new namespaces; the child joins its cgroups, becomes uid 0 of its
 * user namespace and executes plimsoll-launch from a sealed descriptor. plimsoll-launch reads the plan, builds the jail,
 * starts the guest in it and stays as the jail's init: it reports a failed step or the guest's end, and its own end is the
 * end of everything in the pid namespace. It exits when the supervisor's end of its control socket closes. */
#ifndef PL_WIRE_JAIL_H
#define PL_WIRE_JAIL_H

#include <linux/filter.h>
#include <stdint.h>

/* The descriptors of plimsoll-launch at exec; 0, 1 and 2 are closed, nothing else is open. */
#define PL_LAUNCH_CONTROL_FD 3 /* SOCK_SEQPACKET to the supervisor */
#define PL_LAUNCH_IMAGE_FD 4   /* the guest's program, a sealed memfd; executed by descriptor */
#define PL_LAUNCH_STREAM_FD 5  /* becomes the guest's only descriptor, PL_GUEST_STREAM_FD */
#define PL_LAUNCH_EXTRA_FD 6   /* and the next ones, as many as the plan says: the guest has them by the same numbers */
#define PL_LAUNCH_EXTRA_MAX 4
#define PL_GUEST_STREAM_FD 0

/* The guest's arguments: its name, one of these, and in test builds the failure to inject. */
#define PL_GUEST_READABLE "readable" /* stay dumpable */
#define PL_GUEST_HIDDEN "hidden"

#define PL_JAIL_FILTER_MAX 400
#define PL_JAIL_RLIMIT_MAX 12
#define PL_JAIL_STEP_LEN 32

struct pl_jail_rlimit {
	int32_t resource;
	uint64_t soft, hard;
};

struct pl_jail_filter {
	uint32_t n; /* 0: none is loaded */
	struct sock_filter insns[PL_JAIL_FILTER_MAX];
};

struct pl_jail_plan {
	char build_id[64];
	uint32_t has_mount_namespace;  /* 0: the process wall where no user namespace can be had; no root is built then */
	uint32_t guest_uid, guest_gid; /* ids inside the user namespace; UINT32_MAX: leave as they are */
	uint32_t readable;             /* 1: stay dumpable, since the supervisor could not read what it measures otherwise */
	uint32_t landlock;             /* 1: forbid every file and TCP access, as far as the kernel's Landlock goes */
	uint32_t extra_n;              /* descriptors besides the stream, at most PL_LAUNCH_EXTRA_MAX */
	uint64_t tmp_bytes;            /* size of the writable noexec tmpfs at /tmp; 0: none */
	uint32_t rlimit_n;
	struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX];
	struct pl_jail_filter guest_filter;
	struct pl_jail_filter init_filter;
	char guest_argv0[16];
	char fault[64]; /* test builds: which failure to inject, see linux/fault; empty otherwise */
};

/* From plimsoll-launch to the supervisor. */
enum pl_jail_report_kind { PL_JAIL_FAILED = 1, PL_JAIL_ENDED = 2 };

struct pl_jail_report {
	uint32_t kind;
	int32_t error;               /* FAILED: the step's -errno */
	char step[PL_JAIL_STEP_LEN]; /* FAILED: which step, as "mount /tmp" */
	int32_t wait_status;         /* ENDED: as wait4 gives it */
	uint64_t cpu_us;             /* ENDED: user and system time of the guest */
	uint64_t peak_bytes;         /* ENDED: its maximum resident set */
};

/* Between the supervisor and the zygote of the process wall, on the zygote's PL_GUEST_STREAM_FD (there a SOCK_SEQPACKET).
 * The supervisor sends FORK with the worker's end of a fresh stream socket attached (SCM_RIGHTS). The zygote forks and answers
 * FORKED in the order of the requests; when a worker has ended, it says ENDED. READY is the zygote's first message. */
enum pl_zygote_kind { PL_ZYGOTE_READY = 1, PL_ZYGOTE_FORK = 2, PL_ZYGOTE_FORKED = 3, PL_ZYGOTE_ENDED = 4 };

struct pl_zygote_message {
	uint32_t kind;
	int32_t error;       /* FORKED: 0 or the -errno of fork */
	int32_t pid;         /* FORKED, ENDED: the worker's pid in the zygote's own pid namespace */
	int32_t wait_status; /* ENDED */
	uint64_t cpu_us;
	uint64_t peak_bytes;
};

#endif
