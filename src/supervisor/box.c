/* SPDX-License-Identifier: Apache-2.0 */
/* box: one sandbox through the gate and, at most, one run. This is the file that keeps contract.md, 2; the order of the
 * steps is contract/gate's, what is measured is the wall's, what is answered is request's.
 *
 *   box_open > challenge_send > hello_take > measure_open > [pool] > box_pass > dispatch > frames_take > ...
 *     RESULT:    result_finish                     (the guest is blocked: read again, answer, kill)
 *     deadline:  halt_begin > halt_finish          (stands still: read again, answer, kill)
 *     death:     stream ends > box_ended           (init reports: read again through init, answer, kill) */
#include "supervisor/supervisor.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#define GATE_US (5 * 1000000)  /* from opening to HELLO: the gate's own deadline */
#define HALT_US (1000000)      /* how long a guest may take to stand still */
#define DEATH_US (1000000)     /* how long after the end of its stream a guest may take to be reported dead */
#define TICK_US 500            /* how often standing still and releasing are looked at */
#define DYING_LOOKS 40         /* ticks that a guest gets to die before it counts as contradicted */
#define PROBE_US (1000000)     /* first spare after a contradicted fact; doubled up to ten seconds */
#define PROBE_MAX_US (10 * 1000000)
#define DROPPED_STEP (1024u * 1024u)
#define READ_CHUNK (64u * 1024u)
#define IN_MAX (PL_FRAME_HEADER_LEN + PL_FRAME_PAYLOAD_MAX + READ_CHUNK)
/* A single event reads no more than this, so that a flooding guest takes turns with everybody else. */
#define READS_MAX 4

static void stream_ready(struct pl_source *source, uint32_t events);
static void dying_begin(struct box *box);

static const struct pl_profile *profile_of(const struct box *box)
{
	return box->slot->wall->profile(box->slot->state);
}

/* --- lists --------------------------------------------------------------------------------------------------------- */

static void list_add(struct box **list, struct box *box)
{
	box->previous = NULL;
	box->next = *list;
	if (*list)
		(*list)->previous = box;
	*list = box;
}

static void list_remove(struct box **list, struct box *box)
{
	if (box->previous)
		box->previous->next = box->next;
	else
		*list = box->next;
	if (box->next)
		box->next->previous = box->previous;
	box->next = box->previous = NULL;
}

static void box_enter(struct box *box, enum box_state state, int64_t until_us)
{
	struct supervisor *s = box->supervisor;
	bool was_waiting = box->state == BOX_WAITING, waits = state == BOX_WAITING;

	if (was_waiting != waits) {
		list_remove(was_waiting ? &s->pool : &s->boxes, box);
		list_add(waits ? &s->pool : &s->boxes, box);
		box->slot->waiting += waits ? 1u : -1u;
	}
	box->state = state;
	box->until_us = until_us;
}

/* --- ending -------------------------------------------------------------------------------------------------------- */

static void purpose_end(struct box *box)
{
	if (box->for_pool)
		box->slot->filling--;
	if (box->spare)
		box->slot->probing = false;
	box->for_pool = box->spare = false;
}

void box_kill(struct box *box)
{
	struct supervisor *s = box->supervisor;

	if (box->state == BOX_LEAVING)
		return;
	purpose_end(box);
	pl_gate_end(&box->sandbox.gate);
	box_enter(box, BOX_LEAVING, 0);
	if (box->sandbox.own)
		box->slot->wall->kill(&box->sandbox);
	pl_loop_remove(&s->loop, &box->stream);
	pl_fd_close(&box->sandbox.stream_fd);
}

/* A contradicted fact takes the whole wall out of service, until a spare of it measures right. */
static void slot_suspend(struct slot *slot, const struct plimsoll_error *error)
{
	int64_t wait = slot->probe_wait_us ? slot->probe_wait_us * 2 : PROBE_US;

	slot->out_of_service = true;
	slot->probe_wait_us = wait < PROBE_MAX_US ? wait : PROBE_MAX_US;
	slot->probe_us = pl_now_us() + slot->probe_wait_us;
	snprintf(slot->out_fact, sizeof slot->out_fact, "%s", error->fact);
}

static void pool_empty(struct supervisor *s, const struct slot *slot)
{
	struct box *next;

	for (struct box *b = s->pool; b; b = next) {
		next = b->next;
		if (b->slot == slot)
			box_kill(b);
	}
}

static void box_fail(struct box *box, const struct plimsoll_error *error)
{
	if (box->state == BOX_LEAVING)
		return;
	if (error->reason == PLIMSOLL_REASON_ISOLATION && error->fact[0]) {
		slot_suspend(box->slot, error);
		pool_empty(box->supervisor, box->slot);
	} else if (box->for_pool || box->spare) {
		/* What cannot be had for the pool is not asked for again at once. */
		box->slot->probe_us = pl_now_us() + PROBE_US;
	}
	request_refuse(box, error);
	box_kill(box);
}

__attribute__((format(printf, 5, 6))) static void box_fail_text(struct box *box, int code, enum plimsoll_reason reason,
								 const char *step, const char *format, ...)
{
	struct plimsoll_error error;
	char text[sizeof error.message];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	pl_error(&error, code, reason, step, "%s", text);
	box_fail(box, &error);
}

/* The guest or its wall broke the rules of the stream. Before dispatch nothing ran and the mark says so. */
static void box_protocol(struct box *box, const char *what)
{
	bool dispatched = box->request && box->request->run.dispatched;

	box_fail_text(box, dispatched ? PLIMSOLL_ERROR_GUEST : PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT,
		      dispatched ? "run" : "await hello", "the guest of the %s wall broke the protocol: %s",
		      box->slot->wall->name, what);
}

void box_failed(struct pl_sandbox *sandbox, const struct plimsoll_error *error)
{
	box_fail((struct box *)sandbox, error);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

static int challenge_send(struct box *box)
{
	uint8_t frame[PL_FRAME_HEADER_LEN + PL_CHALLENGE_LEN];
	uint8_t *challenge = frame + PL_FRAME_HEADER_LEN;
	long rc = PL_SYS("getrandom", getrandom(challenge, PL_CHALLENGE_LEN, 0));

	if (rc >= 0)
		rc = pl_gate_challenge(&box->sandbox.gate, challenge);
	if (rc < 0)
		return (int)rc;
	pl_frame_header_print(frame, PL_FRAME_CHALLENGE, PL_CHALLENGE_LEN);
	rc = pl_sys_send(box->sandbox.stream_fd, frame, sizeof frame, MSG_DONTWAIT);
	return rc < 0 ? (int)rc : rc == sizeof frame ? 0 : -EIO;
}

void box_challenge(struct pl_sandbox *sandbox)
{
	struct box *box = (struct box *)sandbox;
	int rc = box->state == BOX_OPENING ? challenge_send(box) : 0;

	if (rc < 0)
		box_fail_text(box, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open",
			      "the challenge could not be sent: %s", strerror(-rc));
}

/* What waits in the pool, or is only measured as a spare, waits with the highest limits: an ordinary user may lower a limit
 * and not raise it. No code runs in it before they are lowered. Where memory cannot be changed later it is the default's. */
static void limits_highest(const struct pl_settings *settings, bool memory_fixed, struct pl_limits *ret)
{
	uint64_t memory = settings->memory_max_bytes;

	if (memory_fixed && memory > PL_MEMORY_DEFAULT_BYTES)
		memory = PL_MEMORY_DEFAULT_BYTES;
	*ret = (struct pl_limits){
		.timeout_ms = settings->timeout_max_ms,
		.memory_bytes = memory & ~4095ull,
		.cpu_seconds = (uint64_t)(settings->timeout_max_ms + 999) / 1000 + 2,
	};
}

static void box_init(struct box *box, struct supervisor *s, struct slot *slot, struct request *request, bool spare)
{
	*box = (struct box){
		.supervisor = s, .slot = slot, .state = BOX_OPENING, .spare = spare, .for_pool = !request && !spare,
	};
	box->sandbox = (struct pl_sandbox){ .wall = slot->wall, .wall_state = slot->state, .stream_fd = -1 };
	box->stream = (struct pl_source){ .fd = -1, .ready = stream_ready, .owner = box };
	pl_buf_init(&box->in, IN_MAX);
	pl_buf_init(&box->out, PL_FRAME_HEADER_LEN + PL_FRAME_PAYLOAD_MAX);
	pl_gate_init(&box->sandbox.gate);
	if (request)
		box->sandbox.limits = request->run.limits;
	else
		limits_highest(&s->settings, slot->wall->memory_fixed, &box->sandbox.limits);
	list_add(&s->boxes, box);
	box->until_us = pl_now_us() + GATE_US;
}

int box_open(struct supervisor *s, struct slot *slot, struct request *request, bool spare, struct plimsoll_error *error)
{
	struct box *box = pl_calloc(1, sizeof *box);
	int rc;

	if (!box)
		return pl_error(error, -ENOMEM, PLIMSOLL_REASON_ENVIRONMENT, "open", "no memory for a sandbox");
	pl_fault_load("supervisor", s->helpers_fd, s->env.fault, sizeof s->env.fault);
	box_init(box, s, slot, request, spare);
	rc = slot->wall->open(slot->state, &box->sandbox, error);
	if (rc == 0) {
		rc = pl_loop_add(&s->loop, &box->stream, box->sandbox.stream_fd, EPOLLIN);
		if (rc == 0 && !box->sandbox.challenge_later)
			rc = challenge_send(box);
		if (rc < 0)
			pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open",
				 "the challenge could not be sent: %s", strerror(-rc));
	}
	if (rc < 0) {
		box->for_pool = box->spare = false;
		box_kill(box);
		return rc;
	}
	box->request = request;
	slot->filling += box->for_pool;
	slot->probing |= spare;
	return 0;
}

/* --- measuring and dispatch ---------------------------------------------------------------------------------------- */

/* A task that is about to end loses its descriptors and its parent before it is dead. What was read of it then contradicts
 * nothing; so before a contradiction is believed, which takes the wall out of service, the guest gets a moment to die. */
static bool guest_ended(const struct box *box)
{
	for (int i = 0; i < DYING_LOOKS && box->slot->wall->alive(&box->sandbox); i++)
		usleep(TICK_US);
	return !box->slot->wall->alive(&box->sandbox);
}

static int box_measure(struct box *box, enum pl_phase phase, struct plimsoll_error *error)
{
	struct pl_verdict verdict;
	bool ended;
	int rc = box->slot->wall->limit(&box->sandbox);

	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "set limits",
				"the request's limits could not be put in force: %s", strerror(-rc));
	box->slot->wall->measure(&box->sandbox, phase, false, box->sandbox.facts);
	rc = pl_gate_pass(&box->sandbox.gate, profile_of(box), box->sandbox.facts, &verdict, error);
	ended = rc == 0 ? !box->slot->wall->alive(&box->sandbox)
			: error->reason == PLIMSOLL_REASON_ISOLATION && guest_ended(box);
	if (ended)
		rc = pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "measure",
			      "the guest ended while it was measured");
	return rc;
}

static int evidence_take(struct box *box, struct plimsoll_error *error)
{
	long rc = PL_SYS("getrandom", getrandom(box->salt, sizeof box->salt, 0));

	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "take evidence",
				"no random bytes: %s", strerror((int)-rc));
	pl_evidence_digest(profile_of(box), box->sandbox.facts, box->salt, box->instance);
	return 0;
}

static void out_flush(struct box *box)
{
	while (box->out.len) {
		ssize_t n = pl_sys_send(box->sandbox.stream_fd, pl_buf_head(&box->out), box->out.len, MSG_DONTWAIT);

		if (n == -EAGAIN)
			break;
		if (n < 0) {
			box->job_lost = true;
			pl_buf_fini(&box->out);
			if (n == -EPIPE || n == -ECONNRESET)
				break; /* it has ended; its stream's end says so next */
			box_fail_text(box, PLIMSOLL_ERROR_GUEST, PLIMSOLL_REASON_NONE, "dispatch",
				      "the job could not be written: %s", strerror((int)-n));
			return;
		}
		pl_buf_consume(&box->out, (size_t)n);
	}
	if (pl_loop_change(&box->supervisor->loop, &box->stream, box->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN) < 0)
		box_fail_text(box, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "dispatch",
			      "the guest's stream could not be watched");
}

/* The instant after which the code may have run: the gate marks the run, then the job is written. */
static void dispatch(struct box *box)
{
	struct supervisor *s = box->supervisor;
	struct plimsoll_error error;
	struct pl_buf job;
	int64_t cpu_before_us;
	uint64_t peak_before;
	int rc = evidence_take(box, &error);

	box->slot->wall->usage(&box->sandbox, &cpu_before_us, &peak_before);

	if (rc == 0)
		rc = pl_gate_dispatch(&box->sandbox.gate, &box->request->run, profile_of(box), s->settings.floor, pl_now_us(), &job,
				      &error);
	if (rc < 0) {
		box_fail(box, &error);
		return;
	}
	box->cpu_before_us = cpu_before_us;
	pl_buf_fini(&box->out);
	box->out = job;
	box_enter(box, BOX_RUNNING, box->request->run.deadline_us);
	out_flush(box);
}

static void box_use(struct box *box)
{
	struct plimsoll_error error;

	if (!box->request->measure_only) {
		dispatch(box);
		return;
	}
	if (evidence_take(box, &error) < 0) {
		box_fail(box, &error);
		return;
	}
	request_answer(box, 0, false, false, 0, 0, NULL);
	box_kill(box);
}

void box_pass(struct box *box, struct request *request)
{
	struct plimsoll_error error;

	box->request = request;
	box->sandbox.limits = request->run.limits;
	box_enter(box, BOX_OPENING, pl_now_us() + GATE_US);
	if (box_measure(box, PL_PHASE_PASS, &error) < 0)
		box_fail(box, &error);
	else
		box_use(box);
}

static void slot_restore(struct slot *slot)
{
	slot->out_of_service = false;
	slot->out_fact[0] = 0;
	slot->probe_wait_us = 0;
}

static void hello_take(struct box *box, const uint8_t *payload, size_t len, pid_t speaker)
{
	struct supervisor *s = box->supervisor;
	struct plimsoll_error error;
	int rc = pl_hello_parse(payload, len, &box->sandbox.hello);

	if (rc == 0)
		rc = pl_gate_hello(&box->sandbox.gate, &box->sandbox.hello, s->image_id);
	if (rc < 0) {
		pl_error(&error, PLIMSOLL_ERROR_ISOLATION, PLIMSOLL_REASON_ISOLATION, "check hello",
			 "the guest's answer to the challenge is not that of this build's guest");
		snprintf(error.fact, sizeof error.fact, "guest.hello");
		box_fail(box, &error);
		return;
	}
	rc = box->slot->wall->pin(&box->sandbox, speaker, &error);
	if (rc == 0)
		rc = box_measure(box, PL_PHASE_OPEN, &error);
	if (rc < 0) {
		box_fail(box, &error);
		return;
	}
	if (box->spare)
		slot_restore(box->slot);
	if (box->request) {
		box_use(box);
	} else if (box->spare) {
		box_kill(box);
	} else {
		purpose_end(box);
		box_enter(box, BOX_WAITING, INT64_MAX);
	}
}

/* --- ends of a run ------------------------------------------------------------------------------------------------- */

/* Reads again what can change. False: something did, and the run was answered with an error. */
static bool facts_same(struct box *box, bool gone, enum pl_change changes[PL_FACTS_MAX])
{
	const struct pl_profile *profile = profile_of(box);
	static struct pl_fact after[PL_FACTS_MAX]; /* 20 KiB; one thread */
	struct plimsoll_error error;
	size_t changed;

	memcpy(after, box->sandbox.facts, sizeof after);
	box->slot->wall->measure(&box->sandbox, PL_PHASE_AFTER, gone, after);
	changed = pl_facts_compare(profile, box->sandbox.facts, after, gone, changes);
	if (changed == profile->specs_n)
		return true;
	pl_error(&error, PLIMSOLL_ERROR_CHANGED, PLIMSOLL_REASON_NONE, "read facts again",
		 "fact %s changed during the run (%s); the code ran, behind a wall that did not hold still",
		 profile->specs[changed].name, after[changed].error ? strerror(-after[changed].error) : "another value");
	snprintf(error.fact, sizeof error.fact, "%s", profile->specs[changed].name);
	box_fail(box, &error);
	return false;
}

static void totals_take(struct request *r)
{
	if (r->result.stdout_total > r->out_total)
		r->out_total = r->result.stdout_total;
	if (r->result.stderr_total > r->err_total)
		r->err_total = r->result.stderr_total;
}

/* RESULT came: the guest is blocked, waiting for the end of its stream. One that has ended meanwhile is gone, as by a crash;
 * what it said stands. */
static void result_finish(struct box *box)
{
	enum pl_change changes[PL_FACTS_MAX];
	struct request *r = box->request;
	int64_t cpu_us;
	uint64_t peak;

	if (!box->slot->wall->alive(&box->sandbox)) {
		dying_begin(box);
		return;
	}
	box->slot->wall->usage(&box->sandbox, &cpu_us, &peak);
	if (!facts_same(box, false, changes))
		return;
	totals_take(r);
	request_answer(box, r->result.exit_code, false, r->result.oom, cpu_us, peak, changes);
	box_kill(box);
}

static void halt_finish(struct box *box)
{
	enum pl_change changes[PL_FACTS_MAX];
	int64_t cpu_us;
	uint64_t peak;

	box->slot->wall->usage(&box->sandbox, &cpu_us, &peak);
	if (!facts_same(box, false, changes))
		return;
	request_answer(box, 124, true, false, cpu_us, peak, changes);
	box_kill(box);
}

/* How a guest that did not say RESULT ended: by the kernel for want of memory, or by a crash of the engine. */
static void death_finish(struct box *box)
{
	enum pl_change changes[PL_FACTS_MAX];
	const struct pl_end *end = &box->sandbox.end;
	struct request *r = box->request;
	bool oom = box->slot->wall->out_of_memory(&box->sandbox);
	int code = oom ? 137 : 134;

	if (!facts_same(box, true, changes))
		return;
	if (box->job_lost || box->out.len) {
		box_fail_text(box, PLIMSOLL_ERROR_GUEST, PLIMSOLL_REASON_NONE, "dispatch",
			      "the guest ended before it had taken the whole job");
		return;
	}
	if (r->has_result) {
		code = r->result.exit_code;
		oom = r->result.oom;
		totals_take(r);
	} else if (box->past_deadline) {
		code = 124;
		oom = false;
	}
	request_answer(box, code, box->past_deadline && !r->has_result, oom, (int64_t)end->cpu_us, end->peak_bytes, changes);
	box_kill(box);
}

/* --- the stream ---------------------------------------------------------------------------------------------------- */

static void output_take(struct box *box, const uint8_t *payload, size_t len)
{
	struct request *r = box->request;
	enum pl_stream stream;
	const uint8_t *bytes;
	size_t n;
	int rc;

	if (pl_output_parse(payload, len, &stream, &bytes, &n) < 0 || !n) {
		box_protocol(box, "an output frame is malformed");
		return;
	}
	rc = pl_buf_append(stream == PL_STREAM_STDOUT ? &r->out : &r->err, bytes, n);
	if (rc == -ENOBUFS) /* our guest counts and does not send more than the request keeps: this is no longer our guest */
		box_protocol(box, "more output than its limit");
	else if (rc < 0) /* a result that lacks what was written would be a wrong one */
		box_fail_text(box, rc, PLIMSOLL_REASON_NONE, "take output", "the output could not be held: %s", strerror(-rc));
	else
		*(stream == PL_STREAM_STDOUT ? &r->out_total : &r->err_total) += n;
}

/* Said when the limit is passed and then once for every MiB: more often, and it is a flood. */
static void dropped_take(struct box *box, const uint8_t *payload, size_t len)
{
	struct request *r = box->request;
	uint64_t total, max, *have, *dropped;
	enum pl_stream stream;
	bool out;

	if (pl_dropped_parse(payload, len, &stream, &total) < 0) {
		box_protocol(box, "a dropped frame is malformed");
		return;
	}
	out = stream == PL_STREAM_STDOUT;
	max = out ? r->run.limits.stdout_max_bytes : r->run.limits.stderr_max_bytes;
	have = out ? &r->out_total : &r->err_total;
	dropped = out ? &r->out_dropped : &r->err_dropped;
	if (total <= *have || total <= max || *dropped > (total - max - 1) / DROPPED_STEP) {
		box_protocol(box, "a dropped frame too many");
		return;
	}
	++*dropped;
	*have = total;
}

static void frame_take(struct box *box, enum pl_frame_type type, const uint8_t *payload, size_t len, pid_t speaker)
{
	struct request *r = box->request;

	if (type == PL_FRAME_HELLO && box->sandbox.gate.state == PL_GATE_CHALLENGED) {
		hello_take(box, payload, len, speaker);
		return;
	}
	if (!r || !r->run.dispatched || r->has_result) {
		box_protocol(box, "a frame out of turn");
		return;
	}
	if (type == PL_FRAME_OUTPUT) {
		output_take(box, payload, len);
	} else if (type == PL_FRAME_DROPPED) {
		dropped_take(box, payload, len);
	} else if (type != PL_FRAME_RESULT || pl_guest_result_parse(payload, len, &r->result) < 0) {
		box_protocol(box, "a frame out of turn or a malformed result");
	} else if (pl_gate_result(&box->sandbox.gate) == 0) {
		r->has_result = true;
	}
}

/* Frames that are complete. A box that leaves on the way has no more of them. */
static void frames_take(struct box *box, pid_t speaker)
{
	struct pl_frame_header header;

	while (box->in.len >= PL_FRAME_HEADER_LEN && box->state != BOX_LEAVING) {
		const uint8_t *head = pl_buf_head(&box->in);

		if (pl_frame_header_parse(head, &header) < 0) {
			box_protocol(box, "a frame header is malformed");
			return;
		}
		if (box->in.len < PL_FRAME_HEADER_LEN + header.payload_len)
			return;
		frame_take(box, header.type, head + PL_FRAME_HEADER_LEN, header.payload_len, speaker);
		pl_buf_consume(&box->in, PL_FRAME_HEADER_LEN + header.payload_len);
	}
}

/* Reads once; the kernel says who wrote. 0: the end. -EAGAIN: nothing now. */
static ssize_t stream_read(struct box *box, pid_t *ret_speaker)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	uint8_t *to = pl_buf_reserve(&box->in, READ_CHUNK);
	struct iovec iov = { .iov_base = to, .iov_len = READ_CHUNK };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
	};
	struct ucred cred;
	ssize_t n;

	*ret_speaker = 0;
	if (!to)
		return -ENOMEM;
	n = pl_sys_recvmsg(box->sandbox.stream_fd, &msg, MSG_DONTWAIT);
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof cred);
		*ret_speaker = cred.pid;
	}
	if (n > 0)
		pl_buf_commit(&box->in, (size_t)n);
	return n;
}

/* Takes what has arrived, in at most reads_max portions. The last result of stream_read, or 1 when there may be more. */
static ssize_t stream_take(struct box *box, int reads_max)
{
	ssize_t n = 1;

	for (int i = 0; i < reads_max && n > 0 && box->state != BOX_LEAVING; i++) {
		pid_t speaker;

		n = stream_read(box, &speaker);
		if (n > 0)
			frames_take(box, speaker);
	}
	return n;
}

/* The guest is dead or as good as: init's report is awaited, unless it has come. */
static void dying_begin(struct box *box)
{
	if (box->state != BOX_DYING)
		box_enter(box, BOX_DYING, pl_now_us() + DEATH_US);
	if (box->sandbox.end.known)
		box_ended(&box->sandbox);
}

static void stream_ended(struct box *box)
{
	pl_loop_remove(&box->supervisor->loop, &box->stream);
	if (box->state == BOX_WAITING) {
		box_fail_text(box, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "wait",
			      "a waiting guest of the %s wall ended", box->slot->wall->name);
	} else if (box->state == BOX_OPENING) {
		box->until_us = pl_now_us() + DEATH_US; /* why it ended is init's to tell, and on its way */
	} else {
		dying_begin(box);
	}
}

static void stream_ready(struct pl_source *source, uint32_t events)
{
	struct box *box = source->owner;
	ssize_t n;

	if ((events & EPOLLOUT) && box->out.len)
		out_flush(box);
	n = stream_take(box, READS_MAX);
	if (box->state == BOX_LEAVING)
		return;
	if (box->request && box->request->has_result && box->state == BOX_RUNNING)
		result_finish(box);
	else if (n == 0 || (n < 0 && n != -EAGAIN))
		stream_ended(box);
}

/* Exit 71 is plimsoll-launch's: after the filter was loaded, the guest's program could not be executed. */
static void opening_ended(struct box *box)
{
	int status = box->sandbox.end.wait_status;

	box_fail_text(box, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "await hello",
		      "the guest of the %s wall ended before it had a job (%s %d); see plimsoll doctor", box->slot->wall->name,
		      WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* init's report can overtake the stream: first everything that the guest still wrote. When a guest is dead and its stream
 * has not ended, somebody else holds it. */
void box_ended(struct pl_sandbox *sandbox)
{
	struct box *box = (struct box *)sandbox;
	struct plimsoll_error error;
	ssize_t n;

	if (box->state == BOX_LEAVING)
		return;
	if (!box->request || !box->request->run.dispatched) {
		opening_ended(box);
		return;
	}
	do
		n = box->stream.fd >= 0 ? stream_take(box, READS_MAX) : 0;
	while (n > 0 && box->state != BOX_LEAVING);
	if (box->state == BOX_LEAVING)
		return;
	if (n == -EAGAIN) {
		pl_error(&error, PLIMSOLL_ERROR_CHANGED, PLIMSOLL_REASON_NONE, "await the stream's end",
			 "fact stream.holders changed during the run: the guest has ended and its stream is held open");
		snprintf(error.fact, sizeof error.fact, "stream.holders");
		box_fail(box, &error);
		return;
	}
	pl_loop_remove(&box->supervisor->loop, &box->stream);
	death_finish(box);
}

/* --- time ---------------------------------------------------------------------------------------------------------- */

static void halt_begin(struct box *box, int64_t now_us)
{
	box->past_deadline = true;
	box_enter(box, BOX_HALTING, now_us + HALT_US);
	if (box->slot->wall->halt(&box->sandbox) < 0 && box->slot->wall->alive(&box->sandbox))
		box_fail_text(box, PLIMSOLL_ERROR_CHANGED, PLIMSOLL_REASON_NONE, "halt",
			      "the run is past its deadline and could not be made to stand still; it was killed");
}

/* Once it stands still nothing more arrives: what is in the stream is all. A result among it was in time. */
static void halt_look(struct box *box, int64_t now_us)
{
	ssize_t n;

	if (!box->slot->wall->halted(&box->sandbox)) {
		if (now_us >= box->until_us)
			box_fail_text(box, PLIMSOLL_ERROR_CHANGED, PLIMSOLL_REASON_NONE, "halt",
				      "the run is past its deadline and did not stand still; it was killed");
		return;
	}
	do
		n = stream_take(box, READS_MAX);
	while (n > 0 && box->state != BOX_LEAVING);
	if (box->state == BOX_LEAVING)
		return;
	if (n == 0)
		stream_ended(box);
	else if (!box->slot->wall->alive(&box->sandbox))
		dying_begin(box);
	else if (box->request->has_result)
		result_finish(box);
	else
		halt_finish(box);
}

static void leaver_look(struct box *box)
{
	struct supervisor *s = box->supervisor;

	if (box->released_round) {
		if (s->loop.round == box->released_round)
			return; /* an event of this very round may still point here */
		list_remove(&s->boxes, box);
		pl_buf_fini(&box->in);
		pl_buf_fini(&box->out);
		pl_free(box);
		return;
	}
	if (!box->sandbox.own || box->slot->wall->release(&box->sandbox))
		box->released_round = s->loop.round;
}

static void box_tend(struct box *box, int64_t now_us)
{
	switch (box->state) {
	case BOX_OPENING:
		if (now_us >= box->until_us)
			box_fail_text(box, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "await hello",
				      "the sandbox of the %s wall did not reach the gate within %d s", box->slot->wall->name,
				      GATE_US / 1000000);
		break;
	case BOX_RUNNING:
		if (now_us >= box->until_us) {
			halt_begin(box, now_us);
			if (box->state == BOX_HALTING)
				halt_look(box, now_us);
		}
		break;
	case BOX_HALTING:
		halt_look(box, now_us);
		break;
	case BOX_DYING:
		if (now_us >= box->until_us)
			box_fail_text(box, PLIMSOLL_ERROR_GUEST, PLIMSOLL_REASON_NONE, "await the guest's end",
				      "the guest closed its stream and did not end; it was killed");
		break;
	case BOX_LEAVING:
		leaver_look(box);
		break;
	case BOX_WAITING:
		break;
	}
}

/* Opening a sandbox keeps the loop busy for about a millisecond, most of it the kernel's making of namespaces. So the pool
 * is filled one box at a time, and while runs are under way only when it is empty. */
static bool pool_wants(const struct supervisor *s, const struct slot *slot)
{
	return !slot->out_of_service && !slot->filling && slot->waiting < s->settings.pool && (!s->runs || !slot->waiting);
}

static void slot_tend(struct supervisor *s, struct slot *slot, int64_t now_us)
{
	struct plimsoll_error error;
	bool want_pool = pool_wants(s, slot);
	bool want_spare = slot->out_of_service && !slot->probing;

	if (!slot->configured || !slot->available || now_us < slot->probe_us || !(want_pool || want_spare))
		return;
	if (box_open(s, slot, NULL, want_spare, &error) < 0)
		slot->probe_us = now_us + PROBE_US;
}

static int64_t box_wants(const struct box *box, int64_t now_us)
{
	if (box->state == BOX_LEAVING || box->state == BOX_HALTING)
		return now_us + TICK_US;
	return box->until_us;
}

static int64_t slot_wants(const struct supervisor *s, const struct slot *slot)
{
	if (!slot->configured || !slot->available)
		return INT64_MAX;
	if (slot->out_of_service ? slot->probing : !pool_wants(s, slot))
		return INT64_MAX;
	return slot->probe_us;
}

int64_t boxes_tend(struct supervisor *s, int64_t now_us)
{
	int64_t next = INT64_MAX, want;
	struct box *after;

	for (struct box *b = s->boxes; b; b = after) {
		after = b->next;
		box_tend(b, now_us);
	}
	for (size_t i = 0; i < PL_WALLS_N; i++)
		slot_tend(s, &s->slots[i], now_us);
	for (struct box *b = s->boxes; b; b = b->next) {
		want = box_wants(b, now_us);
		next = want < next ? want : next;
	}
	for (size_t i = 0; i < PL_WALLS_N; i++) {
		want = slot_wants(s, &s->slots[i]);
		next = want < next ? want : next;
	}
	return next;
}
