/* SPDX-License-Identifier: Apache-2.0 */
/* lifeline: the socket to the library. Its messages are checked as if they came from a stranger; a message that is not
 * understood ends the supervisor, since what was meant to run or not to run is then unknown. Its end ends everything. */
#include "supervisor/supervisor.h"

#include "build_id.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* A run message holds at most 256 KiB of code and some names. */
#define IN_MAX (1024u * 1024u)
/* Answers of up to 256 runs, each with two streams, may wait for a library that does not read. */
#define OUT_MAX (512u * 1024u * 1024u)
#define READ_CHUNK (64u * 1024u)

static void open_answer(struct supervisor *s, uint64_t id, const uint8_t *payload, size_t len)
{
	struct pl_msg_opened opened = { .build_id = PL_BUILD_ID };
	struct plimsoll_error error;
	struct pl_msg_open open;
	int rc;

	if (s->line.opened || pl_msg_open_parse(payload, len, &open) < 0) {
		s->ending = true;
		return;
	}
	if (strcmp(open.build_id, PL_BUILD_ID) != 0)
		rc = pl_error(&error, PLIMSOLL_ERROR_BUILD, PLIMSOLL_REASON_PROTOCOL, "compare build ids",
			      "library and supervisor are of different builds (%.12s and %.12s); install both from one build",
			      open.build_id, PL_BUILD_ID);
	else
		rc = supervisor_start(s, &open, &error);
	if (rc < 0) {
		lifeline_answer_error(s, id, &error);
		return;
	}
	s->line.opened = true;
	if (pl_msg_opened_print(&s->line.out, id, &opened) < 0)
		s->ending = true;
}

static void message_take(struct supervisor *s, const struct pl_msg_header *header, const uint8_t *payload)
{
	struct pl_msg_run run;
	struct pl_msg_measure measure;

	pl_fault_load("supervisor", s->helpers_fd, s->env.fault, sizeof s->env.fault);
	if (header->type == PL_MSG_OPEN) {
		open_answer(s, header->id, payload, header->payload_len);
	} else if (!s->line.opened) {
		s->ending = true;
	} else if (header->type == PL_MSG_RUN && pl_msg_run_parse(payload, header->payload_len, &run) == 0) {
		request_run(s, header->id, &run);
	} else if (header->type == PL_MSG_MEASURE && pl_msg_measure_parse(payload, header->payload_len, &measure) == 0) {
		request_measure(s, header->id, &measure);
	} else if (header->type == PL_MSG_CANCEL && header->payload_len == 0) {
		request_cancel(s, header->id);
	} else if (header->type == PL_MSG_DOCTOR && header->payload_len == 0) {
		doctor_answer(s, header->id);
	} else {
		s->ending = true;
	}
}

static void messages_take(struct supervisor *s)
{
	struct pl_buf *in = &s->line.in;
	struct pl_msg_header header;

	while (in->len >= PL_MSG_HEADER_LEN && !s->ending) {
		if (pl_msg_header_parse(pl_buf_head(in), &header) < 0 || header.payload_len > IN_MAX - PL_MSG_HEADER_LEN) {
			s->ending = true;
			return;
		}
		if (in->len < PL_MSG_HEADER_LEN + header.payload_len)
			return;
		message_take(s, &header, pl_buf_head(in) + PL_MSG_HEADER_LEN);
		pl_buf_consume(in, PL_MSG_HEADER_LEN + header.payload_len);
	}
}

static void line_ready(struct pl_source *source, uint32_t events)
{
	struct supervisor *s = source->owner;
	uint8_t *to;
	ssize_t n;

	if (events & EPOLLOUT)
		lifeline_flush(s);
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	to = pl_buf_reserve(&s->line.in, READ_CHUNK);
	n = to ? pl_sys_recv(source->fd, to, READ_CHUNK, MSG_DONTWAIT) : -ENOMEM;
	if (n == -EAGAIN)
		return;
	if (n <= 0) {
		s->ending = true;
		return;
	}
	pl_buf_commit(&s->line.in, (size_t)n);
	messages_take(s);
	lifeline_flush(s);
}

void lifeline_flush(struct supervisor *s)
{
	struct pl_buf *out = &s->line.out;

	while (out->len && s->line.source.fd >= 0) {
		ssize_t n = pl_sys_send(s->line.source.fd, pl_buf_head(out), out->len, MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			s->ending = true;
			return;
		}
		pl_buf_consume(out, (size_t)n);
	}
	if (pl_loop_change(&s->loop, &s->line.source, out->len ? EPOLLIN | EPOLLOUT : EPOLLIN) < 0)
		s->ending = true;
}

void lifeline_answer_error(struct supervisor *s, uint64_t id, const struct plimsoll_error *error)
{
	struct plimsoll_error copy = *error;

	/* An answer that cannot be given leaves the library waiting; the end of the lifeline tells it instead. */
	if (pl_msg_error_print(&s->line.out, id, &copy) < 0)
		s->ending = true;
}

static void caller_ended(struct pl_source *source, uint32_t events)
{
	struct supervisor *s = source->owner;

	(void)events;
	s->ending = true;
}

/* A child that the caller forked holds the lifeline too, without a right to it (the library refuses it). So the end of the
 * process that made the socket counts as its end. -ESRCH: it ended before we looked. A caller whose pid means nothing here (0)
 * is not watched. */
static int caller_watch(struct supervisor *s)
{
	struct ucred caller;
	socklen_t len = sizeof caller;
	int fd;

	if (getsockopt(PL_LIFELINE_FD, SOL_SOCKET, SO_PEERCRED, &caller, &len) < 0)
		return -errno;
	if (caller.pid <= 0)
		return 0;
	fd = pl_sys_pidfd_open(caller.pid);
	if (fd < 0)
		return fd;
	s->line.caller = (struct pl_source){ .fd = -1, .ready = caller_ended, .owner = s };
	return pl_loop_add(&s->loop, &s->line.caller, fd, EPOLLIN);
}

int lifeline_open(struct supervisor *s)
{
	struct stat st;
	int rc = pl_sys_fstat(PL_LIFELINE_FD, &st);

	if (rc < 0)
		return rc;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (fcntl(PL_LIFELINE_FD, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	pl_buf_init(&s->line.in, IN_MAX + READ_CHUNK);
	pl_buf_init(&s->line.out, OUT_MAX);
	s->line.source = (struct pl_source){ .fd = -1, .ready = line_ready, .owner = s };
	rc = pl_loop_add(&s->loop, &s->line.source, PL_LIFELINE_FD, EPOLLIN);
	return rc < 0 ? rc : caller_watch(s);
}

void lifeline_close(struct supervisor *s)
{
	/* The descriptor itself stays open until this process ends: the library waits for that, and takes it to mean that
	 * everything is cleaned up. */
	pl_loop_remove(&s->loop, &s->line.source);
	pl_buf_fini(&s->line.in);
	pl_buf_fini(&s->line.out);
}
