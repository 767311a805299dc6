/* SPDX-License-Identifier: Apache-2.0 */
/* probes: see probes.h. Raw system calls, so that no library turns one into another or answers from memory. */
#include "guest/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The call's result, a new descriptor closed again: 0 or the errno. */
static int descriptor(long r)
{
	if (r < 0)
		return errno;
	syscall(SYS_close, r);
	return 0;
}

static int outcome(long r)
{
	return r < 0 ? errno : 0;
}

static int probe_socket(void)
{
	return descriptor(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int probe_pair(long r, const int pair[2])
{
	if (r < 0)
		return errno;
	syscall(SYS_close, pair[0]);
	syscall(SYS_close, pair[1]);
	return 0;
}

static int probe_socketpair(void)
{
	int pair[2];
	long r = syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);

	return probe_pair(r, pair);
}

static int probe_pipe2(void)
{
	int pair[2];
	long r = syscall(SYS_pipe2, pair, O_CLOEXEC);

	return probe_pair(r, pair);
}

static int probe_memfd_create(void)
{
	return descriptor(syscall(SYS_memfd_create, "probe", 1));
}

static int probe_eventfd2(void)
{
	return descriptor(syscall(SYS_eventfd2, 0, O_CLOEXEC));
}

static int probe_epoll_create1(void)
{
	return descriptor(syscall(SYS_epoll_create1, EPOLL_CLOEXEC));
}

static int probe_timerfd_create(void)
{
	return descriptor(syscall(SYS_timerfd_create, CLOCK_MONOTONIC, O_CLOEXEC));
}

static int probe_inotify_init1(void)
{
	return descriptor(syscall(SYS_inotify_init1, O_CLOEXEC));
}

static int probe_openat(void)
{
	return descriptor(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int probe_dup(void)
{
	return descriptor(syscall(SYS_dup, 0));
}

static int probe_getcwd(void)
{
	char path[256];

	return outcome(syscall(SYS_getcwd, path, sizeof path));
}

static int probe_umask(void)
{
	long mask = syscall(SYS_umask, 077);

	if (mask < 0)
		return errno;
	syscall(SYS_umask, mask);
	return 0;
}

static int probe_uname(void)
{
	struct utsname names;

	return outcome(syscall(SYS_uname, &names));
}

static int probe_sysinfo(void)
{
	struct sysinfo info;

	return outcome(syscall(SYS_sysinfo, &info));
}

/* No flag: changes nothing. */
static int probe_unshare(void)
{
	return outcome(syscall(SYS_unshare, 0));
}

/* EBADF where it is allowed. */
static int probe_setns(void)
{
	return outcome(syscall(SYS_setns, -1, 0));
}

/* Signal 0 is sent to nobody. */
static int probe_kill(void)
{
	return outcome(syscall(SYS_kill, 0, 0));
}

/* ESRCH where it is allowed: no process has number 0. */
static int probe_ptrace(void)
{
	return outcome(syscall(SYS_ptrace, PTRACE_PEEKDATA, 0, NULL, NULL));
}

/* ENOENT where it is allowed. */
static int probe_execve(void)
{
	char *const none[] = { NULL };

	return outcome(syscall(SYS_execve, "", none, none));
}

/* EINVAL where it is allowed: a size of 0 is none that any kernel takes. */
static int probe_clone3(void)
{
	return outcome(syscall(SYS_clone3, NULL, 0));
}

static int probe_personality(void)
{
	return outcome(syscall(SYS_personality, 0xffffffffUL));
}

static int probe_prlimit64(void)
{
	struct rlimit limit[2];

	return outcome(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, limit));
}

/* ENOKEY or ENOSYS where it is allowed: asks without making one. */
static int probe_keyctl(void)
{
	return outcome(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 0));
}

static int probe_executable_memory(void)
{
	long r = syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (r < 0)
		return errno;
	syscall(SYS_munmap, r, 4096);
	return 0;
}

static int (*const probes[])(void) = {
	probe_socket,	     probe_socketpair,	  probe_pipe2,	   probe_memfd_create, probe_eventfd2,
	probe_epoll_create1, probe_timerfd_create, probe_inotify_init1, probe_dup,	       probe_getcwd,
	probe_umask,	     probe_uname,	  probe_sysinfo,   probe_unshare,      probe_setns,
	probe_kill,	     probe_ptrace,	  probe_execve,	   probe_clone3,       probe_personality,
	probe_prlimit64,     probe_keyctl,	  probe_executable_memory,
};

void pl_probes_run(struct pl_probe_counts *ret)
{
	int error;

	*ret = (struct pl_probe_counts){ 0 };
	for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
		ret->tried++;
		ret->denied += probes[i]() == EPERM;
	}
	/* Landlock answers EACCES. With a filter that refuses the call itself it cannot be seen, and the answer is "no". */
	error = probe_openat();
	ret->tried++;
	ret->denied += error == EPERM;
	ret->landlock_denied = error == EACCES;
}
