/* SPDX-License-Identifier: Apache-2.0 */
/* session: the guest's side of the protocol of wire/frame.h, over one stream socket, from CHALLENGE to the end of the stream.
 *
 * Shared by plimsoll-guest and the workers of the process wall; a process has one session in its life, so its state is static.
 * Both are trusted until the job arrives. The host is trusted, but a frame that breaks the protocol ends the process. */
#ifndef PL_GUEST_SESSION_H
#define PL_GUEST_SESSION_H

#include "engine/engine.h"
#include "wire/frame.h"

#include <stddef.h>
#include <stdint.h>

/* Exit codes of a guest process, all of them before or after the program's own life. */
#define PL_GUEST_EXIT_END 0       /* the stream ended where it may */
#define PL_GUEST_EXIT_PROTOCOL 70 /* the host broke the protocol */
#define PL_GUEST_EXIT_SYSTEM 71   /* a system call failed that a guest needs */

/* What runs the job. payload is the whole JOB payload that job points into, with a NUL after its last byte. */
struct pl_session_engine {
	void (*run)(const struct pl_job *job, const uint8_t *payload, size_t payload_len, struct pl_engine_result *ret);
};

/* Speaks the whole protocol on fd and ends the process. */
void pl_session_main(int fd, const struct pl_session_engine *engine) __attribute__((noreturn));

/* For the engine's host table, while a job runs. */
void pl_session_write(enum pl_stream stream, const uint8_t *bytes, size_t len);
void pl_session_finish(const struct pl_engine_result *result) __attribute__((noreturn));
int64_t pl_session_monotonic_ns(void);
/* Returns at the deadline; ends the process when the host hangs up before. */
void pl_session_sleep_until_ns(int64_t deadline_ns);
/* Ends the process when the host has hung up; looks at most every 50 ms. */
void pl_session_check_host(void);

#endif
