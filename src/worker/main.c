/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll-worker: the zygote of the process wall, and its workers.
 *
 * The zygote makes an engine ready and never sees a caller's byte. Each FORK on its control socket brings one end of a fresh
 * stream; it forks, and the child becomes a worker for one job: it confines itself, and then speaks the guest protocol on that
 * stream. The zygote says how each worker ended, and ends itself when its control socket does, its workers with it.
 *
 * Its descriptors: 0 the control socket, and one for the signal that children send. Both are gone in a worker. */
#include "linux/sys.h"
#include "wire/jail.h"
#include "worker/confine.h"
#include "worker/instance.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#define CONTROL_FD PL_GUEST_STREAM_FD

/* Where there is no user namespace and the supervisor is an ordinary user, it can read only what is dumpable. */
static bool readable;

static void __attribute__((noreturn)) work(int stream_fd, pid_t zygote)
{
	if (pl_confine(stream_fd, zygote, readable) < 0)
		_exit(PL_GUEST_EXIT_SYSTEM);
	pl_session_main(PL_GUEST_STREAM_FD, &pl_instance_engine);
}

static int say(const struct pl_zygote_message *message)
{
	ssize_t r = pl_sys_send(CONTROL_FD, message, sizeof *message, 0);

	return r < 0 ? (int)r : 0;
}

/* One message and, in *ret_fd, the descriptor that came with it or -1. 0: the supervisor is gone. */
static ssize_t listen_once(struct pl_zygote_message *ret, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} rights;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof *ret };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights };
	ssize_t n = pl_sys_recvmsg(CONTROL_FD, &msg, 0);
	struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	*ret_fd = -1;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS
	    && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
	return n;
}

/* Serves one message; -errno when the zygote cannot go on, 0 when the supervisor is gone. */
static int serve(pid_t zygote)
{
	struct pl_zygote_message message, answer = { .kind = PL_ZYGOTE_FORKED };
	int stream_fd;
	ssize_t n = listen_once(&message, &stream_fd);
	pid_t pid;

	if (n <= 0)
		return (int)n;
	if (n != (ssize_t)sizeof message || message.kind != PL_ZYGOTE_FORK || stream_fd < 0)
		return -EPROTO;
	pid = (pid_t)PL_SYS("fork", fork());
	if (pid == 0)
		work(stream_fd, zygote);
	if (!pl_sabotage("zygote keeps stream"))
		close(stream_fd);
	answer.pid = pid > 0 ? pid : 0;
	answer.error = pid < 0 ? pid : 0;
	n = say(&answer);
	return n < 0 ? (int)n : 1;
}

/* Says how each worker that has ended did. */
static int reap(void)
{
	struct pl_zygote_message message = { .kind = PL_ZYGOTE_ENDED };
	struct rusage usage;
	pid_t pid;
	int r;

	while ((pid = pl_sys_wait4(-1, &message.wait_status, WNOHANG, &usage)) > 0) {
		message.pid = pid;
		message.cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u
				 + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
		message.peak_bytes = (uint64_t)usage.ru_maxrss * 1024u;
		r = say(&message);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A descriptor that becomes readable when a child ends. */
static int open_child_signal(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0)
		return -errno;
	return (int)PL_SYS("signalfd", signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

static int loop(int child_fd)
{
	struct pollfd polled[2] = { { .fd = CONTROL_FD, .events = POLLIN }, { .fd = child_fd, .events = POLLIN } };
	struct signalfd_siginfo info;
	pid_t zygote = getpid();
	int r;

	for (;;) {
		r = (int)PL_SYS("ppoll", ppoll(polled, 2, NULL, NULL));
		if (r < 0)
			return r;
		/* Read before reaping: a child that ends in between makes it readable again. */
		if (polled[1].revents && pl_sys_read(child_fd, &info, sizeof info) > 0 && (r = reap()) < 0)
			return r;
		if (polled[0].revents && (r = serve(zygote)) <= 0)
			return r;
	}
}

int main(int argc, char **argv)
{
	/* So that the C library looks for no time zone file; there is none, and asking is refused. */
	static char time_zone[] = "TZ=UTC0";
	const struct pl_zygote_message ready = { .kind = PL_ZYGOTE_READY };
	int child_fd, r;

	readable = argc > 1 && strcmp(argv[1], PL_GUEST_READABLE) == 0;
	pl_fault_set("guest", argc > 2 ? argv[2] : NULL);
	if (putenv(time_zone) || pl_instance_warm() < 0)
		return PL_GUEST_EXIT_SYSTEM;
	child_fd = open_child_signal();
	if (child_fd < 0 || say(&ready) < 0)
		return PL_GUEST_EXIT_SYSTEM;
	r = loop(child_fd);
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0;
	return r == -EPROTO ? PL_GUEST_EXIT_PROTOCOL : r < 0 ? PL_GUEST_EXIT_SYSTEM : PL_GUEST_EXIT_END;
}
