/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: see zygote.h; messages in wire/jail.h. The zygote is ours and never sees a caller's byte, yet what it says is only
 * used to find a worker's end: who a worker is, is the kernel's word. */
#include "wall/process/zygote.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* An instance reserves 8 GiB, so that no index can reach beyond it; and the zygote's own stays mapped in its workers. */
#define ADDRESS_SPACE_BYTES (20ull << 30)

static void zygote_fail(struct pl_zygote *z, const char *what)
{
	struct plimsoll_error error;

	pl_error(&error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "process", "%s", what);
	z->ended(z, &error);
}

static void jail_report(struct pl_jail *jail, const struct pl_jail_report *report)
{
	struct pl_zygote *z = jail->owner;
	struct plimsoll_error error;

	if (report && report->kind == PL_JAIL_FAILED) {
		pl_jail_error("process", report, &error);
		z->ended(z, &error);
	} else {
		zygote_fail(z, "the zygote of the process wall has ended");
	}
}

static void forked(struct pl_zygote *z, const struct pl_zygote_message *m)
{
	struct pl_worker *oldest = NULL;
	struct plimsoll_error error;

	/* The list has the newest first; answers come in the order of the requests. */
	for (struct pl_worker *w = z->workers; w; w = w->next)
		if (!w->inner_pid)
			oldest = w;
	if (!oldest)
		return;
	oldest->inner_pid = m->error ? -1 : m->pid;
	if (!m->error) { /* said after the zygote closed its copy of the stream */
		if (!oldest->released)
			z->env->challenge(oldest->sandbox);
		return;
	}
	oldest->sandbox->end.known = true;
	pl_error(&error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "fork worker",
		 "a worker could not be forked: %s", strerror(-m->error));
	if (!oldest->released)
		z->env->failed(oldest->sandbox, &error);
}

static void worker_ended(struct pl_zygote *z, const struct pl_zygote_message *m)
{
	for (struct pl_worker *w = z->workers; w; w = w->next) {
		if (w->inner_pid != m->pid || w->sandbox->end.known)
			continue;
		w->sandbox->end = (struct pl_end){
			.known = true, .wait_status = m->wait_status, .cpu_us = m->cpu_us, .peak_bytes = m->peak_bytes,
		};
		if (!w->released)
			z->env->ended(w->sandbox);
		return;
	}
}

/* One message and the pid of its sender, by the kernel's word. */
static ssize_t message_receive(int fd, struct pl_zygote_message *ret, pid_t *ret_pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof *ret };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
	};
	ssize_t n = pl_sys_recvmsg(fd, &msg, MSG_DONTWAIT);
	struct ucred cred;

	*ret_pid = 0;
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof cred);
		*ret_pid = cred.pid;
	}
	return n;
}

void pl_zygote_read(struct pl_zygote *z)
{
	struct pl_zygote_message m;
	pid_t sender;
	ssize_t n = 0;

	while (z->control.fd >= 0 && (n = message_receive(z->control.fd, &m, &sender)) == sizeof m) {
		if (m.kind == PL_ZYGOTE_READY && !z->proc.pid && pl_proc_pin(sender, -1, &z->proc) < 0) {
			zygote_fail(z, "the zygote could not be held");
			return;
		}
		if (m.kind == PL_ZYGOTE_FORKED)
			forked(z, &m);
		if (m.kind == PL_ZYGOTE_ENDED)
			worker_ended(z, &m);
	}
	if (n != -EAGAIN && z->control.fd >= 0 && n != sizeof m)
		zygote_fail(z, "the zygote of the process wall has ended");
}

static void control_ready(struct pl_source *source, uint32_t events)
{
	(void)events;
	pl_zygote_read(source->owner);
}

static const struct pl_jail_rlimit rlimits[] = {
	{ RLIMIT_CORE, 0, 0 },
	{ RLIMIT_NOFILE, 32, 32 },
	{ RLIMIT_FSIZE, 0, 0 },
	{ RLIMIT_MEMLOCK, 0, 0 },
	{ RLIMIT_STACK, 16ull << 20, 16ull << 20 },
};

int pl_zygote_limits_fit(const struct pl_settings *settings, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN])
{
	const struct pl_jail_rlimit needed[] = {
		{ RLIMIT_AS, ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES },
		{ RLIMIT_DATA, settings->memory_max_bytes, settings->memory_max_bytes },
		pl_jail_rlimit_cpu(settings),
	};
	int rc = pl_jail_rlimits_fit(rlimits, sizeof rlimits / sizeof *rlimits, found, remedy);

	return rc < 0 ? rc : pl_jail_rlimits_fit(needed, sizeof needed / sizeof *needed, found, remedy);
}

static int zygote_jail(struct pl_zygote *z, int far_fd, struct plimsoll_error *error)
{
	struct pl_jail_spec spec = {
		.image = &z->env->worker,
		.argv0 = "plimsoll-worker",
		.stream_fd = far_fd,
		/* Where they cannot be had, whatever the reason, the jail is what is left of it: the tier does not ask for them. */
		.namespaces = z->env->namespaces_error ? 0 : PL_JAIL_NAMESPACES,
		.may_go_without = true,
		.guest_filter = z->env->zygote_filter,
		.init_filter = z->env->init_filter,
		.rlimits = rlimits,
		.rlimit_n = sizeof rlimits / sizeof *rlimits,
	};
	int rc = pl_jail_open(z->env, &spec, &z->jail, error);

	z->jail.owner = z;
	z->jail.report = jail_report;
	return rc;
}

int pl_zygote_new(struct pl_wall_env *env, void *owner,
		  void (*ended)(struct pl_zygote *zygote, const struct plimsoll_error *error), struct pl_zygote **ret,
		  struct plimsoll_error *error)
{
	struct pl_zygote *z = pl_calloc(1, sizeof *z);
	int pair[2] = { -1, -1 }, one = 1, rc = z ? pl_sys_socketpair(SOCK_SEQPACKET, pair) : -ENOMEM;

	if (rc == 0) {
		*z = (struct pl_zygote){ .owner = owner, .ended = ended, .env = env, .proc = PL_PROC_NONE };
		z->control = (struct pl_source){ .fd = -1, .ready = control_ready, .owner = z };
		rc = pl_sys_setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	}
	if (rc == 0)
		rc = pl_loop_add(env->loop, &z->control, pair[0], EPOLLIN);
	if (rc < 0)
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open process",
			 "the zygote's socket could not be made: %s", strerror(-rc));
	else
		rc = zygote_jail(z, pair[1], error);
	pl_fd_close(&pair[1]);
	if (rc < 0) {
		if (z)
			pl_loop_remove(env->loop, &z->control);
		pl_fd_close(&pair[0]);
		pl_free(z);
		return rc;
	}
	*ret = z;
	return 0;
}

int pl_zygote_fork(struct pl_zygote *z, struct pl_worker *worker, int stream_fd)
{
	struct pl_zygote_message m = { .kind = PL_ZYGOTE_FORK };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = &m, .iov_len = sizeof m };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &stream_fd, sizeof stream_fd);
	n = pl_sys_sendmsg(z->control.fd, &msg, MSG_DONTWAIT);
	if (n < 0)
		return (int)n;
	worker->next = z->workers;
	z->workers = worker;
	return 0;
}

void pl_zygote_forget(struct pl_worker *worker)
{
	struct pl_worker **at = &worker->zygote->workers;

	while (*at && *at != worker)
		at = &(*at)->next;
	if (*at)
		*at = worker->next;
}

/* What is left of a zygote that has ended is memory, until its workers are forgotten. */
static void jail_gone(struct pl_jail *jail, const struct pl_jail_report *report)
{
	struct pl_zygote *z = jail->owner;

	if (report)
		return;
	(void)pl_jail_release(jail);
	pl_proc_unpin(&z->proc);
}

void pl_zygote_kill(struct pl_zygote *z)
{
	int fd = z->control.fd;

	z->jail.report = jail_gone;
	pl_loop_remove(z->env->loop, &z->control);
	pl_fd_close(&fd);
	pl_jail_kill(&z->jail);
}

void pl_zygote_free(struct pl_zygote *z)
{
	pl_proc_unpin(&z->proc);
	pl_free(z);
}

void pl_read_probes(const struct pl_reading *r, struct pl_fact *f)
{
	const struct pl_hello *h = &r->sandbox->hello;

	pl_fact_value(f, "%u of %u probes denied", h->probes_denied, h->probes_tried);
}
