/* SPDX-License-Identifier: Apache-2.0 */
/* call: run, measure and doctor; see plimsoll.h. Here a lost line becomes an error, with the mark that nothing ran where, and
 * only where, not one byte of a RUN was written. Everything else that is marked was marked by the supervisor. */
#include "context.h"

#include "base/alloc.h"
#include "contract/error.h"
#include "contract/limits.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_FIRST_SIZE (offsetof(struct plimsoll_request, cancel) + sizeof(void *))

#define WALL_MAX_BYTES 64

#define INVALID(step, ...) pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, step, __VA_ARGS__)

/* May this process use the context? */
static int context_check(const struct plimsoll_context *context, const void *ret, const char *step,
			 struct plimsoll_error *error)
{
	if (!context)
		return INVALID(step, "context is NULL; open one with plimsoll_open");
	if (!ret)
		return INVALID(step, "ret is NULL");
	if (context->pid != getpid())
		return INVALID(step, "the context belongs to process %d, of which this is a forked child; open another here",
			       (int)context->pid);
	return 0;
}

/* Nothing of the question was written, so it cannot have had an effect. */
static int unasked(int rc, const char *step, struct plimsoll_error *error)
{
	if (rc == -EPIPE)
		return pl_error(error, PLIMSOLL_ERROR_LOST, PLIMSOLL_REASON_ENVIRONMENT, step,
				"the supervisor has ended; close this context and open another");
	if (rc == -ENOBUFS)
		return pl_error(error, PLIMSOLL_ERROR_CAPACITY, PLIMSOLL_REASON_CAPACITY, step,
				"more than %u MiB of requests wait to be sent; wait for some to end", PL_LINE_QUEUE_MAX >> 20);
	return pl_error(error, rc, PLIMSOLL_REASON_ENVIRONMENT, step, "cannot ask the supervisor: %s",
			strerrordesc_np(-rc) ? strerrordesc_np(-rc) : "unknown error");
}

/* The question was written and there is no answer. reason: NONE for a run, which may have happened. */
static int unanswered(enum pl_line_end end, enum plimsoll_reason reason, const char *step, struct plimsoll_error *error)
{
	if (end == PL_LINE_NO_MEMORY)
		return pl_error(error, -ENOMEM, reason, step, "no memory for the answer");
	return pl_error(error, PLIMSOLL_ERROR_LOST, reason, step,
			"the supervisor ended before it answered; close this context and open another");
}

/* The answer does not parse: the other end is not what it was greeted as. */
static int broken(struct pl_answer *answer, enum plimsoll_reason reason, const char *step, struct plimsoll_error *error)
{
	pl_free(answer->payload);
	return pl_error(error, PLIMSOLL_ERROR_LOST, reason, step,
			"the supervisor's answer breaks the protocol; close this context and open another");
}

/* Asks, and takes care of every answer but the wanted one. reason: of an answer that is lost. 0: *ret holds the wanted. */
static int ask(struct plimsoll_context *context, const struct pl_question *question, enum pl_msg_type wanted,
	       enum plimsoll_reason reason, const char *step, struct pl_answer *ret, struct plimsoll_error *error)
{
	struct plimsoll_error theirs;
	int rc = pl_line_call(&context->line, question, ret);

	if (rc < 0)
		return unasked(rc, step, error);
	if (rc != PL_LINE_ANSWERED)
		return unanswered((enum pl_line_end)rc, reason, step, error);
	if (ret->type == wanted)
		return 0;
	if (ret->type != PL_MSG_ERROR || pl_msg_error_parse(ret->payload, ret->len, &theirs) < 0)
		return broken(ret, reason, step, error);
	pl_free(ret->payload);
	if (error)
		*error = theirs;
	return theirs.code;
}

static int result_take(struct pl_answer *answer, struct plimsoll_result **ret, struct plimsoll_error *error)
{
	struct plimsoll_result *result = pl_calloc(1, sizeof *result);

	if (!result) {
		pl_free(answer->payload);
		return unanswered(PL_LINE_NO_MEMORY, PLIMSOLL_REASON_NONE, "run", error);
	}
	if (pl_msg_result_parse(answer->payload, answer->len, &result->msg) < 0) {
		pl_free(result);
		return broken(answer, PLIMSOLL_REASON_NONE, "run", error);
	}
	result->payload = answer->payload;
	result->evidence.msg = result->msg.evidence;
	*ret = result;
	return 0;
}

static int cancel_is_triggered(const struct plimsoll_cancel *cancel)
{
	struct pollfd pfd = { .fd = cancel ? cancel->fd : -1, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* Which walls there are the supervisor knows. But it takes a message that is longer than any request can be for the end of
 * the protocol, and with it every other run would end. */
static int wall_check(const char *wall, const char *step, struct plimsoll_error *error)
{
	if (strlen(wall) > WALL_MAX_BYTES)
		return INVALID(step, "wall \"%.40s…\" is not known; the walls are container and process, or auto", wall);
	return 0;
}

/* What the caller's request says, as a message; checked. */
static int request_read(const struct plimsoll_request *request, struct pl_msg_run *ret, struct plimsoll_error *error)
{
	int rc;

	*ret = (struct pl_msg_run){
		.code = (const uint8_t *)request->code,
		.code_len = request->code_len,
		.name = or_empty(request->name),
		.floor = or_empty(request->floor),
		.wall = or_empty(request->wall),
		.source = (uint32_t)request->source,
		.timeout_ms = request->timeout_ms,
		.memory_bytes = request->memory_bytes,
		.stdout_max_bytes = request->stdout_max_bytes,
		.stderr_max_bytes = request->stderr_max_bytes,
	};
	if (!ret->code && ret->code_len)
		return INVALID("check request", "code is NULL and code_len is not 0");
	rc = pl_request_check(ret, error);
	return rc < 0 ? rc : wall_check(ret->wall, "check request", error);
}

int plimsoll_run(struct plimsoll_context *context, const struct plimsoll_request *request, struct plimsoll_result **ret,
		 struct plimsoll_error *error)
{
	PL_NO_CANCEL;
	struct plimsoll_request copy = { 0 };
	struct pl_msg_run run;
	struct pl_question question = { .run = &run, .cancel_fd = -1 };
	struct pl_answer answer = { 0 };
	int rc = context_check(context, ret, "run", error);

	if (rc == 0)
		rc = pl_sized_copy(&copy, sizeof copy, REQUEST_FIRST_SIZE, request, "request", error);
	if (rc == 0)
		rc = request_read(&copy, &run, error);
	if (rc < 0)
		return rc;
	if (cancel_is_triggered(copy.cancel))
		return pl_error(error, PLIMSOLL_ERROR_CANCELLED, PLIMSOLL_REASON_REQUEST, "run",
				"cancelled before it was sent to the supervisor");
	if (copy.cancel)
		question.cancel_fd = copy.cancel->fd;
	rc = ask(context, &question, PL_MSG_RESULT, PLIMSOLL_REASON_NONE, "run", &answer, error);
	return rc < 0 ? rc : result_take(&answer, ret, error);
}

int plimsoll_measure(struct plimsoll_context *context, const char *wall, struct plimsoll_evidence **ret,
		     struct plimsoll_error *error)
{
	PL_NO_CANCEL;
	struct pl_msg_measure measure = { .wall = or_empty(wall) };
	struct pl_question question = { .measure = &measure, .cancel_fd = -1 };
	struct plimsoll_evidence *evidence;
	struct pl_answer answer = { 0 };
	int rc = context_check(context, ret, "measure", error);

	if (rc == 0)
		rc = wall_check(measure.wall, "measure", error);
	if (rc == 0)
		rc = ask(context, &question, PL_MSG_EVIDENCE, PLIMSOLL_REASON_ENVIRONMENT, "measure", &answer, error);
	if (rc < 0)
		return rc;
	evidence = pl_calloc(1, sizeof *evidence);
	if (!evidence) {
		pl_free(answer.payload);
		return unanswered(PL_LINE_NO_MEMORY, PLIMSOLL_REASON_ENVIRONMENT, "measure", error);
	}
	if (pl_msg_evidence_parse(answer.payload, answer.len, &evidence->msg) < 0) {
		pl_free(evidence);
		return broken(&answer, PLIMSOLL_REASON_ENVIRONMENT, "measure", error);
	}
	evidence->payload = answer.payload;
	*ret = evidence;
	return 0;
}

int plimsoll_doctor(struct plimsoll_context *context, struct plimsoll_doctor **ret, struct plimsoll_error *error)
{
	PL_NO_CANCEL;
	struct pl_question question = { .cancel_fd = -1 };
	struct plimsoll_doctor *doctor;
	struct pl_answer answer = { 0 };
	int rc = context_check(context, ret, "doctor", error);

	if (rc == 0)
		rc = ask(context, &question, PL_MSG_ROWS, PLIMSOLL_REASON_ENVIRONMENT, "doctor", &answer, error);
	if (rc < 0)
		return rc;
	doctor = pl_calloc(1, sizeof *doctor);
	if (!doctor) {
		pl_free(answer.payload);
		return unanswered(PL_LINE_NO_MEMORY, PLIMSOLL_REASON_ENVIRONMENT, "doctor", error);
	}
	if (pl_msg_rows_parse(answer.payload, answer.len, &doctor->msg) < 0) {
		pl_free(doctor);
		return broken(&answer, PLIMSOLL_REASON_ENVIRONMENT, "doctor", error);
	}
	doctor->payload = answer.payload;
	*ret = doctor;
	return 0;
}
