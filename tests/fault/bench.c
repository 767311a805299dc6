/* SPDX-License-Identifier: Apache-2.0 */
/* bench: asks the library, with a failure prepared, and takes down what came of it. The spec and the log are files beside the
 * helper programs (src/linux/fault/on/fault.h). */
#include "drive_fault.h"

#include "linux/fault/on/fault.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_MAX (64 * 1024)

const char *bench_dir;
char bench_site[64];

static int bench_file(const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s", bench_dir, name);
	fd = open(path, flags | O_CLOEXEC, 0666);
	if (fd < 0) {
		perror(path);
		exit(2);
	}
	return fd;
}

void bench_spec(const char *spec)
{
	int fd = bench_file("fault", O_WRONLY | O_CREAT | O_TRUNC);
	size_t len = strlen(spec);

	if (len)
		bench_site[0] = 0;
	if (write(fd, spec, len) != (ssize_t)len) {
		perror("write the spec");
		exit(2);
	}
	close(fd);
}

void bench_log_clear(void)
{
	close(bench_file("fault.log", O_WRONLY | O_CREAT | O_TRUNC));
}

void bench_log_read(unsigned witness, struct answer *ret)
{
	static char text[LOG_MAX];
	char line[64], *at;
	int fd = bench_file("fault.log", O_RDONLY);
	ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
	snprintf(line, sizeof line, "out " PL_FAULT_WITNESS "%u\n", witness);
	ret->witnessed = strstr(text, line) != NULL;
	at = strstr(text, "fired ");
	ret->fired = at != NULL;
	if (at)
		snprintf(bench_site, sizeof bench_site, "%.*s", (int)strcspn(at + 6, "\n"), at + 6);
}

int bench_open(const char *walls, unsigned pool, struct plimsoll_context **ret, struct plimsoll_error *error)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;

	options.walls = walls;
	options.libexec_dir = bench_dir;
	options.pool = pool;
	options.memory_max_bytes = 512 << 20;
	memset(error, 0, sizeof *error);
	return plimsoll_open(&options, ret, error);
}

/* --- the one who interferes ---------------------------------------------------------------------------------------- */

struct meddler {
	pid_t supervisor;
	struct plimsoll_cancel *cancel; /* NULL: the guest is killed */
	atomic_bool stop;
};

/* Something below the supervisor that has computed for 20 ms: the guest. Before that nothing here takes so long. */
static pid_t guest_find(pid_t supervisor)
{
	pid_t tree[WATCH_TREE_MAX];
	size_t n = watch_tree(supervisor, tree, WATCH_TREE_MAX);

	for (size_t i = n; i--;) {
		pid_t none[1];

		if (watch_state(tree[i]) == 'R' && watch_cpu_ticks(tree[i]) >= 2 && !watch_children(tree[i], none, 1))
			return tree[i];
	}
	return 0;
}

static void *meddle(void *opaque)
{
	struct meddler *m = opaque;

	while (!atomic_load(&m->stop)) {
		pid_t guest = guest_find(m->supervisor);

		if (guest && m->cancel)
			plimsoll_cancel_trigger(m->cancel);
		else if (guest)
			kill(guest, SIGKILL);
		watch_sleep_us(2000);
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------------------------- */

static void facts_look(const struct plimsoll_evidence *evidence, const char *wall, bool ran, struct answer *ret)
{
	struct plimsoll_fact fact;
	size_t n = plimsoll_evidence_facts_n(evidence);

	ret->all_same = true;
	if (!n || strcmp(plimsoll_evidence_wall(evidence), wall) ||
	    strcmp(plimsoll_tier_name(plimsoll_evidence_tier(evidence)), wall))
		snprintf(ret->what, sizeof ret->what, "evidence of wall %s, tier %s, %zu facts", plimsoll_evidence_wall(evidence),
			 plimsoll_tier_name(plimsoll_evidence_tier(evidence)), n);
	for (size_t i = 0; i < n; i++) {
		plimsoll_evidence_fact(evidence, i, &fact);
		if (fact.required && strcmp(fact.verdict, "met"))
			snprintf(ret->what, sizeof ret->what, "fact %s is %s", fact.name, fact.verdict);
		if (ran && strcmp(fact.after, "gone") == 0)
			ret->all_same = false;
	}
}

static void result_look(const struct plimsoll_result *r, const struct scenario *s, const char *wall, struct answer *ret)
{
	size_t len;
	const char *out = (const char *)plimsoll_result_stdout(r, &len);
	bool out_right;

	ret->exit_code = plimsoll_result_exit_code(r);
	if (s->out)
		out_right = len == strlen(s->out) && memcmp(out, s->out, len) == 0;
	else if (s->out_total)
		out_right = len == s->stdout_max_bytes && plimsoll_result_stdout_truncated(r) &&
			    plimsoll_result_stdout_total(r) == s->out_total;
	else
		out_right = len > 0 && out[len - 1] == '\n';
	if (ret->exit_code != s->exit_code || (plimsoll_result_timed_out(r) != 0) != s->timed_out ||
	    (plimsoll_result_oom(r) != 0) != s->oom || !out_right)
		snprintf(ret->what, sizeof ret->what, "exit %d, timed out %d, oom %d, %zu of %llu bytes \"%.60s\"", ret->exit_code,
			 plimsoll_result_timed_out(r), plimsoll_result_oom(r), len,
			 (unsigned long long)plimsoll_result_stdout_total(r), len ? out : "");
	else if (plimsoll_result_cpu_us(r) < 0 || plimsoll_result_duration_us(r) < 0)
		snprintf(ret->what, sizeof ret->what, "a time below zero");
	else
		facts_look(plimsoll_result_evidence(r), wall, true, ret);
}

static void run_ask(struct plimsoll_context *context, const char *wall, const struct scenario *s, unsigned witness,
		    struct plimsoll_cancel *cancel, struct answer *ret)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_result *result;
	char code[2048];

	snprintf(code, sizeof code, "/*" PL_FAULT_WITNESS "%u*/%s", witness, s->code);
	request.code = code;
	request.code_len = strlen(code);
	request.wall = wall;
	request.floor = wall;
	request.timeout_ms = s->timeout_ms;
	request.memory_bytes = s->memory_bytes;
	request.stdout_max_bytes = s->stdout_max_bytes;
	request.cancel = cancel;
	ret->rc = plimsoll_run(context, &request, &result, &ret->error);
	if (ret->rc < 0)
		return;
	result_look(result, s, wall, ret);
	plimsoll_result_free(result);
}

static void measure_ask(struct plimsoll_context *context, const char *wall, struct answer *ret)
{
	struct plimsoll_evidence *evidence;

	ret->rc = plimsoll_measure(context, wall, &evidence, &ret->error);
	if (ret->rc < 0)
		return;
	facts_look(evidence, wall, false, ret);
	plimsoll_evidence_free(evidence);
}

static void doctor_ask(struct plimsoll_context *context, struct answer *ret)
{
	struct plimsoll_doctor *doctor;

	ret->rc = plimsoll_doctor(context, &doctor, &ret->error);
	if (ret->rc < 0)
		return;
	if (plimsoll_doctor_rows_n(doctor) < 2)
		snprintf(ret->what, sizeof ret->what, "%zu rows", plimsoll_doctor_rows_n(doctor));
	plimsoll_doctor_free(doctor);
}

static void meddled_ask(struct plimsoll_context *context, const char *wall, const struct scenario *s, unsigned witness,
			struct answer *ret)
{
	struct meddler meddler = { .supervisor = watch_supervisor() };
	pthread_t thread;

	ret->rc = s->cancelled ? plimsoll_cancel_new(&meddler.cancel, &ret->error) : 0;
	if (ret->rc < 0)
		return;
	if (pthread_create(&thread, NULL, meddle, &meddler)) {
		fprintf(stderr, "no thread\n");
		exit(2);
	}
	run_ask(context, wall, s, witness, meddler.cancel, ret);
	atomic_store(&meddler.stop, true);
	pthread_join(thread, NULL);
	plimsoll_cancel_free(meddler.cancel);
}

void bench_ask(struct plimsoll_context *context, const char *wall, const struct scenario *scenario, struct answer *ret)
{
	static unsigned witness;
	double start = watch_now_s();

	*ret = (struct answer){ 0 };
	witness++;
	bench_log_clear();
	if (scenario->doctor)
		doctor_ask(context, ret);
	else if (!scenario->code)
		measure_ask(context, wall, ret);
	else if (scenario->killed || scenario->cancelled)
		meddled_ask(context, wall, scenario, witness, ret);
	else
		run_ask(context, wall, scenario, witness, NULL, ret);
	ret->right = ret->rc == 0 && !ret->what[0];
	ret->took_s = watch_now_s() - start;
	bench_log_read(witness, ret);
}
