/* SPDX-License-Identifier: Apache-2.0 */
/* gate: the order of steps between a sandbox and a run, as a state machine without I/O. The supervisor drives it; a step out
 * of order is -EPROTO and changes nothing, whatever the caller believes.
 *
 *   OPENING -challenge-> CHALLENGED -hello-> ANSWERED -pass-> WAITING -pass+dispatch-> DISPATCHED -result-> BLOCKED
 *                                                                                         \------ end ------> ENDED
 *
 * The job lives here from the moment a run is accepted until dispatch takes it out. That makes the mark a matter of
 * ownership: pl_run_error may promise "nothing ran" exactly as long as the run still owns its job. */
#ifndef PL_CONTRACT_GATE_H
#define PL_CONTRACT_GATE_H

#include "base/buf.h"
#include "contract/fact.h"
#include "contract/limits.h"
#include "wire/frame.h"

enum pl_gate_state {
	PL_GATE_OPENING,    /* the sandbox is being built */
	PL_GATE_CHALLENGED, /* the challenge is sent, HELLO is awaited */
	PL_GATE_ANSWERED,   /* HELLO was right; facts are not yet derived */
	PL_GATE_WAITING,    /* measured and met: waits for a run */
	PL_GATE_DISPATCHED, /* the job is on its way: it may have run */
	PL_GATE_BLOCKED,    /* the guest said RESULT and waits */
	PL_GATE_ENDED,
};

struct pl_gate {
	enum pl_gate_state state;
	uint8_t challenge[PL_CHALLENGE_LEN];
	enum plimsoll_tier tier; /* as derived at the last pass; UNKNOWN before */
};

/* One accepted request. Owned by the supervisor. */
struct pl_run {
	uint64_t id;
	struct pl_limits limits;
	enum plimsoll_tier floor;
	struct pl_buf job;  /* the JOB frame, header and payload; empty once dispatched */
	bool dispatched;
	int64_t dispatched_us, deadline_us;
};

void pl_gate_init(struct pl_gate *gate);
/* Takes fresh random bytes; the caller sends them. */
int pl_gate_challenge(struct pl_gate *gate, const uint8_t challenge[PL_CHALLENGE_LEN]);
/* Checks HELLO: the image id must be ours, the digest right over this challenge. -EBADMSG if not. */
int pl_gate_hello(struct pl_gate *gate, const struct pl_hello *hello, const uint8_t image_id[PL_IMAGE_ID_LEN]);
/* Derives the tier from facts; to WAITING when all required facts are met (from ANSWERED or WAITING), else *error. */
int pl_gate_pass(struct pl_gate *gate, const struct pl_profile *profile, const struct pl_fact *facts,
		 struct pl_verdict *ret_verdict, struct plimsoll_error *error);
/* The dispatch: compares floors, marks the run, and moves its job into *ret_job (the caller's to pl_buf_fini). On failure the
 * job stays with the run. now_us starts the payload's clock. */
int pl_gate_dispatch(struct pl_gate *gate, struct pl_run *run, const struct pl_profile *profile,
		     enum plimsoll_tier operator_floor, int64_t now_us, struct pl_buf *ret_job, struct plimsoll_error *error);
int pl_gate_result(struct pl_gate *gate);
void pl_gate_end(struct pl_gate *gate);

/* Makes the JOB frame of a request; 0 or -errno. */
int pl_run_init(struct pl_run *run, uint64_t id, const struct pl_msg_run *msg, const struct pl_limits *limits,
		const uint8_t seed[PL_SEED_LEN], int64_t now_ms);
void pl_run_fini(struct pl_run *run);
/* The one place where an error about a run gets or loses its mark: error->reason stays as the cause only while the run owns
 * its undispatched job; otherwise it becomes NONE, "may have run". */
void pl_run_mark(const struct pl_run *run, struct plimsoll_error *error);

#endif
