/* SPDX-License-Identifier: Apache-2.0 */
/* start: see start.h. What the other end sends is checked: until OPENED has come with our own build id, it may be any
 * program at all. */
#include "start.h"

#include "spawn.h"

#include "base/clock.h"
#include "base/fd.h"
#include "contract/error.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SUPERVISOR_NAME "plimsoll-supervisor"
/* Looking at the host takes about 10 ms. Much longer, and it is stuck. */
#define OPENED_WITHIN_MS 30000
/* OPENED holds a build id, ERROR three short texts: longer is neither. */
#define GREETING_MAX_BYTES 4096u

#define ENVIRONMENT(...)                                                                                               \
	pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "start supervisor", __VA_ARGS__)
#define OTHER_BUILD(...)                                                                                               \
	pl_error(error, PLIMSOLL_ERROR_BUILD, PLIMSOLL_REASON_PROTOCOL, "greet supervisor", __VA_ARGS__)

struct greeting {
	const char *path;
	int line_fd;
	int64_t end_us;
	uint8_t bytes[PL_MSG_HEADER_LEN + GREETING_MAX_BYTES];
	size_t len;
};

static const char *error_text(int number)
{
	const char *text = strerrordesc_np(number);

	return text ? text : "unknown error";
}

/* Waits until the line is readable: 0, or the error that ends the start. */
static int greeting_wait(const struct greeting *g, struct plimsoll_error *error)
{
	struct pollfd pfd = { .fd = g->line_fd, .events = POLLIN };
	int rc;

	do {
		int64_t left_us = g->end_us - pl_now_us();

		if (left_us <= 0)
			return ENVIRONMENT("%.200s was not ready within %d ms", g->path, OPENED_WITHIN_MS);
		rc = poll(&pfd, 1, (int)(left_us / 1000) + 1);
	} while (rc == 0 || (rc < 0 && errno == EINTR));
	return rc < 0 ? ENVIRONMENT("cannot wait for the supervisor: %s", error_text(errno)) : 0;
}

/* Reads until g->bytes holds want bytes. */
static int greeting_read(struct greeting *g, size_t want, struct plimsoll_error *error)
{
	while (g->len < want) {
		int rc = greeting_wait(g, error);
		ssize_t n;

		if (rc < 0)
			return rc;
		n = recv(g->line_fd, g->bytes + g->len, want - g->len, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return ENVIRONMENT("%.200s ended before it was ready; is it the supervisor of this plimsoll?", g->path);
		g->len += (size_t)n;
	}
	return 0;
}

/* The supervisor refused: its own words, if they are words. */
static int refusal_take(const uint8_t *payload, size_t len, const char *path, struct plimsoll_error *error)
{
	struct plimsoll_error refusal;

	if (pl_msg_error_parse(payload, len, &refusal) < 0 || refusal.reason == PLIMSOLL_REASON_NONE)
		return OTHER_BUILD("%.200s answered in words that this library does not know; install both from one build", path);
	if (error)
		*error = refusal;
	return refusal.code;
}

static int opened_take(const uint8_t *payload, size_t len, const char *build_id, const char *path,
		       struct plimsoll_error *error)
{
	struct pl_msg_opened opened;

	if (pl_msg_opened_parse(payload, len, &opened) < 0)
		return OTHER_BUILD("%.200s answered in words that this library does not know; install both from one build", path);
	if (strcmp(opened.build_id, build_id))
		return OTHER_BUILD("%.160s is of build %.40s, this library of build %.40s; install both from one build", path,
				   opened.build_id, build_id);
	return 0;
}

static int answer_take(struct greeting *g, const char *build_id, struct plimsoll_error *error)
{
	const uint8_t *payload = g->bytes + PL_MSG_HEADER_LEN;
	struct pl_msg_header header;
	int rc = greeting_read(g, PL_MSG_HEADER_LEN, error);

	if (rc < 0)
		return rc;
	if (pl_msg_header_parse(g->bytes, &header) < 0 || header.id != 0 || header.payload_len > GREETING_MAX_BYTES ||
	    (header.type != PL_MSG_OPENED && header.type != PL_MSG_ERROR))
		return OTHER_BUILD("%.200s does not greet as a supervisor of this build does; install both from one build",
				   g->path);
	rc = greeting_read(g, PL_MSG_HEADER_LEN + header.payload_len, error);
	if (rc < 0)
		return rc;
	if (header.type == PL_MSG_ERROR)
		return refusal_take(payload, header.payload_len, g->path, error);
	return opened_take(payload, header.payload_len, build_id, g->path, error);
}

/* OPEN is small beside a socket's buffer. If it cannot be sent the other end is gone, and reading says why. */
static int open_send(int line_fd, struct pl_msg_open *open, struct plimsoll_error *error)
{
	struct pl_buf out;
	size_t sent = 0;
	int rc;

	pl_buf_init(&out, 64 * 1024);
	rc = pl_msg_open_print(&out, 0, open);
	if (rc < 0) {
		pl_buf_fini(&out);
		return ENVIRONMENT("cannot write the options: %s", error_text(-rc));
	}
	while (sent < out.len) {
		ssize_t n = send(line_fd, pl_buf_head(&out) + sent, out.len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	pl_buf_fini(&out);
	return 0;
}

static const char *next_step(int rc, const char *step)
{
	if (rc == -EAGAIN)
		return "raise the limit on processes (ulimit -u)";
	/* EINVAL: the limit is below the number that was asked for. */
	if (rc == -EMFILE || rc == -ENFILE || strcmp(step, "fcntl") == 0)
		return "raise the limit on descriptors (ulimit -n)";
	if (rc == -ENOMEM)
		return "raise the limit on memory (ulimit -v), or free some";
	if (strcmp(step, "open /dev/null") == 0)
		return "mount a /dev with the usual devices";
	return "a sandbox that plimsoll is started in may forbid it";
}

static int spawn_failed(int rc, const char *step, const char *path, struct plimsoll_error *error)
{
	if (strcmp(step, "execve") == 0)
		return ENVIRONMENT("cannot start %.200s: %s; install the helper programs there, or name their directory in "
				   "libexec_dir",
				   path, error_text(-rc));
	return ENVIRONMENT("cannot start %.200s: %s: %s; %s", path, step, error_text(-rc), next_step(rc, step));
}

int pl_start(const char *libexec_dir, struct pl_msg_open *open, struct plimsoll_error *error)
{
	char path[PATH_MAX];
	struct greeting g = { .path = path, .line_fd = -1 };
	int n = snprintf(path, sizeof path, "%s/" SUPERVISOR_NAME, libexec_dir);
	const char *step;
	int rc;

	if (n < 0 || (size_t)n >= sizeof path)
		return pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "check options",
				"libexec_dir is longer than a path may be (%d bytes)", PATH_MAX);
	rc = pl_spawn(path, SUPERVISOR_NAME, &g.line_fd, &step);
	if (rc < 0)
		return spawn_failed(rc, step, path, error);
	g.end_us = pl_now_us() + OPENED_WITHIN_MS * 1000LL;
	rc = open_send(g.line_fd, open, error);
	if (rc == 0)
		rc = answer_take(&g, open->build_id, error);
	if (rc < 0) {
		pl_fd_close(&g.line_fd);
		return rc;
	}
	return g.line_fd;
}
