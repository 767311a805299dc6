/* SPDX-License-Identifier: Apache-2.0 */
/* judge: what an answer may be when something has failed (contract.md, 4).
 *
 * That nothing ran is not taken from the supervisor's word: its code leaves it through the wrappers of src/linux alone, and
 * these note a run's witness before they try to send it, whatever the gate believes. A mark with a witness is a marked run; a
 * result without one is a lie; an error without mark and without witness hides what the supervisor knew. */
#include "drive_fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The gate has 5 s, a run here at most 5, what follows it at most 2. */
#define ANSWER_WITHIN_S 13
#define FAILURES_SHOWN 25

unsigned judged, failures;

void fail(const char *spec, const char *format, ...)
{
	va_list args;

	if (failures++ >= FAILURES_SHOWN)
		return;
	printf("FAIL %s: ", spec);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("%s%s%s\n", bench_site[0] ? " (failed: " : "", bench_site, bench_site[0] ? ")" : "");
	fflush(stdout);
}

static void error_fail(const char *spec, const struct answer *a, const char *why)
{
	fail(spec, "%s: error %d, reason \"%s\", step \"%s\", fact \"%s\": %s", why, a->rc,
	     plimsoll_reason_name(a->error.reason), a->error.step, a->error.fact, a->error.message);
}

/* A guest that breaks is a crash of the engine, which is a result; and the engine may lack the memory that it asked for. */
static bool result_allowed(const struct answer *a, enum culprit culprit)
{
	if (a->right)
		return true;
	if (culprit == CULPRIT_GUEST)
		return a->exit_code == 134;
	return culprit == CULPRIT_ENGINE && a->exit_code == 137 && strstr(a->what, "oom 1");
}

static void judge_error(const char *spec, const struct scenario *s, const struct answer *a, enum culprit culprit)
{
	bool lost = a->error.code == PLIMSOLL_ERROR_LOST, marked = a->error.reason != PLIMSOLL_REASON_NONE;

	if (a->error.code != a->rc || !a->error.message[0] || !a->error.step[0])
		error_fail(spec, a, "an error without code, message or step");
	if (lost && culprit != CULPRIT_SUPERVISOR)
		error_fail(spec, a, "the supervisor is lost over a failure that is not its own");
	if (marked && a->witnessed)
		error_fail(spec, a, "a marked run");
	if (!marked && !s->code)
		error_fail(spec, a, "no mark on what dispatches nothing");
	if (!marked && s->code && !a->witnessed && !lost)
		error_fail(spec, a, "an unmarked refusal");
	if (a->error.code == PLIMSOLL_ERROR_ISOLATION)
		error_fail(spec, a, "a failure taken for a contradicted fact");
}

void judge_answer(const char *spec, const struct scenario *s, const struct answer *a, enum culprit culprit)
{
	judged++;
	if (a->took_s > ANSWER_WITHIN_S)
		fail(spec, "the answer took %.1f s", a->took_s);
	if (s->cancelled && a->rc == PLIMSOLL_ERROR_CANCELLED) {
		if (a->error.reason != PLIMSOLL_REASON_NONE || !a->witnessed)
			error_fail(spec, a, "cancelled while it ran, and yet marked or never sent");
		return;
	}
	if (a->rc < 0) {
		judge_error(spec, s, a, culprit);
		return;
	}
	if (!result_allowed(a, culprit))
		fail(spec, "a wrong result: %s", a->what[0] ? a->what : "a run that was taken back");
	if (s->code && !a->witnessed)
		fail(spec, "a result, and the code never left the supervisor");
}

void judge_open(const char *spec, int rc, const struct plimsoll_error *error)
{
	judged++;
	if (rc == 0)
		return;
	if (error->code != rc || !error->message[0] || !error->step[0] || error->reason == PLIMSOLL_REASON_NONE)
		fail(spec, "open: error %d, reason \"%s\", step \"%s\": %s", rc, plimsoll_reason_name(error->reason), error->step,
		     error->message);
}
