/* SPDX-License-Identifier: Apache-2.0 */
/* line: the lifeline, as the library's callers share it. One per context; any number of threads call at once, and the
 * library has no thread of its own.
 *
 * How it works. The socket is only touched with the mutex held, and never in a way that blocks. A call appends its message
 * to one queue of outgoing bytes, sends what the socket takes, and waits. Of the threads that wait, one is the pump: besides
 * its own descriptors it polls the lifeline, hands each answer to the call that it belongs to, and sends what is still in the
 * queue. When the pump's own answer has come it makes another waiting call the pump. Every call has an eventfd by which it is
 * woken, and polls its own cancel descriptor itself, whether it is the pump or not. So every thread polls at most three
 * descriptors, and there is a pump whenever anybody waits.
 *
 * Whether a call's message has left is a matter of counting: the queue's bytes are numbered from the start of the line, and
 * a message was written, at least in part, when more bytes have been sent than came before it.
 *
 * What comes from the other end is checked as if it could be anything: a message that answers no waiting call ends the line. */
#ifndef PL_LIB_LINE_H
#define PL_LIB_LINE_H

#include "base/buf.h"
#include "wire/msg.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than this waiting to be sent, and a further call is refused before it is queued. */
#define PL_LINE_QUEUE_MAX (64u * 1024u * 1024u)

struct pl_call;

struct pl_line {
	int fd;
	pthread_mutex_t mutex;
	pthread_cond_t left; /* a thread has left while the line is being closed */
	bool broken;         /* nothing more will come */
	bool mute;           /* nothing more can be sent; answers may still come */
	size_t threads_n;    /* inside pl_line_call */
	int cancel_within_ms; /* a CANCEL is answered at once; later, and the other end is stuck: the line is ended */
	struct pl_call *calls, *pump;
	uint64_t next_id;
	struct pl_buf queue; /* still to be sent */
	uint64_t sent;       /* bytes sent since the line was made */
	uint8_t header[PL_MSG_HEADER_LEN];
	size_t header_len;
	struct pl_msg_header incoming;
	struct pl_call *answered; /* whose answer is being received */
	uint8_t *body;            /* its payload so far; NULL: there was no memory, the bytes are read and dropped */
	size_t body_len;
};

struct pl_answer {
	enum pl_msg_type type;
	uint8_t *payload; /* for pl_free */
	size_t len;
};

/* What to send. Exactly one of the pointers is set, or none: DOCTOR. */
struct pl_question {
	struct pl_msg_run *run;
	struct pl_msg_measure *measure;
	int cancel_fd; /* readable when the call is to be cancelled; -1: never */
};

/* How a call that got no answer ended. Negative -errno from pl_line_call is none of these: then nothing was written. */
enum pl_line_end {
	PL_LINE_ANSWERED = 0,
	PL_LINE_LOST,     /* the line ended after the message had been written, at least in part */
	PL_LINE_NO_MEMORY /* the answer came and there was no memory for it */
};

/* Takes the descriptor on success. 0 or -errno. */
int pl_line_init(struct pl_line *line, int fd);
/* Asks and waits. An enum pl_line_end, or -errno: nothing was written (-EPIPE: the line had ended). The thread must not be
 * cancelled meanwhile: the call stands on its stack and in the line's list. */
int pl_line_call(struct pl_line *line, const struct pl_question *question, struct pl_answer *ret);
/* Ends every call, tells the other end, and waits until it has closed its own, at most timeout_ms. Frees everything. */
void pl_line_close(struct pl_line *line, int timeout_ms);
/* In a forked child of the line's owner: closes the descriptor and frees, without a word to the other end. */
void pl_line_abandon(struct pl_line *line);

#endif
