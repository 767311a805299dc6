/* SPDX-License-Identifier: Apache-2.0 */
/* sys: the system calls that the supervisor, plimsoll-launch and the guests make, each as a thin wrapper: the result, or
 * -errno. Every wrapper asks linux/fault first, so a test build can make any one of them fail. EINTR is retried where the
 * call may simply be made again. */
#ifndef PL_LINUX_SYS_H
#define PL_LINUX_SYS_H

#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* PL_SYS(site, expression): the guarded call. A statement expression, so that a wrapper is one line. */
#define PL_SYS(site, expr)                                                                                             \
	({                                                                                                                 \
		long pl_sys_rc = pl_fault(site);                                                                               \
		if (!pl_sys_rc) {                                                                                              \
			do                                                                                                         \
				pl_sys_rc = (long)(expr);                                                                              \
			while (pl_sys_rc < 0 && errno == EINTR);                                                                   \
			if (pl_sys_rc < 0)                                                                                         \
				pl_sys_rc = -errno;                                                                                    \
		}                                                                                                              \
		pl_sys_rc;                                                                                                     \
	})

static inline int pl_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return (int)PL_SYS("openat", openat(dirfd, path, flags | O_CLOEXEC, mode));
}

static inline ssize_t pl_sys_read(int fd, void *buf, size_t len)
{
	return PL_SYS("read", read(fd, buf, len));
}

static inline ssize_t pl_sys_pread(int fd, void *buf, size_t len, off_t offset)
{
	return PL_SYS("pread", pread(fd, buf, len, offset));
}

static inline ssize_t pl_sys_write(int fd, const void *buf, size_t len)
{
	pl_fault_out(buf, len);
	return PL_SYS("write", write(fd, buf, len));
}

static inline ssize_t pl_sys_readlinkat(int dirfd, const char *path, char *buf, size_t len)
{
	return PL_SYS("readlinkat", readlinkat(dirfd, path, buf, len));
}

static inline int pl_sys_fstat(int fd, struct stat *ret)
{
	return (int)PL_SYS("fstat", fstat(fd, ret));
}

static inline int pl_sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
	return (int)PL_SYS("mkdirat", mkdirat(dirfd, path, mode));
}

static inline int pl_sys_socketpair(int type, int ret_fds[2])
{
	return (int)PL_SYS("socketpair", socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ret_fds));
}

static inline int pl_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)PL_SYS("setsockopt", setsockopt(fd, level, name, value, len));
}

static inline ssize_t pl_sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	for (size_t i = 0; i < (size_t)msg->msg_iovlen; i++)
		pl_fault_out(msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
	return PL_SYS("sendmsg", sendmsg(fd, msg, flags | MSG_NOSIGNAL));
}

static inline ssize_t pl_sys_send(int fd, const void *buf, size_t len, int flags)
{
	pl_fault_out(buf, len);
	return PL_SYS("send", send(fd, buf, len, flags | MSG_NOSIGNAL));
}

static inline ssize_t pl_sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return PL_SYS("recvmsg", recvmsg(fd, msg, flags | MSG_CMSG_CLOEXEC));
}

static inline ssize_t pl_sys_recv(int fd, void *buf, size_t len, int flags)
{
	return PL_SYS("recv", recv(fd, buf, len, flags));
}

static inline int pl_sys_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return (int)PL_SYS("prctl", prctl(option, a, b, c, d));
}

static inline int pl_sys_prlimit(pid_t pid, int resource, const struct rlimit *set, struct rlimit *ret)
{
	return (int)PL_SYS("prlimit", syscall(SYS_prlimit64, pid, resource, set, ret));
}

static inline int pl_sys_pidfd_open(pid_t pid)
{
	return (int)PL_SYS("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
}

static inline int pl_sys_pidfd_send_signal(int pidfd, int sig)
{
	return (int)PL_SYS("pidfd_send_signal", syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0));
}

/* Not retried and not injected: reaping must not be able to fail for a test's sake. */
static inline pid_t pl_sys_wait4(pid_t pid, int *ret_status, int options, struct rusage *ret_usage)
{
	pid_t rc;

	do
		rc = wait4(pid, ret_status, options, ret_usage);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

static inline pid_t pl_sys_clone3(struct clone_args *args)
{
	pid_t pid = (pid_t)PL_SYS("clone3", syscall(SYS_clone3, args, sizeof *args));

	/* A filter around us that cannot look behind clone3's pointer says that there is no such call, as Docker's does. Where no
	 * namespace is wanted, the older call says the same. */
	if (pid == -ENOSYS && !(args->flags & ~(uint64_t)CLONE_PIDFD))
		pid = (pid_t)PL_SYS("clone", syscall(SYS_clone, args->flags | args->exit_signal, NULL, args->pidfd, NULL, 0));
	return pid;
}

static inline int pl_sys_execveat(int fd, char *const argv[], char *const envp[])
{
	return (int)PL_SYS("execveat", syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH));
}

static inline int pl_sys_close_range(unsigned first, unsigned last)
{
	return (int)PL_SYS("close_range", syscall(SYS_close_range, first, last, 0));
}

static inline int pl_sys_unlinkat(int dirfd, const char *path, int flags)
{
	return (int)PL_SYS("unlinkat", unlinkat(dirfd, path, flags));
}

static inline int pl_sys_faccessat(int dirfd, const char *path, int mode)
{
	return (int)PL_SYS("faccessat", faccessat(dirfd, path, mode, AT_EACCESS));
}

static inline ssize_t pl_sys_getdents(int fd, void *buf, size_t len)
{
	return PL_SYS("getdents64", syscall(SYS_getdents64, fd, buf, len));
}

static inline int pl_sys_flock(int fd, int operation)
{
	return (int)PL_SYS("flock", flock(fd, operation));
}

/* type is F_RDLCK, F_WRLCK or F_UNLCK. The lock belongs to the open file description and ends with it. Never waits. */
static inline int pl_sys_lock_range(int fd, short type, off_t start, off_t len)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };

	return (int)PL_SYS("fcntl", fcntl(fd, F_OFD_SETLK, &lock));
}

static inline int pl_sys_memfd_create(const char *name, unsigned flags)
{
	return (int)PL_SYS("memfd_create", syscall(SYS_memfd_create, name, flags | MFD_CLOEXEC));
}

static inline int pl_sys_pidfd_getfd(int pidfd, int fd)
{
	return (int)PL_SYS("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, fd, 0));
}

static inline int pl_sys_ftruncate(int fd, off_t len)
{
	return (int)PL_SYS("ftruncate", ftruncate(fd, len));
}

static inline long pl_sys_ptrace(int request, pid_t pid, unsigned long addr, void *data)
{
	return PL_SYS("ptrace", syscall(SYS_ptrace, request, pid, addr, data));
}

static inline int pl_sys_landlock_create_ruleset(const void *attr, size_t size, unsigned flags)
{
	return (int)PL_SYS("landlock_create_ruleset", syscall(SYS_landlock_create_ruleset, attr, size, flags));
}

static inline int pl_sys_landlock_restrict_self(int fd, unsigned flags)
{
	return (int)PL_SYS("landlock_restrict_self", syscall(SYS_landlock_restrict_self, fd, flags));
}

static inline int pl_sys_fstatfs(int fd, struct statfs *ret)
{
	return (int)PL_SYS("fstatfs", fstatfs(fd, ret));
}

static inline ssize_t pl_sys_getrandom(void *buf, size_t len)
{
	return PL_SYS("getrandom", syscall(SYS_getrandom, buf, len, 0));
}

#endif
