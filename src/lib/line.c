/* SPDX-License-Identifier: Apache-2.0 */
/* line: see line.h. Functions here that are static hold the mutex, unless they say otherwise. */
#include "line.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often a CANCEL for which there was no memory is tried again. */
#define CANCEL_RETRY_MS 10
/* Generous, for a machine that is overwhelmed. */
#define CANCEL_WITHIN_MS 10000
/* A queue that had to grow beyond this gives its memory back when it is empty. */
#define QUEUE_KEEP_BYTES (1024u * 1024u)

struct pl_call {
	uint64_t id;
	uint64_t first_byte; /* number of the message's first byte */
	int wake_fd, cancel_fd;
	bool cancel_due;     /* triggered, and CANCEL is not queued yet */
	int64_t cancel_end_us; /* when the answer to it is overdue; 0: not triggered */
	bool done;
	enum pl_line_end end;
	struct pl_answer answer;
	struct pl_call *next;
};

static void call_wake(const struct pl_call *call)
{
	uint64_t one = 1;
	ssize_t n;

	/* Fails only when it is awake 2^64-2 times over. */
	do
		n = write(call->wake_fd, &one, sizeof one);
	while (n < 0 && errno == EINTR);
}

static void call_finish(struct pl_line *line, struct pl_call *call, enum pl_line_end end)
{
	call->end = end;
	call->done = true;
	if (call != line->pump)
		call_wake(call); /* the pump is awake: it is the one that reads */
}

static void line_break(struct pl_line *line)
{
	line->broken = true;
	line->mute = true;
	pl_free(line->body);
	line->body = NULL;
	line->answered = NULL;
	for (struct pl_call *call = line->calls; call; call = call->next)
		if (!call->done)
			call_finish(line, call, PL_LINE_LOST);
	if (line->pump)
		call_wake(line->pump);
}

/* Sends what the socket takes now. A line on which nothing can be sent is not ended here: answers that are already in the
 * socket are still read, and behind them comes its end. */
static void line_flush(struct pl_line *line)
{
	while (line->queue.len && !line->mute) {
		ssize_t n = send(line->fd, pl_buf_head(&line->queue), line->queue.len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0) {
			pl_buf_consume(&line->queue, (size_t)n);
			line->sent += (uint64_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			break;
		} else if (errno != EINTR) {
			line->mute = true;
		}
	}
	if (!line->queue.len && line->queue.capacity > QUEUE_KEEP_BYTES)
		pl_buf_fini(&line->queue);
}

/* For calls that are not the pump: has it poll for room as well, when not everything could be sent. */
static void pump_nudge(const struct pl_line *line, const struct pl_call *call)
{
	if (line->queue.len && !line->mute && line->pump && line->pump != call)
		call_wake(line->pump);
}

static struct pl_call *call_find(const struct pl_line *line, uint64_t id)
{
	for (struct pl_call *call = line->calls; call; call = call->next)
		if (call->id == id && !call->done)
			return call;
	return NULL;
}

static bool type_is_answer(enum pl_msg_type type)
{
	return type == PL_MSG_RESULT || type == PL_MSG_ERROR || type == PL_MSG_EVIDENCE || type == PL_MSG_ROWS;
}

/* The header is complete. -EPROTO ends the line. */
static int header_take(struct pl_line *line)
{
	int rc = pl_msg_header_parse(line->header, &line->incoming);

	if (rc < 0)
		return rc;
	line->answered = call_find(line, line->incoming.id);
	if (!line->answered || !type_is_answer(line->incoming.type))
		return -EPROTO;
	line->body = pl_malloc(line->incoming.payload_len);
	line->body_len = 0;
	return 0;
}

/* The payload is complete. */
static void body_take(struct pl_line *line)
{
	struct pl_call *call = line->answered;

	if (line->body)
		call->answer = (struct pl_answer){ line->incoming.type, line->body, line->incoming.payload_len };
	call_finish(line, call, line->body ? PL_LINE_ANSWERED : PL_LINE_NO_MEMORY);
	line->body = NULL;
	line->answered = NULL;
	line->header_len = 0;
}

/* One recv of what is wanted next: more than 0, or 0 at the end of the line, or -errno. */
static ssize_t line_receive(struct pl_line *line)
{
	uint8_t dropped[4096];
	size_t want = PL_MSG_HEADER_LEN - line->header_len;
	uint8_t *to = line->header + line->header_len;
	ssize_t n;

	if (line->answered) {
		want = line->incoming.payload_len - line->body_len;
		to = line->body ? line->body + line->body_len : dropped;
		if (!line->body && want > sizeof dropped)
			want = sizeof dropped;
	}
	n = recv(line->fd, to, want, MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if (line->answered)
		line->body_len += (size_t)n;
	else
		line->header_len += (size_t)n;
	return n;
}

/* Reads until the socket is empty or own's answer is there. */
static void line_read(struct pl_line *line, const struct pl_call *own)
{
	while (!own->done && !line->broken) {
		ssize_t n = line_receive(line);

		if (n == -EAGAIN || n == -EWOULDBLOCK)
			return;
		if (n == -EINTR)
			continue;
		if (n <= 0) {
			line_break(line);
			return;
		}
		if (!line->answered && line->header_len == PL_MSG_HEADER_LEN && header_take(line) < 0) {
			line_break(line);
			return;
		}
		if (line->answered && line->body_len == line->incoming.payload_len)
			body_take(line);
	}
}

static void cancel_queue(struct pl_line *line, struct pl_call *call)
{
	if (line->mute || pl_msg_empty_print(&line->queue, call->id, PL_MSG_CANCEL) == 0)
		call->cancel_due = false;
	line_flush(line);
	pump_nudge(line, call);
}

static void cancel_take(struct pl_line *line, struct pl_call *call)
{
	call->cancel_fd = -1;
	call->cancel_due = true;
	call->cancel_end_us = pl_now_us() + line->cancel_within_ms * 1000LL;
}

/* How long the call may sleep. */
static int call_timeout_ms(const struct pl_call *call)
{
	int64_t left_us = call->cancel_end_us - pl_now_us();

	if (!call->cancel_end_us)
		return -1;
	if (call->cancel_due)
		return CANCEL_RETRY_MS;
	return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

static void wake_drain(const struct pl_call *call)
{
	uint64_t n;

	while (read(call->wake_fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}

/* Waits for whatever this call has to look at, without the mutex, and looks at it. */
static void call_step(struct pl_line *line, struct pl_call *call)
{
	bool pump = line->pump == call;
	struct pollfd fds[3] = {
		{ .fd = call->wake_fd, .events = POLLIN },
		{ .fd = call->cancel_fd, .events = POLLIN },
		{ .fd = pump ? line->fd : -1, .events = POLLIN },
	};

	if (line->queue.len && !line->mute)
		fds[2].events |= POLLOUT;
	pthread_mutex_unlock(&line->mutex);
	poll(fds, 3, call_timeout_ms(call));
	pthread_mutex_lock(&line->mutex);
	if (fds[0].revents)
		wake_drain(call);
	if (fds[1].revents)
		cancel_take(line, call);
	if (call->cancel_due && !call->done)
		cancel_queue(line, call);
	if (pump && fds[2].revents & POLLOUT)
		line_flush(line);
	if (pump && fds[2].revents & ~POLLOUT)
		line_read(line, call);
	if (!call->done && call->cancel_end_us && pl_now_us() >= call->cancel_end_us)
		line_break(line);
}

static void pump_hand_over(struct pl_line *line)
{
	line->pump = NULL;
	for (struct pl_call *call = line->calls; call; call = call->next) {
		if (call->done)
			continue;
		line->pump = call;
		call_wake(call);
		return;
	}
}

static void call_wait(struct pl_line *line, struct pl_call *call)
{
	while (!call->done) {
		if (!line->pump)
			line->pump = call;
		call_step(line, call);
	}
	if (line->pump == call)
		pump_hand_over(line);
}

static int question_print(struct pl_line *line, uint64_t id, const struct pl_question *question)
{
	if (question->run)
		return pl_msg_run_print(&line->queue, id, question->run);
	if (question->measure)
		return pl_msg_measure_print(&line->queue, id, question->measure);
	return pl_msg_empty_print(&line->queue, id, PL_MSG_DOCTOR);
}

static void call_unlink(struct pl_line *line, const struct pl_call *call)
{
	struct pl_call **at = &line->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
}

/* Queues the question, waits, and returns as pl_line_call. */
static int call_run(struct pl_line *line, const struct pl_question *question, struct pl_call *call)
{
	int rc;

	if (line->mute)
		return -EPIPE;
	call->id = ++line->next_id;
	call->first_byte = line->sent + line->queue.len;
	rc = question_print(line, call->id, question);
	if (rc < 0)
		return rc;
	call->next = line->calls;
	line->calls = call;
	line_flush(line);
	pump_nudge(line, call);
	call_wait(line, call);
	call_unlink(line, call);
	if (call->end == PL_LINE_LOST && line->sent <= call->first_byte)
		return -EPIPE;
	return (int)call->end;
}

int pl_line_call(struct pl_line *line, const struct pl_question *question, struct pl_answer *ret)
{
	struct pl_call call = { .cancel_fd = question->cancel_fd };
	int rc;

	call.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (call.wake_fd < 0)
		return -errno;
	pthread_mutex_lock(&line->mutex);
	line->threads_n++;
	rc = call_run(line, question, &call);
	if (rc == PL_LINE_ANSWERED)
		*ret = call.answer;
	line->threads_n--;
	pthread_cond_signal(&line->left);
	pthread_mutex_unlock(&line->mutex);
	close(call.wake_fd);
	return rc;
}

int pl_line_init(struct pl_line *line, int fd)
{
	int rc;

	*line = (struct pl_line){ .fd = fd, .cancel_within_ms = CANCEL_WITHIN_MS };
	pl_buf_init(&line->queue, PL_LINE_QUEUE_MAX);
	rc = pthread_mutex_init(&line->mutex, NULL);
	if (rc)
		return -rc;
	rc = pthread_cond_init(&line->left, NULL);
	if (rc)
		pthread_mutex_destroy(&line->mutex);
	return -rc;
}

/* Without the mutex: nobody else is left. Reads until the other end closes. */
static void line_drain(int fd, int timeout_ms)
{
	int64_t end_us = pl_now_us() + (int64_t)timeout_ms * 1000, left_us;
	uint8_t dropped[4096];

	while ((left_us = end_us - pl_now_us()) > 0) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&pfd, 1, (int)(left_us / 1000) + 1) < 0 && errno != EINTR)
			return;
		n = recv(fd, dropped, sizeof dropped, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
			return;
	}
}

void pl_line_close(struct pl_line *line, int timeout_ms)
{
	pthread_mutex_lock(&line->mutex);
	line_break(line);
	/* Not only close: a child that the program forked and did not exec may hold a copy of the descriptor. */
	shutdown(line->fd, SHUT_WR);
	while (line->threads_n)
		pthread_cond_wait(&line->left, &line->mutex);
	pthread_mutex_unlock(&line->mutex);
	line_drain(line->fd, timeout_ms);
	pl_fd_close(&line->fd);
	pl_buf_fini(&line->queue);
	pthread_cond_destroy(&line->left);
	pthread_mutex_destroy(&line->mutex);
}

void pl_line_abandon(struct pl_line *line)
{
	/* The mutex may be held by a thread that this process does not have: it is left as it is. */
	pl_fd_close(&line->fd);
	pl_free(line->body);
	pl_buf_fini(&line->queue);
}
