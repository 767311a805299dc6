/* SPDX-License-Identifier: Apache-2.0 */
/* drive_soak: many runs at once in one context, one in ten of which ends badly; and the same with somebody killed in the
 * middle. Every answer is compared with what it must be, and what is there afterwards with what was there before.
 *
 * usage: drive_soak FOLDER mix WALL RUNS POOL        FOLDER: where the helper programs are
 *        drive_soak FOLDER embedder WALL ROUNDS      kill -9 of the program that embeds the library
 *        drive_soak FOLDER supervisor WALL ROUNDS    kill -9 of the supervisor */
#include "plimsoll/plimsoll.h"
#include "support/watch.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define KILLED_RUNS 200
/* What a run that waits to be killed holds; nothing else here comes near it. */
#define VICTIM_KIB (40 * 1024)
/* How much more memory a process may hold at the end than in the middle: the heap's own scatter. */
#define GROWTH_MAX_KIB 1536
#define GONE_WITHIN_MS 20000
#define CLEAN_WITHIN_MS 2000
#define FAILURES_SHOWN 20

enum kind { KIND_PLAIN, KIND_KILLED, KIND_MEMORY, KIND_LOOP, KIND_FLOOD, KIND_N };

static const char *const kind_names[KIND_N] = { "plain", "killed", "out of memory", "looping", "flooding" };

struct soak {
	struct plimsoll_context *context;
	const char *wall;
	unsigned runs;
	bool may_be_lost;            /* the supervisor is killed on the way */
	pid_t supervisor;
	atomic_uint next, done, lost;
	atomic_uint of_kind[KIND_N];
	atomic_bool over;
	long middle_kib[2], end_kib[2]; /* of the supervisor and of this program */
};

/* What stands when nothing runs. */
struct still {
	size_t processes;
	int fds, own_fds;
	unsigned groups;
};

static const char *folder;
static atomic_uint failures;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list args;

	if (atomic_fetch_add(&failures, 1) >= FAILURES_SHOWN)
		return;
	va_start(args, format);
	flockfile(stdout);
	printf("FAIL ");
	vprintf(format, args);
	printf("\n");
	funlockfile(stdout);
	va_end(args);
}

/* --- one run --------------------------------------------------------------------------------------------------------- */

static enum kind kind_of(unsigned i)
{
	return i % 10 == 3 ? (enum kind)(1 + i / 10 % (KIND_N - 1)) : KIND_PLAIN;
}

struct wanted {
	char code[256], out[64], err[64];
	int exit_code;
	bool timed_out, oom;
	uint64_t out_kept, out_total; /* flooding: out is not compared */
};

static void plain_make(unsigned i, struct wanted *w)
{
	w->exit_code = i % 3 ? 0 : (int)(i % 120);
	snprintf(w->code, sizeof w->code, "console.log(%u*7,'é');console.error('e'+%u);process.exitCode=%d", i, i, w->exit_code);
	snprintf(w->out, sizeof w->out, "%u é\n", i * 7);
	snprintf(w->err, sizeof w->err, "e%u\n", i);
}

static void wanted_make(unsigned i, struct plimsoll_request *request, struct wanted *w)
{
	*w = (struct wanted){ 0 };
	switch (kind_of(i)) {
	case KIND_KILLED:
		snprintf(w->code, sizeof w->code, "b=new Uint8Array(48<<20).fill(1);setTimeout(()=>console.log(b[1]),15000)");
		request->memory_bytes = 160 << 20;
		request->timeout_ms = 20000;
		w->exit_code = 134;
		break;
	case KIND_MEMORY:
		snprintf(w->code, sizeof w->code, "a=[];for(;;)a.push(new Uint8Array(4096))");
		request->memory_bytes = 16 << 20;
		snprintf(w->err, sizeof w->err, "Uncaught InternalError: out of memory\n");
		w->exit_code = 137;
		w->oom = true;
		break;
	case KIND_LOOP:
		snprintf(w->code, sizeof w->code, "console.log('in');for(;;){}");
		snprintf(w->out, sizeof w->out, "in\n");
		request->timeout_ms = 200;
		w->exit_code = 124;
		w->timed_out = true;
		break;
	case KIND_FLOOD:
		snprintf(w->code, sizeof w->code, "s='0123456789'.repeat(1000);for(i=0;i<200;i++)process.stdout.write(s)");
		w->out_kept = 65536;
		w->out_total = 2000000;
		break;
	case KIND_PLAIN:
	default:
		plain_make(i, w);
		break;
	}
}

static bool text_is(const uint8_t *bytes, size_t len, const char *text)
{
	return len == strlen(text) && (!len || memcmp(bytes, text, len) == 0);
}

static void result_judge(unsigned i, const struct plimsoll_result *r, const struct wanted *w, const char *wall)
{
	const struct plimsoll_evidence *evidence = plimsoll_result_evidence(r);
	size_t out_len, err_len;
	const uint8_t *out = plimsoll_result_stdout(r, &out_len), *err = plimsoll_result_stderr(r, &err_len);
	bool out_right = w->out_total ? out_len == w->out_kept && plimsoll_result_stdout_truncated(r) &&
						plimsoll_result_stdout_total(r) == w->out_total && out[10009] == '9'
				      : text_is(out, out_len, w->out);

	if (plimsoll_result_exit_code(r) != w->exit_code || (plimsoll_result_timed_out(r) != 0) != w->timed_out ||
	    (plimsoll_result_oom(r) != 0) != w->oom || !out_right || !text_is(err, err_len, w->err))
		fail("run %u, %s: exit %d, timed out %d, oom %d, %zu of %llu bytes, stderr %zu", i, kind_names[kind_of(i)],
		     plimsoll_result_exit_code(r), plimsoll_result_timed_out(r), plimsoll_result_oom(r), out_len,
		     (unsigned long long)plimsoll_result_stdout_total(r), err_len);
	if (strcmp(plimsoll_evidence_wall(evidence), wall) || !plimsoll_evidence_facts_n(evidence))
		fail("run %u: evidence of wall %s", i, plimsoll_evidence_wall(evidence));
}

static void run_one(struct soak *s, unsigned i)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_result *result;
	struct plimsoll_error error;
	struct wanted wanted;
	int rc;

	wanted_make(i, &request, &wanted);
	request.code = wanted.code;
	request.code_len = strlen(wanted.code);
	request.wall = request.floor = s->wall;
	rc = plimsoll_run(s->context, &request, &result, &error);
	atomic_fetch_add(&s->of_kind[kind_of(i)], 1);
	if (rc == 0) {
		result_judge(i, result, &wanted, s->wall);
		plimsoll_result_free(result);
	} else if (s->may_be_lost && error.code == PLIMSOLL_ERROR_LOST) {
		atomic_fetch_add(&s->lost, 1);
	} else {
		fail("run %u, %s: %s (%s): %s", i, kind_names[kind_of(i)], error.step, plimsoll_reason_name(error.reason),
		     error.message);
	}
}

static void *worker(void *opaque)
{
	struct soak *s = opaque;
	unsigned i;

	while ((i = atomic_fetch_add(&s->next, 1)) < s->runs) {
		run_one(s, i);
		if (atomic_fetch_add(&s->done, 1) + 1 == s->runs / 2 && s->supervisor) {
			s->middle_kib[0] = watch_rss_kib(s->supervisor);
			s->middle_kib[1] = watch_rss_kib(getpid());
		}
	}
	return NULL;
}

/* Kills those that wait for it: asleep, with all that memory, and without children. */
static void *killer(void *opaque)
{
	struct soak *s = opaque;
	pid_t tree[WATCH_TREE_MAX], none[1];

	while (!atomic_load(&s->over)) {
		size_t n = watch_tree(s->supervisor, tree, WATCH_TREE_MAX);

		for (size_t i = 0; i < n; i++)
			if (watch_rss_kib(tree[i]) > VICTIM_KIB && watch_state(tree[i]) == 'S' &&
			    !watch_children(tree[i], none, 1))
				kill(tree[i], SIGKILL);
		watch_sleep_us(10000);
	}
	return NULL;
}

static void threads_start(struct soak *s, pthread_t threads[THREADS + 1])
{
	for (int i = 0; i <= THREADS; i++)
		if (pthread_create(&threads[i], NULL, i < THREADS ? worker : killer, s)) {
			perror("start a thread");
			exit(2);
		}
}

static void threads_join(struct soak *s, pthread_t threads[THREADS + 1])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&s->over, true);
	pthread_join(threads[THREADS], NULL);
}

/* --- before and after ------------------------------------------------------------------------------------------------ */

static void context_open(struct soak *s, unsigned pool)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_error error;

	options.walls = s->wall;
	options.libexec_dir = folder;
	options.pool = pool;
	options.runs_max = THREADS;
	options.memory_max_bytes = 256 << 20;
	if (plimsoll_open(&options, &s->context, &error) < 0) {
		printf("cannot open: %s\n", error.message);
		exit(2);
	}
	s->supervisor = watch_supervisor();
}

static struct still still_now(const struct soak *s)
{
	pid_t tree[WATCH_TREE_MAX];
	struct still now = {
		.fds = watch_fds(s->supervisor), .own_fds = watch_fds(getpid()), .groups = watch_cgroups(s->supervisor),
	};

	now.processes = watch_tree(s->supervisor, tree, WATCH_TREE_MAX);
	return now;
}

static bool still_same(const struct still *a, const struct still *b)
{
	return a->processes == b->processes && a->fds == b->fds && a->own_fds == b->own_fds && a->groups == b->groups;
}

/* Looks until nothing has changed for 100 ms. */
static struct still still_await(const struct soak *s)
{
	struct still last = still_now(s);
	int same = 0;

	for (int i = 0; i < 1000 && same < 10; i++) {
		struct still now;

		watch_sleep_us(10000);
		now = still_now(s);
		same = still_same(&now, &last) ? same + 1 : 0;
		last = now;
	}
	return last;
}

static unsigned files_in(const char *path)
{
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* The supervisor has ended or is ending: nothing of it may be left. */
static void nothing_left(pid_t supervisor, int within_ms, const char *when)
{
	size_t left = watch_nobody(within_ms);

	if (left)
		fail("%s: %zu processes left", when, left);
	if (watch_cgroups(supervisor))
		fail("%s: %u groups left", when, watch_cgroups(supervisor));
	if (watch_mounts())
		fail("%s: %u mounts left", when, watch_mounts());
	if (files_in("/run/plimsoll") > 1)
		fail("%s: %u files in /run/plimsoll", when, files_in("/run/plimsoll"));
}

static void warm_up(struct soak *s)
{
	unsigned runs = s->runs;
	pthread_t threads[THREADS + 1];

	s->runs = 2 * THREADS; /* with one that is killed among them */
	threads_start(s, threads);
	threads_join(s, threads);
	atomic_store(&s->next, 0);
	atomic_store(&s->done, 0);
	atomic_store(&s->over, false);
	s->runs = runs;
}

static int mix(const char *wall, unsigned runs, unsigned pool)
{
	struct soak s = { .wall = wall, .runs = runs };
	unsigned files = files_in(folder);
	struct still before, after;
	pthread_t threads[THREADS + 1];
	double start;

	context_open(&s, pool);
	warm_up(&s);
	before = still_await(&s);
	memset(s.of_kind, 0, sizeof s.of_kind);
	start = watch_now_s();
	threads_start(&s, threads);
	threads_join(&s, threads);
	printf("%s, pool %u: %u runs in %.1f s;", wall, pool, runs, watch_now_s() - start);
	after = still_await(&s);
	s.end_kib[0] = watch_rss_kib(s.supervisor);
	s.end_kib[1] = watch_rss_kib(getpid());
	for (int i = 0; i < KIND_N; i++) {
		printf(" %u %s", s.of_kind[i], kind_names[i]);
		if (!s.of_kind[i])
			fail("no run was %s", kind_names[i]);
	}
	printf("; supervisor %ld KiB in the middle, %ld at the end, this program %ld and %ld\n", s.middle_kib[0], s.end_kib[0],
	       s.middle_kib[1], s.end_kib[1]);
	for (int i = 0; i < 2; i++)
		if (s.end_kib[i] > s.middle_kib[i] + GROWTH_MAX_KIB)
			fail("%s grew from %ld to %ld KiB", i ? "this program" : "the supervisor", s.middle_kib[i], s.end_kib[i]);
	if (!still_same(&before, &after))
		fail("%zu processes, %d descriptors, %u groups, own descriptors %d; before %zu, %d, %u, %d", after.processes,
		     after.fds, after.groups, after.own_fds, before.processes, before.fds, before.groups, before.own_fds);
	plimsoll_close(s.context);
	nothing_left(s.supervisor, CLEAN_WITHIN_MS, "after the close");
	if (files_in(folder) != files)
		fail("%u files beside the helpers, %u before", files_in(folder), files);
	return 0;
}

/* --- kill -9 ----------------------------------------------------------------------------------------------------------- */

/* The next start, and a run in it. */
static void start_again(const char *wall, pid_t dead)
{
	struct soak s = { .wall = wall };
	double start = watch_now_s();

	context_open(&s, 0);
	run_one(&s, 1);
	while (watch_cgroups(dead) && watch_now_s() - start < CLEAN_WITHIN_MS / 1e3)
		watch_sleep_us(1000);
	if (watch_cgroups(dead))
		fail("%u groups of the dead supervisor %d ms after the next start", watch_cgroups(dead), CLEAN_WITHIN_MS);
	plimsoll_close(s.context);
	nothing_left(s.supervisor, CLEAN_WITHIN_MS, "after the next close");
}

static void processes_go(const char *who, const char *wall)
{
	double start = watch_now_s();
	size_t left = watch_nobody(GONE_WITHIN_MS);

	if (left)
		fail("%zu processes left %d ms after kill -9 of the %s", left, GONE_WITHIN_MS, who);
	printf("%s: every process gone %.0f ms after kill -9 of the %s\n", wall, (watch_now_s() - start) * 1e3, who);
}

/* The moment changes from round to round. */
static unsigned killed_after(unsigned round)
{
	return KILLED_RUNS / 4 + round * 37 % (KILLED_RUNS / 2);
}

static void supervisor_killed(const char *wall, unsigned round)
{
	struct soak s = { .wall = wall, .runs = KILLED_RUNS, .may_be_lost = true };
	pthread_t threads[THREADS + 1];

	context_open(&s, round % 2 ? 3 : 0);
	threads_start(&s, threads);
	while (atomic_load(&s.done) < killed_after(round))
		watch_sleep_us(200);
	kill(s.supervisor, SIGKILL);
	processes_go("supervisor", wall);
	threads_join(&s, threads);
	if (!atomic_load(&s.lost))
		fail("no run was lost");
	plimsoll_close(s.context);
	start_again(wall, s.supervisor);
}

/* In a process of its own; tells every run that has ended. */
static _Noreturn void embed(const char *wall, unsigned pool, int tell_fd)
{
	struct soak s = { .wall = wall, .runs = KILLED_RUNS, .may_be_lost = true };
	pthread_t threads[THREADS + 1];
	unsigned told = 0;

	context_open(&s, pool);
	threads_start(&s, threads);
	for (;;) {
		for (; told < atomic_load(&s.done); told++)
			if (write(tell_fd, ".", 1) != 1)
				_exit(2);
		watch_sleep_us(200);
	}
}

static void embedder_killed(const char *wall, unsigned round)
{
	int tell[2];
	pid_t program, supervisor;
	char byte;

	if (pipe(tell) < 0 || (program = fork()) < 0) {
		perror("fork");
		exit(2);
	}
	if (program == 0)
		embed(wall, round % 2 ? 3 : 0, tell[1]);
	close(tell[1]);
	for (unsigned n = 0; n < killed_after(round); n++)
		if (read(tell[0], &byte, 1) != 1) {
			fail("the embedding program ended by itself");
			break;
		}
	/* Orphaned when it was started, so it is a child of ours. */
	supervisor = watch_supervisor();
	if (!supervisor)
		fail("no supervisor is to be seen");
	kill(program, SIGKILL);
	processes_go("embedding program", wall);
	close(tell[0]);
	nothing_left(supervisor, 0, "after the embedding program");
	start_again(wall, supervisor);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "", *wall = argc > 3 ? argv[3] : "";
	unsigned n = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;

	if (!n) {
		fprintf(stderr, "usage: drive_soak FOLDER mix WALL RUNS POOL | embedder WALL ROUNDS | supervisor WALL ROUNDS\n");
		return 2;
	}
	folder = argv[1];
	watch_init();
	if (strcmp(what, "mix") == 0 && argc > 5)
		mix(wall, n, (unsigned)strtoul(argv[5], NULL, 10));
	for (unsigned round = 0; strcmp(what, "embedder") == 0 && round < n; round++)
		embedder_killed(wall, round);
	for (unsigned round = 0; strcmp(what, "supervisor") == 0 && round < n; round++)
		supervisor_killed(wall, round);
	return atomic_load(&failures) ? 1 : 0;
}
