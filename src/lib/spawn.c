/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: see spawn.h.
 *
 * Theory of operation. exec sets a process's exit signal to SIGCHLD, whatever clone3 was told, so a supervisor that were our
 * child would be seen by the program's SIGCHLD handler and by its wait(). Hence a process in the middle: it is made with exit
 * signal 0, never execs, forks the supervisor and ends. The middle is reaped here through its pidfd with __WALL, which no
 * plain wait() asks for. The supervisor then belongs to init (or to the nearest subreaper), and its end is seen on the socket.
 *
 * Between clone3 and exec only system calls are made: other threads of the program may hold any lock of the C library.
 * Signals are blocked from before clone3 until the new process has default dispositions, so no handler of the program ever
 * runs in a copy of it. */
#include "spawn.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the descriptors are moved first, so that putting one in its place cannot run over another. */
#define FD_SPARE 10
#define FD_LINE 3
#define FD_REPORT 4

struct spawn {
	const char *path;
	char *argv[2];
	int line_fd, null_fd, report_fd;
};

static _Noreturn void child_fail(int report_fd, const char *step, size_t step_size)
{
	struct pl_spawn_report report = { .error = errno };
	ssize_t n;

	for (size_t i = 0; i < step_size && i < sizeof report.step; i++)
		report.step[i] = step[i];
	do
		n = write(report_fd, &report, sizeof report);
	while (n < 0 && errno == EINTR);
	_exit(127);
}

#define CHILD_FAIL(fd, step) child_fail(fd, step, sizeof(step))

/* Ignored signals would stay ignored across exec. The two that the C library keeps for itself cannot be set here and are
 * never ignored. */
static void child_signals_reset(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < _NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			sigaction(sig, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_descriptors_place(const struct spawn *spawn)
{
	int report = fcntl(spawn->report_fd, F_DUPFD_CLOEXEC, FD_SPARE);
	int line = fcntl(spawn->line_fd, F_DUPFD_CLOEXEC, FD_SPARE);
	int null = fcntl(spawn->null_fd, F_DUPFD_CLOEXEC, FD_SPARE);

	if (report < 0 || line < 0 || null < 0)
		CHILD_FAIL(spawn->report_fd, "fcntl");
	if (dup2(line, FD_LINE) < 0 || dup3(report, FD_REPORT, O_CLOEXEC) < 0)
		CHILD_FAIL(report, "dup2");
	for (int fd = 0; fd < FD_LINE; fd++)
		if (dup2(null, fd) < 0)
			CHILD_FAIL(FD_REPORT, "dup2");
	if (syscall(SYS_close_range, FD_REPORT + 1, ~0u, 0) < 0)
		CHILD_FAIL(FD_REPORT, "close_range");
}

static _Noreturn void child_exec(const struct spawn *spawn)
{
	char *environment[] = { NULL };

	child_signals_reset();
	child_descriptors_place(spawn);
	/* A session of its own: Ctrl-C on the program's terminal is the program's to answer. */
	if (setsid() < 0)
		CHILD_FAIL(FD_REPORT, "setsid");
	if (chdir("/") < 0)
		CHILD_FAIL(FD_REPORT, "chdir");
	execve(spawn->path, spawn->argv, environment);
	CHILD_FAIL(FD_REPORT, "execve");
}

static _Noreturn void middle_run(const struct spawn *spawn)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		child_exec(spawn);
	if (pid < 0)
		CHILD_FAIL(spawn->report_fd, "clone3");
	_exit(0);
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

static int middle_start(const struct spawn *spawn)
{
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
	};
	sigset_t all, before;
	long pid;
	int rc = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		middle_run(spawn);
	if (pid < 0)
		rc = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0) {
		middle_reap(pidfd);
		close(pidfd);
	}
	return rc;
}

int pl_spawn(const char *path, const char *argv0, int *ret_line_fd, int *ret_report_fd)
{
	struct spawn spawn = { .path = path, .argv = { (char *)argv0, NULL }, .line_fd = -1, .null_fd = -1, .report_fd = -1 };
	int line[2] = { -1, -1 }, report[2] = { -1, -1 };
	int rc = 0;

	spawn.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (spawn.null_fd < 0 || pipe2(report, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0)
		rc = -errno;
	spawn.line_fd = line[1];
	spawn.report_fd = report[1];
	if (rc == 0)
		rc = middle_start(&spawn);
	if (rc == 0) {
		*ret_line_fd = line[0];
		*ret_report_fd = report[0];
		line[0] = report[0] = -1;
	}
	pl_fd_close(&spawn.null_fd);
	for (int i = 0; i < 2; i++) {
		pl_fd_close(&line[i]);
		pl_fd_close(&report[i]);
	}
	return rc;
}
