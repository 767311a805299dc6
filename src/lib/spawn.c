/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: see spawn.h.
 *
 * Theory of operation. exec sets a process's exit signal to SIGCHLD, whatever clone was told, so a supervisor that were our
 * child would be seen by the program's SIGCHLD handler and by its wait(). Hence a process in the middle: it is made with exit
 * signal 0, never execs, makes the supervisor and ends. The middle is reaped here through its pidfd with __WALL, which no
 * plain wait() asks for. The supervisor then belongs to init (or to the nearest subreaper), and its end is seen on the socket.
 *
 * Both are made as vfork does it: they share our memory, on stacks of their own, and this thread stands still until the
 * supervisor has been executed or has failed to be. So a program of many gigabytes is not copied, page table by page table,
 * and what went wrong is simply written down in a struct of ours. The price is care in what runs there (everything marked
 * CHILD): system calls only, and raw ones, since the C library's functions may take locks that another thread holds, and a
 * sanitizer's may keep books about us. Signals are blocked from before the first clone until the supervisor has default
 * dispositions, so no handler of the program ever runs in one of the two. */
#include "spawn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

/* Each of the two stacks; what runs on them needs a few hundred bytes. */
#define STACK_BYTES (64u * 1024u)
/* Where the descriptors are moved first, so that putting one in its place cannot run over another. */
#define FD_SPARE 10
#define FD_LINE 3

/* The C library's own other name for clone. Thread sanitizers replace the first by one that takes every clone for a fork, and
 * stumble over one that shares memory; a program that embeds us may be built with one. */
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

struct spawn {
	const char *path;
	char *argv[2], *environment[1];
	int line_fd, null_fd;
	uint8_t *stacks;
	/* Written by the two, read here when they are through. */
	const char *volatile step;
	volatile int error;
};

CHILD static void child_fail(struct spawn *spawn, const char *step)
{
	spawn->error = errno;
	spawn->step = step;
	for (;;)
		syscall(SYS_exit_group, 127);
}

/* Ignored signals would stay ignored across exec. The kernel's struct sigaction for the default is zeros, on every machine. */
CHILD static void child_signals_reset(struct spawn *spawn)
{
	static const uint64_t zeros[16];

	for (int sig = 1; sig < _NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && syscall(SYS_rt_sigaction, sig, zeros, NULL, _NSIG / 8) < 0)
			child_fail(spawn, "rt_sigaction");
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, zeros, NULL, _NSIG / 8) < 0)
		child_fail(spawn, "rt_sigprocmask");
}

CHILD static void child_descriptors_place(struct spawn *spawn)
{
	int line = (int)syscall(SYS_fcntl, spawn->line_fd, F_DUPFD, FD_SPARE);
	int null = (int)syscall(SYS_fcntl, spawn->null_fd, F_DUPFD, FD_SPARE);

	if (line < 0 || null < 0)
		child_fail(spawn, "fcntl");
	for (int fd = 0; fd <= FD_LINE; fd++)
		if (syscall(SYS_dup3, fd == FD_LINE ? line : null, fd, 0) < 0)
			child_fail(spawn, "dup3");
	if (syscall(SYS_close_range, FD_LINE + 1, ~0u, 0) < 0)
		child_fail(spawn, "close_range");
}

CHILD static int child_main(void *data)
{
	struct spawn *spawn = data;

	/* A session of its own: Ctrl-C on the program's terminal is the program's to answer. */
	if (syscall(SYS_setsid) < 0)
		child_fail(spawn, "setsid");
	child_signals_reset(spawn);
	child_descriptors_place(spawn);
	if (syscall(SYS_chdir, "/") < 0)
		child_fail(spawn, "chdir");
	syscall(SYS_execve, spawn->path, spawn->argv, spawn->environment);
	child_fail(spawn, "execve");
	return 127;
}

CHILD static int middle_main(void *data)
{
	struct spawn *spawn = data;

	if (__clone(child_main, spawn->stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn) < 0)
		child_fail(spawn, "clone");
	syscall(SYS_exit_group, 0);
	return 0;
}

/* Somebody in the program who waits with __WALL may have been faster (ECHILD); it has ended then too. */
static void middle_reap(int pidfd)
{
	siginfo_t info;
	int rc;

	do
		rc = waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | __WALL);
	while (rc < 0 && errno == EINTR);
}

/* 0 when the supervisor has been executed. */
static int middle_run(struct spawn *spawn)
{
	sigset_t all, before;
	int pidfd = -1, error;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* The lowest byte of the flags is the exit signal: none. */
	pid = __clone(middle_main, spawn->stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, spawn, &pidfd);
	error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		spawn->step = "clone";
		return -error;
	}
	middle_reap(pidfd);
	close(pidfd);
	return -spawn->error;
}

static int stacks_make(struct spawn *spawn)
{
	void *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	spawn->step = "mmap";
	if (stacks == MAP_FAILED)
		return -errno;
	spawn->stacks = stacks;
	return 0;
}

static int descriptors_make(struct spawn *spawn, int *ret_line_fd)
{
	int line[2];

	spawn->step = "open /dev/null";
	spawn->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (spawn->null_fd < 0)
		return -errno;
	spawn->step = "socketpair";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0)
		return -errno;
	*ret_line_fd = line[0];
	spawn->line_fd = line[1];
	return 0;
}

int pl_spawn(const char *path, const char *argv0, int *ret_line_fd, const char **ret_step)
{
	struct spawn spawn = { .path = path, .argv = { (char *)argv0 }, .line_fd = -1, .null_fd = -1 };
	int line_fd = -1;
	int rc = stacks_make(&spawn);

	if (rc == 0)
		rc = descriptors_make(&spawn, &line_fd);
	if (rc == 0)
		rc = middle_run(&spawn);
	if (spawn.stacks)
		munmap(spawn.stacks, 2 * STACK_BYTES);
	pl_fd_close(&spawn.null_fd);
	pl_fd_close(&spawn.line_fd);
	if (rc == 0)
		*ret_line_fd = line_fd;
	else
		pl_fd_close(&line_fd);
	*ret_step = spawn.step;
	return rc;
}
