/* SPDX-License-Identifier: Apache-2.0 */
/* proc: a process that is held while it is looked at, and what /proc says of it.
 *
 * A process is first pinned: a pidfd, a descriptor of its /proc directory and its start time. Everything is then read
 * through those, never by number again; pl_proc_alive after the last read says that all of it was about the same process. */
#ifndef PL_LINUX_PROC_H
#define PL_LINUX_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pl_proc {
	pid_t pid;
	int pidfd, dirfd;
	int statusfd; /* /proc/PID/status, held open: it is read on every passage */
	uint64_t start_time;
};
#define PL_PROC_NONE ((struct pl_proc){ .pid = 0, .pidfd = -1, .dirfd = -1, .statusfd = -1 })

/* What is taken from /proc/PID/status. Ids as the reader's user namespace sees them. */
struct pl_proc_status {
	char name[16];
	char state;
	pid_t ppid, tracer;
	uint32_t uids[4], gids[4];  /* real, effective, saved, file system */
	char groups[128];           /* as printed, blank-separated, "" for none; a digest where that is too long */
	uint64_t caps[5];           /* inheritable, permitted, effective, bounding, ambient */
	int no_new_privs, seccomp_mode, seccomp_filters; /* filters: -1 where the kernel does not say */
	int threads;
	uint64_t peak_bytes;        /* VmHWM */
};

/* How the namespaces are called in /proc/PID/ns, and their clone flags, in the order of PL_NS_*. */
enum { PL_NS_PID, PL_NS_MNT, PL_NS_NET, PL_NS_IPC, PL_NS_UTS, PL_NS_USER, PL_NS_CGROUP, PL_NS_TIME, PL_NS_N };
extern const char *const pl_ns_names[PL_NS_N];
extern const uint64_t pl_ns_flags[PL_NS_N];

/* Pins pid. pidfd: one that is already held (taken over), or -1. 0 or -errno; -ESRCH when it is gone. */
int pl_proc_pin(pid_t pid, int pidfd, struct pl_proc *ret);
void pl_proc_unpin(struct pl_proc *proc);
/* Whether the pinned process has not ended. */
bool pl_proc_alive(const struct pl_proc *proc);

int pl_proc_status(const struct pl_proc *proc, struct pl_proc_status *ret);
/* The inode of a namespace, for ns one of PL_NS_*. */
int pl_proc_ns(const struct pl_proc *proc, int ns, uint64_t *ret);
/* Device and inode of the file that it executes. */
int pl_proc_exe(const struct pl_proc *proc, dev_t *ret_dev, ino_t *ret_ino);
/* A whole small file of the process, with a NUL; -E2BIG when it does not fit. */
ssize_t pl_proc_file(const struct pl_proc *proc, const char *name, char *ret, size_t size);
/* The pids of its children, at most max; -E2BIG when there are more. */
int pl_proc_children(const struct pl_proc *proc, pid_t *ret, size_t max);
/* Open descriptors, as "number=target" for the first max; returns how many there are. each: called for every one. */
int pl_proc_fds(const struct pl_proc *proc, int (*each)(void *ctx, int fd, const char *target), void *ctx);
/* Processor time of its main thread, microseconds; from schedstat, else from stat in clock ticks. */
int64_t pl_proc_cpu_us(const struct pl_proc *proc);

#endif
