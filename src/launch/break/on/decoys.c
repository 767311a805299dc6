/* SPDX-License-Identifier: Apache-2.0 */
/* decoys: other processes in the sandbox, which hold the stream, speak on it, stand between init and guest, or trace the
 * guest. Each is what somebody would build who wants the facts of one process to be taken for those of another. */
#include "launch/break/on/parts.h"
#include "launch/steps.h"
#include "linux/sys.h"

#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>

#define GUEST_INNER_PID 2 /* init is 1 of its pid namespace, and the guest the first that it starts */

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		pause();
}

/* SEIZE stops nobody: the guest goes on as if nothing were. */
int pl_break_tracer(const struct pl_jail_plan *plan)
{
	(void)plan;
	return (int)pl_sys_ptrace(PTRACE_SEIZE, GUEST_INNER_PID, 0, NULL);
}

static int thread_main(void *unused)
{
	(void)unused;
	sleep_for_ever();
}

int pl_break_thread(const struct pl_jail_plan *plan)
{
	static _Alignas(64) char stack[16384];

	(void)plan;
	return clone(thread_main, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL) < 0
		       ? -errno
		       : 0;
}

int pl_break_second_child(const struct pl_jail_plan *plan)
{
	pid_t pid = fork();

	(void)plan;
	if (pid == 0) { /* without the descriptors, among which is the pipe that the guest waits on */
		(void)pl_sys_close_range(0, ~0u);
		sleep_for_ever();
	}
	return pid < 0 ? -errno : 0;
}

/* The child goes on as the launcher; process 1 confines itself like an init and is one only in name. */
int pl_break_middle(const struct pl_jail_plan *plan)
{
	const char *step;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		return 0;
	close(PL_LAUNCH_STREAM_FD);
	close(PL_LAUNCH_IMAGE_FD);
	if (pl_steps_run(pl_init_steps, pl_init_steps_n, plan, &step) < 0)
		_exit(99);
	for (;;)
		(void)poll(NULL, 0, -1);
}

/* A child takes the stream and becomes a guest of its own; the guest that init starts next gets one that nobody writes to. */
int pl_break_speaking_child(const struct pl_jail_plan *plan)
{
	char *argv[] = { (char *)plan->guest_argv0, NULL }, *envp[] = { NULL };
	int pair[2] = { -1, -1 }, rc = pl_sys_socketpair(SOCK_STREAM, pair);
	const char *step;
	pid_t pid;

	if (rc < 0)
		return rc;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (pl_steps_run(pl_guest_steps, pl_guest_steps_n, plan, &step) == 0)
			(void)pl_sys_execveat(PL_LAUNCH_IMAGE_FD, argv, envp);
		_exit(99);
	}
	return dup3(pair[0], PL_LAUNCH_STREAM_FD, O_CLOEXEC) < 0 ? -errno : 0;
}

static int limits_set(const struct pl_jail_plan *plan)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < plan->rlimit_n; i++) {
		struct rlimit limit = { plan->rlimits[i].soft, plan->rlimits[i].hard };

		rc = pl_sys_prlimit(0, plan->rlimits[i].resource, &limit, NULL);
	}
	return rc;
}

/* A child of the guest, not of init, that holds the stream as well. */
int pl_break_guests_child(const struct pl_jail_plan *plan)
{
	pid_t pid = fork();

	if (pid == 0)
		sleep_for_ever();
	return pid < 0 ? -errno : limits_set(plan);
}

/* Whoever has CAP_SYS_ADMIN over the pid namespace may say that another process has written. */
static void send_as(int fd, const char *bytes, size_t len, pid_t pid)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control = { 0 };
	struct iovec iov = { (void *)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
	struct ucred cred = { .pid = pid };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof cred);
	memcpy(CMSG_DATA(c), &cred, sizeof cred);
	if (pl_sys_sendmsg(fd, &msg, 0) != (ssize_t)len)
		_exit(99);
}

static _Noreturn void relay(int inner_fd, pid_t guest)
{
	struct pollfd fds[2] = { { .fd = PL_LAUNCH_STREAM_FD, .events = POLLIN }, { .fd = inner_fd, .events = POLLIN } };
	char bytes[4096];
	ssize_t n;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			_exit(99);
		for (int i = 0; i < 2; i++) {
			if (!fds[i].revents)
				continue;
			n = pl_sys_recv(fds[i].fd, bytes, sizeof bytes, 0);
			if (n <= 0)
				_exit(99);
			if (i == 0)
				(void)pl_sys_send(inner_fd, bytes, (size_t)n, 0);
			else
				send_as(PL_LAUNCH_STREAM_FD, bytes, (size_t)n, guest);
		}
	}
}

/* The guest gets a stream to a child of its own, which passes everything on in the guest's name, and could as well not. */
int pl_break_relay(const struct pl_jail_plan *plan)
{
	pid_t guest = getpid(), pid;
	int pair[2] = { -1, -1 }, rc = pl_sys_socketpair(SOCK_STREAM, pair);

	if (rc < 0)
		return rc;
	pid = fork();
	if (pid == 0)
		relay(pair[1], guest);
	if (pid < 0 || dup3(pair[0], PL_LAUNCH_STREAM_FD, O_CLOEXEC) < 0)
		return -errno;
	return limits_set(plan);
}
