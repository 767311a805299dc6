/* SPDX-License-Identifier: Apache-2.0 */
/* sweep: for n = 1, 2, 3 … until the failure no longer happens. Either in one context, whose supervisor must come out of each
 * failure as it went in (serve), or in a context of its own for each (fresh), where opening and closing are hit as well. After
 * each: no process, descriptor, group or mount is left. */
#include "drive_fault.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SPEC_SIZE 64
#define BACK_WITHIN_MS 4000
#define END_WITHIN_MS 10000
/* This often in a row without the failure, and there is no such call. */
#define QUIET_MAX 3
/* A zygote's last calls come when the answer has been given: the sweep goes on a little. */
#define JAIL_MARGIN 12

/* What stands when nothing runs. */
struct still {
	size_t processes;
	int fds;
};

struct serving {
	struct plimsoll_context *context;
	const char *wall;
	unsigned pool;
	pid_t supervisor;
	struct still before;
};

static const struct scenario *plain;

static struct still still_now(pid_t supervisor)
{
	pid_t tree[WATCH_TREE_MAX];
	struct still now = { .fds = watch_fds(supervisor) };

	now.processes = watch_tree(supervisor, tree, WATCH_TREE_MAX);
	return now;
}

/* Waits until no more is there than before; exact: nor less. */
static void still_await(const char *spec, struct serving *s, bool exact)
{
	double until = watch_now_s() + BACK_WITHIN_MS / 1e3;
	struct still now;

	do {
		now = still_now(s->supervisor);
		if (now.processes == s->before.processes && now.fds == s->before.fds)
			return;
		if (!exact && now.processes <= s->before.processes && now.fds <= s->before.fds)
			return;
		watch_sleep_us(200);
	} while (watch_now_s() < until);
	fail(spec, "%zu processes and %d descriptors after the run, %zu and %d before it", now.processes, now.fds,
	     s->before.processes, s->before.fds);
	s->before = now; /* said once */
}

/* What stands before anything fails: the second of two equal looks, 20 ms apart. */
static void still_learn(struct serving *s)
{
	struct still last = { 0 };
	int same = 0;

	for (int i = 0; i < 500 && same < 8; i++) {
		struct still now = still_now(s->supervisor);

		same = now.processes == last.processes && now.fds == last.fds ? same + 1 : 0;
		last = now;
		watch_sleep_us(3000);
	}
	s->before = last;
}

/* The supervisor has ended, or is about to: how, and what it left. */
static void supervisor_judge(const char *spec, pid_t supervisor, bool died)
{
	int status = watch_end(supervisor, END_WITHIN_MS);
	bool by_spec = died && WIFEXITED(status) && WEXITSTATUS(status) == 99;
	size_t left = watch_nobody(BACK_WITHIN_MS);

	if (status == -1)
		fail(spec, "the supervisor, %d, did not end within %d ms", (int)supervisor, END_WITHIN_MS);
	/* 64 and 70: it could not start, or its loop could not go on. */
	else if (!by_spec && (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 64 &&
						     WEXITSTATUS(status) != 70)))
		fail(spec, "the supervisor ended with status %#x", (unsigned)status);
	if (left)
		fail(spec, "%zu processes left after the supervisor", left);
	if (!died && watch_cgroups(supervisor))
		fail(spec, "%u groups left", watch_cgroups(supervisor));
	if (watch_mounts())
		fail(spec, "%u mounts left", watch_mounts());
}

static void serving_close(const char *spec, struct serving *s, bool died)
{
	plimsoll_close(s->context);
	s->context = NULL;
	supervisor_judge(spec, s->supervisor, died);
}

/* fired: it has happened in the run before. */
static void verify(const char *spec, struct serving *s, bool fired)
{
	struct answer answer;

	bench_spec("");
	bench_ask(s->context, s->wall, plain, &answer);
	if (answer.error.code == PLIMSOLL_ERROR_LOST && (answer.fired || fired)) {
		/* The line itself failed: after the answer, or before the supervisor could read that nothing should. */
		serving_close(spec, s, false);
		return;
	}
	if (!answer.right || !answer.witnessed)
		fail(spec, "the next run is not right: %s%s (fact \"%s\")", answer.what, answer.error.message, answer.error.fact);
	still_await(spec, s, true);
}

static void serving_open(struct serving *s)
{
	struct plimsoll_error error;
	struct answer answer;

	bench_spec("");
	if (bench_open(s->wall, s->pool, &s->context, &error) < 0) {
		printf("cannot open: %s\n", error.message);
		exit(2);
	}
	s->supervisor = watch_supervisor();
	for (int i = 0; i < 2; i++) {
		bench_ask(s->context, s->wall, plain, &answer);
		if (answer.right && answer.witnessed)
			continue;
		printf("without any failure: %s%s\n", answer.what, answer.error.message);
		exit(answer.error.reason == PLIMSOLL_REASON_ENVIRONMENT ? 77 : 2);
	}
	still_learn(s);
}

/* One failure in an open context. Whether it has happened. */
static bool serve_one(struct serving *s, const char *spec, const struct scenario *scenario, enum culprit culprit)
{
	struct answer answer, after;

	if (!s->context)
		serving_open(s);
	bench_spec(spec);
	bench_ask(s->context, s->wall, scenario, &answer);
	if (watch_state(s->supervisor) == 'Z' || answer.error.code == PLIMSOLL_ERROR_LOST) {
		judge_answer(spec, scenario, &answer, culprit);
		serving_close(spec, s, false);
		return answer.fired;
	}
	still_await(spec, s, false);
	bench_log_read(0, &after); /* it may have happened while the sandbox was taken down */
	answer.fired = after.fired;
	judge_answer(spec, scenario, &answer, culprit);
	if (watch_state(s->supervisor) == 'Z')
		serving_close(spec, s, false);
	else
		verify(spec, s, answer.fired);
	return answer.fired;
}

static void serve(const char *wall, const char *what, const char *name, int error, unsigned pool, long stride)
{
	struct serving s = { .wall = wall, .pool = pool };
	const struct scenario *scenario = scenario_find(name);
	static const int errors[] = { EAGAIN, ENOMEM, EINTR, EPERM, ENOSPC };
	int quiet = 0, fired = 0;
	char spec[SPEC_SIZE];

	for (long n = 1, i = 0; quiet < QUIET_MAX; n += stride, i++) {
		if (error)
			snprintf(spec, sizeof spec, "supervisor:%s:%ld:%d", what, n, error < 0 ? errors[i % 5] : error);
		else
			snprintf(spec, sizeof spec, "supervisor:%s:%ld", what, n);
		if (serve_one(&s, spec, scenario, CULPRIT_SUPERVISOR))
			fired++, quiet = 0;
		else
			quiet++;
	}
	if (s.context)
		serving_close("at the end", &s, false);
	printf("%s, %s: %d failures of %s\n", wall, name, fired, what);
	if (!fired)
		fail(what, "nothing ever failed");
}

/* --- a context for each ---------------------------------------------------------------------------------------------- */

/* Opens, asks and closes with a failure in force from the start. */
static void fresh_one(const char *walls, const char *wall, const char *spec, const struct scenario *scenario,
		      enum culprit culprit, bool dies, struct answer *ret)
{
	struct serving s = { .wall = wall };
	struct answer after = { 0 };
	struct plimsoll_error error;
	int rc;

	*ret = (struct answer){ 0 };
	bench_log_clear();
	bench_spec(spec);
	rc = bench_open(walls, 0, &s.context, &error);
	s.supervisor = watch_supervisor();
	judge_open(spec, rc, &error);
	if (rc < 0) {
		bench_log_read(0, ret);
		if (s.supervisor)
			supervisor_judge(spec, s.supervisor, dies);
		else
			fail(spec, "no supervisor was to be seen");
		return;
	}
	bench_log_read(0, &after);
	if (!after.fired && scenario) {
		bench_ask(s.context, wall, scenario, ret);
		judge_answer(spec, scenario, ret, culprit);
	} else if (after.fired && !dies) {
		/* It was borne in silence: what was opened must be sound. */
		bench_spec("");
		bench_ask(s.context, wall, plain, ret);
		judge_answer(spec, plain, ret, culprit);
	}
	if (!after.fired)
		bench_log_clear();
	serving_close(spec, &s, dies);
	if (!after.fired && !ret->fired)
		bench_log_read(0, &after);
	ret->fired |= after.fired;
}

/* Failures of the supervisor from its first call to its last. */
static void fresh(const char *walls, const char *wall, const char *what, const char *name, bool dies, long stride)
{
	const struct scenario *scenario = name[0] ? scenario_find(name) : NULL;
	int quiet = 0, fired = 0;
	struct answer answer;
	char spec[SPEC_SIZE];

	for (long n = 1; quiet < QUIET_MAX; n += stride) {
		snprintf(spec, sizeof spec, "supervisor:%s:%ld", what, n);
		fresh_one(walls, wall, spec, scenario, CULPRIT_SUPERVISOR, dies, &answer);
		if (answer.fired)
			fired++, quiet = 0;
		else
			quiet++;
	}
	printf("%s, %s, from start to end: %d failures of %s\n", walls, name, fired, what);
	if (!fired)
		fail(what, "nothing ever failed");
}

/* A program inside the jail cannot keep a log: how many calls it makes is found by having it end at its n-th, which no run
 * survives unseen. */
static void jail(const char *wall, const char *program, const char *name)
{
	enum culprit culprit = strcmp(program, "guest") == 0 ? CULPRIT_GUEST : CULPRIT_LAUNCH;
	const struct scenario *scenario = scenario_find(name);
	int quiet = 0;
	struct answer answer;
	char spec[SPEC_SIZE];
	long n, calls;

	for (n = 1; quiet < QUIET_MAX; n++) {
		snprintf(spec, sizeof spec, "%s:die:%ld", program, n);
		fresh_one(wall, wall, spec, scenario, culprit, false, &answer);
		quiet = answer.right && answer.all_same ? quiet + 1 : 0;
	}
	calls = n - 1 - QUIET_MAX;
	for (n = 1; n <= calls + JAIL_MARGIN; n++) {
		snprintf(spec, sizeof spec, "%s:call:%ld", program, n);
		fresh_one(wall, wall, spec, scenario, culprit, false, &answer);
	}
	printf("%s, %s: %ld calls of %s\n", wall, name, calls, program);
	if (calls < 5)
		fail(program, "only %ld calls", calls);
}

/* --- allocations ----------------------------------------------------------------------------------------------------- */

static void engine(const char *wall)
{
	struct serving s = { .wall = wall };
	const struct scenario *scenario = scenario_find("engine");
	long quiet = 0, felt = 0, n;
	struct answer answer;
	char spec[SPEC_SIZE];

	serving_open(&s);
	for (n = 1; n <= 500 || quiet < 15; n += n < 500 ? 1 : 37) {
		snprintf(spec, sizeof spec, "engine:alloc:%ld", n);
		bench_spec(spec);
		bench_ask(s.context, wall, scenario, &answer);
		judge_answer(spec, scenario, &answer, CULPRIT_ENGINE);
		quiet = answer.right ? quiet + 1 : 0;
		felt += !answer.right;
	}
	verify("engine", &s, false);
	serving_close("engine", &s, false);
	printf("%s: allocations 1 to %ld of the engine, %ld of them fatal to the program\n", wall, n, felt);
	if (felt < 100)
		fail("engine", "only %ld failures were felt", felt);
}

/* Everything that the library can be asked, its n-th allocation failing. */
static void library(const char *wall)
{
	static const char *const names[] = { "print", "measure", "doctor", "flood", "cancel" };
	int fds = watch_fds(getpid());
	char spec[SPEC_SIZE];
	unsigned long n = 0;

	bench_spec("");
	do {
		struct serving s = { .wall = wall };
		struct plimsoll_error error;
		struct answer answer;
		int rc;

		snprintf(spec, sizeof spec, "library:alloc:%lu", ++n);
		bench_log_clear();
		pl_alloc_fail(n);
		rc = bench_open(wall, 0, &s.context, &error);
		judge_open(spec, rc, &error);
		s.supervisor = watch_supervisor();
		for (size_t i = 0; rc == 0 && i < sizeof names / sizeof *names; i++) {
			bench_ask(s.context, wall, scenario_find(names[i]), &answer);
			judge_answer(spec, scenario_find(names[i]), &answer, CULPRIT_LIBRARY);
		}
		if (rc == 0)
			serving_close(spec, &s, false);
		else if (s.supervisor)
			supervisor_judge(spec, s.supervisor, false);
		if (watch_fds(getpid()) != fds)
			fail(spec, "%d descriptors in the library's program, %d before", watch_fds(getpid()), fds);
	} while (pl_alloc_failed());
	printf("%s: %lu allocations of the library\n", wall, n - 1);
	if (n < 6)
		fail("library", "only %lu allocations", n - 1);
}

/* ------------------------------------------------------------------------------------------------------------------- */

static int usage(void)
{
	fprintf(stderr,
		"usage: drive_fault FOLDER start | start-alloc | life WALL | die WALL | serve WALL SCENARIO | pool WALL | errors WALL |\n"
		"                          alloc WALL | jail WALL launch|guest SCENARIO | engine WALL | library WALL\n");
	return 2;
}

int sweep(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "", *wall = argc > 3 ? argv[3] : "";

	if (argc < 3)
		return usage();
	bench_dir = argv[1];
	plain = scenario_find("print");
	if (strcmp(what, "start") == 0)
		fresh("container,process", "container", "call", "", false, 1);
	else if (strcmp(what, "start-alloc") == 0)
		fresh("container,process", "container", "alloc", "", false, 1);
	else if (strcmp(what, "serve") == 0 && argc > 4 && scenario_find(argv[4]))
		serve(wall, "call", argv[4], EIO, 0, 1);
	else if (strcmp(what, "pool") == 0)
		serve(wall, "call", "print", EIO, 1, 11);
	else if (strcmp(what, "errors") == 0)
		serve(wall, "call", "print", -1, 0, 3);
	else if (strcmp(what, "life") == 0)
		fresh(wall, wall, "call", "print", false, 7);
	else if (strcmp(what, "die") == 0)
		fresh(wall, wall, "die", "print", true, 3);
	else if (strcmp(what, "jail") == 0 && argc > 5 && scenario_find(argv[5]))
		jail(wall, argv[4], argv[5]);
	else if (strcmp(what, "alloc") == 0)
		serve(wall, "alloc", "print", 0, 0, 1);
	else if (strcmp(what, "engine") == 0)
		engine(wall);
	else if (strcmp(what, "library") == 0)
		library(wall);
	else
		return usage();
	printf("%u answers judged, %u failures\n", judged, failures);
	return failures ? 1 : 0;
}
