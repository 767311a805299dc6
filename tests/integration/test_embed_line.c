/* SPDX-License-Identifier: Apache-2.0 */
/* The lifeline of the library (src/lib/line.c) with this test at its other end, which may be as slow, as wrong and as dead as
 * it likes: the real supervisor is none of these often enough. */
#include "lib/line.h"

#include "base/alloc.h"
#include "plimsoll/plimsoll.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define CODE_MAX (256 * 1024)

struct ends {
	struct pl_line line;
	int peer;
};

static void ends_open(struct ends *ends)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(pl_line_init(&ends->line, fds[0]), 0);
	ends->peer = fds[1];
}

static void peer_close(struct ends *ends)
{
	if (ends->peer >= 0)
		close(ends->peer);
	ends->peer = -1;
}

static void ends_close(struct ends *ends)
{
	peer_close(ends);
	pl_line_close(&ends->line, 1000);
}

/* Reads exactly len bytes; 0 at the end of the line. */
static int peer_read(int fd, void *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = read(fd, (char *)bytes + at, len - at);

		if (n <= 0)
			return 0;
		at += (size_t)n;
	}
	return 1;
}

struct heard {
	struct pl_msg_header header;
	uint8_t *payload;
};

static int peer_hear(int fd, struct heard *ret)
{
	uint8_t bytes[PL_MSG_HEADER_LEN];

	if (!peer_read(fd, bytes, sizeof bytes))
		return 0;
	assert_int_equal(pl_msg_header_parse(bytes, &ret->header), 0);
	ret->payload = malloc(ret->header.payload_len + 1);
	return peer_read(fd, ret->payload, ret->header.payload_len);
}

static void peer_write(int fd, const struct pl_buf *buf, size_t chunk)
{
	for (size_t at = 0; at < buf->len; at += chunk) {
		size_t n = buf->len - at < chunk ? buf->len - at : chunk;

		assert_int_equal(write(fd, pl_buf_head(buf) + at, n), (ssize_t)n);
	}
}

/* Answers with an error whose message is text. */
static void peer_answer(int fd, uint64_t id, const char *text, size_t chunk)
{
	struct plimsoll_error error = { .code = PLIMSOLL_ERROR_CAPACITY, .reason = PLIMSOLL_REASON_CAPACITY };
	struct pl_buf buf;

	snprintf(error.message, sizeof error.message, "%s", text);
	pl_buf_init(&buf, 65536);
	assert_int_equal(pl_msg_error_print(&buf, id, &error), 0);
	peer_write(fd, &buf, chunk);
	pl_buf_fini(&buf);
}

/* One thread that asks for one run, whose name the answer has to repeat. */
struct asker {
	pthread_t thread;
	struct pl_line *line;
	size_t code_len;
	char name[32];
	int cancel_fd, rounds, rc, wrong_n;
};

static int ask_once(struct asker *asker, const uint8_t *code)
{
	struct pl_msg_run run = { .code = code, .code_len = asker->code_len, .name = asker->name, .floor = "", .wall = "" };
	struct pl_question question = { .run = &run, .cancel_fd = asker->cancel_fd };
	struct plimsoll_error error;
	struct pl_answer answer;
	int rc = pl_line_call(asker->line, &question, &answer);

	if (rc != PL_LINE_ANSWERED)
		return rc;
	if (answer.type != PL_MSG_ERROR || pl_msg_error_parse(answer.payload, answer.len, &error) < 0 ||
	    strcmp(error.message, asker->name))
		asker->wrong_n++;
	pl_free(answer.payload);
	return rc;
}

static void *asker_main(void *data)
{
	struct asker *asker = data;
	uint8_t *code = malloc(asker->code_len);

	memset(code, asker->name[0], asker->code_len);
	for (int i = 0; i < asker->rounds; i++) {
		asker->rc = ask_once(asker, code);
		if (asker->rc)
			break;
	}
	free(code);
	return NULL;
}

static void asker_start(struct asker *asker, struct ends *ends, int i, size_t code_len, int rounds)
{
	*asker = (struct asker){ .line = &ends->line, .code_len = code_len, .cancel_fd = -1, .rounds = rounds, .rc = 99 };
	snprintf(asker->name, sizeof asker->name, "%c asker", 'a' + i);
	assert_int_equal(pthread_create(&asker->thread, NULL, asker_main, asker), 0);
}

static void asker_expect(struct asker *asker, int rc)
{
	pthread_join(asker->thread, NULL);
	assert_int_equal(asker->rc, rc);
	assert_int_equal(asker->wrong_n, 0);
}

/* Hears a run, checks that its code arrived whole, and answers. */
static void run_answer(int fd, struct heard *heard, size_t chunk)
{
	struct pl_msg_run run;

	assert_int_equal(heard->header.type, PL_MSG_RUN);
	assert_int_equal(pl_msg_run_parse(heard->payload, heard->header.payload_len, &run), 0);
	for (size_t i = 0; i < run.code_len; i++)
		if (run.code[i] != (uint8_t)run.name[0])
			fail_msg("byte %zu of %s is %d", i, run.name, run.code[i]);
	peer_answer(fd, heard->header.id, run.name, chunk);
	free(heard->payload);
}

static void test_answers_out_of_order(void **state)
{
	enum { ASKERS = 8, ROUNDS = 300 };
	struct asker askers[ASKERS];
	struct heard heard[ASKERS];
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < ASKERS; i++)
		asker_start(&askers[i], &ends, i, 10, ROUNDS);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < ASKERS; i++)
			assert_true(peer_hear(ends.peer, &heard[i]));
		for (int i = 0; i < ASKERS; i++)
			run_answer(ends.peer, &heard[(i * 5 + round) % ASKERS], 4096);
	}
	for (int i = 0; i < ASKERS; i++)
		asker_expect(&askers[i], 0);
	ends_close(&ends);
}

static void test_bytes_one_at_a_time(void **state)
{
	struct asker asker;
	struct heard heard;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	asker_start(&asker, &ends, 0, 5, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(peer_hear(ends.peer, &heard));
		run_answer(ends.peer, &heard, 1);
	}
	asker_expect(&asker, 0);
	ends_close(&ends);
}

/* More than the socket holds: what is left over is sent by whoever is the pump when there is room. */
static void test_slow_reader(void **state)
{
	enum { ASKERS = 8, ROUNDS = 6 };
	struct asker askers[ASKERS];
	struct heard heard;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < ASKERS; i++)
		asker_start(&askers[i], &ends, i, CODE_MAX, ROUNDS);
	usleep(100000);
	for (int i = 0; i < ASKERS * ROUNDS; i++) {
		assert_true(peer_hear(ends.peer, &heard));
		run_answer(ends.peer, &heard, 4096);
	}
	for (int i = 0; i < ASKERS; i++)
		asker_expect(&askers[i], 0);
	ends_close(&ends);
}

static void test_dead_before_the_question(void **state)
{
	struct asker asker;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	peer_close(&ends);
	for (int i = 0; i < 2; i++) {
		asker_start(&asker, &ends, 0, 10, 1);
		asker_expect(&asker, -EPIPE);
	}
	ends_close(&ends);
}

static void test_dead_after_the_question(void **state)
{
	struct asker askers[3];
	struct heard heard;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < 3; i++)
		asker_start(&askers[i], &ends, i, 10, 1);
	for (int i = 0; i < 3; i++) {
		assert_true(peer_hear(ends.peer, &heard));
		free(heard.payload);
	}
	peer_close(&ends);
	for (int i = 0; i < 3; i++)
		asker_expect(&askers[i], PL_LINE_LOST);
	/* And from now on nothing is written. */
	asker_start(&askers[0], &ends, 0, 10, 1);
	asker_expect(&askers[0], -EPIPE);
	ends_close(&ends);
}

/* Nobody reads. The first question fills the socket and counts as written, since a part of it was; those behind it in the
 * queue were not, not by one byte. */
static void test_dead_while_questions_wait(void **state)
{
	enum { ASKERS = 6 };
	struct asker askers[ASKERS];
	int size = 64 * 1024, lost_n = 0, unwritten_n = 0;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	setsockopt(ends.line.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	for (int i = 0; i < ASKERS; i++)
		asker_start(&askers[i], &ends, i, CODE_MAX, 1);
	usleep(200000);
	peer_close(&ends);
	for (int i = 0; i < ASKERS; i++) {
		pthread_join(askers[i].thread, NULL);
		lost_n += askers[i].rc == PL_LINE_LOST;
		unwritten_n += askers[i].rc == -EPIPE;
	}
	assert_int_equal(lost_n, 1);
	assert_int_equal(unwritten_n, ASKERS - 1);
	ends_close(&ends);
}

/* An answer that is in the socket when its sender dies is an answer. */
static void test_answered_then_dead(void **state)
{
	struct asker askers[2];
	struct heard heard[2];
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < 2; i++)
		asker_start(&askers[i], &ends, i, 10, 1);
	for (int i = 0; i < 2; i++)
		assert_true(peer_hear(ends.peer, &heard[i]));
	run_answer(ends.peer, &heard[1], 4096);
	run_answer(ends.peer, &heard[0], 4096);
	peer_close(&ends);
	for (int i = 0; i < 2; i++)
		asker_expect(&askers[i], 0);
	ends_close(&ends);
}

static void garbage_try(const uint8_t *bytes, size_t len)
{
	struct asker askers[2];
	struct heard heard;
	struct ends ends;

	ends_open(&ends);
	for (int i = 0; i < 2; i++)
		asker_start(&askers[i], &ends, i, 10, 1);
	for (int i = 0; i < 2; i++) {
		assert_true(peer_hear(ends.peer, &heard));
		free(heard.payload);
	}
	assert_int_equal(write(ends.peer, bytes, len), (ssize_t)len);
	for (int i = 0; i < 2; i++)
		asker_expect(&askers[i], PL_LINE_LOST);
	ends_close(&ends);
}

static void test_garbage(void **state)
{
	static const struct pl_msg_header headers[] = {
		{ .payload_len = 0, .type = (enum pl_msg_type)99, .id = 1 },      /* no such type */
		{ .payload_len = 0, .type = PL_MSG_RUN, .id = 1 },                /* no answer */
		{ .payload_len = 0, .type = PL_MSG_ERROR, .id = 77 },             /* to nobody */
		{ .payload_len = 0, .type = PL_MSG_ERROR, .id = 0 },
		{ .payload_len = PL_MSG_PAYLOAD_MAX + 1, .type = PL_MSG_ERROR, .id = 1 },
	};
	uint8_t bytes[PL_MSG_HEADER_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
		pl_msg_header_print(bytes, &headers[i]);
		garbage_try(bytes, sizeof bytes);
	}
	memset(bytes, 0xff, sizeof bytes);
	garbage_try(bytes, sizeof bytes);
}

/* A trigger given to a thread that is the pump, and to one that is not. */
static void test_cancel(void **state)
{
	struct asker askers[4];
	struct heard heard[4], cancel;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < 4; i++) {
		askers[i] = (struct asker){ .line = &ends.line, .code_len = 9, .rounds = 1, .rc = 99 };
		askers[i].cancel_fd = eventfd(0, EFD_CLOEXEC);
		snprintf(askers[i].name, sizeof askers[i].name, "%c asker", 'a' + i);
		assert_int_equal(pthread_create(&askers[i].thread, NULL, asker_main, &askers[i]), 0);
		assert_true(peer_hear(ends.peer, &heard[i]));
	}
	for (int i = 3; i >= 0; i--) {
		assert_int_equal(eventfd_write(askers[i].cancel_fd, 1), 0);
		assert_true(peer_hear(ends.peer, &cancel));
		assert_int_equal(cancel.header.type, PL_MSG_CANCEL);
		assert_int_equal(cancel.header.id, heard[i].header.id);
		free(cancel.payload);
		run_answer(ends.peer, &heard[i], 4096);
		asker_expect(&askers[i], 0);
		close(askers[i].cancel_fd);
	}
	/* CANCEL was said once each. */
	assert_int_equal(recv(ends.peer, &cancel, 1, MSG_DONTWAIT), -1);
	ends_close(&ends);
}

/* The other end stands still. Cancelling ends the call all the same, and with it the line. */
static void test_cancel_is_not_answered(void **state)
{
	struct asker askers[2];
	struct heard heard;
	struct ends ends;
	int cancel_fd = eventfd(1, EFD_CLOEXEC);

	(void)state;
	ends_open(&ends);
	ends.line.cancel_within_ms = 100;
	asker_start(&askers[0], &ends, 0, 10, 1);
	assert_true(peer_hear(ends.peer, &heard));
	free(heard.payload);
	askers[1] = (struct asker){ .line = &ends.line, .code_len = 9, .rounds = 1, .rc = 99, .cancel_fd = cancel_fd };
	assert_int_equal(pthread_create(&askers[1].thread, NULL, asker_main, &askers[1]), 0);
	for (int i = 0; i < 2; i++)
		asker_expect(&askers[i], PL_LINE_LOST);
	close(cancel_fd);
	ends_close(&ends);
}

static void test_close_ends_calls(void **state)
{
	struct asker askers[4];
	struct heard heard;
	struct ends ends;

	(void)state;
	ends_open(&ends);
	for (int i = 0; i < 4; i++)
		asker_start(&askers[i], &ends, i, 10, 1);
	for (int i = 0; i < 4; i++) {
		assert_true(peer_hear(ends.peer, &heard));
		free(heard.payload);
	}
	/* The peer does not close: the wait for it is bounded. */
	pl_line_close(&ends.line, 100);
	for (int i = 0; i < 4; i++)
		asker_expect(&askers[i], PL_LINE_LOST);
	assert_int_equal(read(ends.peer, &heard, 1), 0);
	close(ends.peer);
}

/* The n-th allocation of a call fails. Where it is the one for the answer the call was made, else nothing was written; the
 * line is as good as before in either case. Whether there was an n-th. */
static int no_memory_try(unsigned long n, int *ret_answer_lost)
{
	struct plimsoll_error error = { .code = PLIMSOLL_ERROR_CAPACITY, .message = "a asker" };
	struct pollfd pfd;
	struct asker asker;
	struct heard heard;
	struct pl_buf answer; /* made before, since it is the call whose memory is to fail */
	struct ends ends;
	int failed;

	ends_open(&ends);
	pl_buf_init(&answer, 4096);
	assert_int_equal(pl_msg_error_print(&answer, 1, &error), 0);
	pl_alloc_fail(n);
	asker_start(&asker, &ends, 0, 5000, 1);
	pfd = (struct pollfd){ .fd = ends.peer, .events = POLLIN };
	if (poll(&pfd, 1, 300) == 1) {
		assert_true(peer_hear(ends.peer, &heard));
		free(heard.payload);
		peer_write(ends.peer, &answer, 4096);
		pthread_join(asker.thread, NULL);
		failed = pl_alloc_failed();
		*ret_answer_lost += asker.rc == PL_LINE_NO_MEMORY;
		assert_int_equal(asker.rc, failed ? PL_LINE_NO_MEMORY : 0);
	} else {
		pthread_join(asker.thread, NULL);
		failed = pl_alloc_failed();
		assert_true(failed);
		assert_int_equal(asker.rc, -ENOMEM);
	}
	pl_alloc_fail(0);
	asker_start(&asker, &ends, 0, 5, 1);
	assert_true(peer_hear(ends.peer, &heard));
	run_answer(ends.peer, &heard, 4096);
	asker_expect(&asker, 0);
	pl_buf_fini(&answer);
	ends_close(&ends);
	return failed;
}

static void test_no_memory(void **state)
{
	int answer_lost_n = 0;
	unsigned long n = 1;

	(void)state;
	while (no_memory_try(n, &answer_lost_n))
		n++;
	assert_in_range(n, 3, 20);
	assert_int_equal(answer_lost_n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_out_of_order),
		cmocka_unit_test(test_bytes_one_at_a_time),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_dead_before_the_question),
		cmocka_unit_test(test_dead_after_the_question),
		cmocka_unit_test(test_dead_while_questions_wait),
		cmocka_unit_test(test_answered_then_dead),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_is_not_answered),
		cmocka_unit_test(test_close_ends_calls),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests_name("embed_line", tests, NULL, NULL);
}
