/* SPDX-License-Identifier: Apache-2.0 */
/* bench: takes the times that bench/run makes a table of. Each call takes one kind of sample and prints them as one JSON object;
 * what they mean, and in which turn they are taken, is bench/run's. Links libplimsoll as any program would.
 *
 *   bench run     LIBEXEC WALL POOL RUNS GAP_US THREADS SETTLE_MS EARLIER   plimsoll_run: how long each call took
 *   bench refuse  LIBEXEC WALL RUNS GAP_US                                  plimsoll_run with a floor that is not met
 *   bench measure LIBEXEC WALL RUNS                                         plimsoll_measure: opened, measured, destroyed
 *   bench hold    LIBEXEC WALL POOL                                         a context that waits until its stdin ends
 *   bench tasks   N                                                         N sleeping processes, until its stdin ends
 *   bench exec    RUNS COMMAND...                                           a command from fork to its end
 *   bench clone   RUNS                                                      an empty child in eight new namespaces */
#define _GNU_SOURCE
#include <plimsoll/plimsoll.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "console.log(1+1)"
#define SPIN_UP 3 /* calls that are not counted: the first zygote, first touches of memory */

extern char **environ;

struct work {
	struct plimsoll_context *context;
	const char *wall;
	int runs, gap_us;
	atomic_int next;
	atomic_int failed;
	double *whole_us, *inside_us; /* the call; from dispatch to the answer */
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(1);
}

static double *samples_new(int n)
{
	double *samples = calloc((size_t)n + 1, sizeof *samples);

	if (!samples)
		die("samples", "no memory");
	return samples;
}

static void samples_print(const char *name, const double *samples, int n)
{
	printf("\"%s\": [", name);
	for (int i = 0; i < n; i++)
		printf("%s%.1f", i ? ", " : "", samples[i]);
	printf("]");
}

static struct plimsoll_context *context_open(const char *libexec, const char *wall, int pool)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;
	struct plimsoll_error error;

	options.walls = wall;
	options.microvm_flavours = getenv("PLIMSOLL_MICROVM_FLAVOURS");
	options.libexec_dir = libexec;
	options.pool = (uint32_t)pool;
	options.runs_max = 64;
	if (plimsoll_open(&options, &context, &error) < 0)
		die("open", error.message);
	return context;
}

/* One run; its time inside the supervisor in *ret_inside_us. */
static int run_once(struct work *work, double *ret_inside_us)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_result *result;
	struct plimsoll_error error;
	size_t len;
	int good;

	request.code = PROGRAM;
	request.code_len = strlen(PROGRAM);
	request.wall = work->wall;
	request.floor = strcmp(work->wall, "microvm") == 0 ? "vm" : work->wall;
	if (plimsoll_run(work->context, &request, &result, &error) < 0) {
		fprintf(stderr, "bench: run: %s\n", error.message);
		return -1;
	}
	good = plimsoll_result_exit_code(result) == 0 && memcmp(plimsoll_result_stdout(result, &len), "2\n", 2) == 0;
	*ret_inside_us = (double)plimsoll_result_duration_us(result);
	plimsoll_result_free(result);
	return good ? 0 : -1;
}

static void *worker(void *arg)
{
	struct work *work = arg;
	int i;

	while ((i = atomic_fetch_add(&work->next, 1)) < work->runs) {
		double start = now_us();

		if (run_once(work, &work->inside_us[i]) < 0)
			atomic_fetch_add(&work->failed, 1);
		work->whole_us[i] = now_us() - start;
		if (work->gap_us)
			usleep((useconds_t)work->gap_us);
	}
	return NULL;
}

/* Runs work->runs times on so many threads; how long that took, microseconds. */
static double work_do(struct work *work, int threads_n)
{
	pthread_t threads[64];
	double start = now_us();

	atomic_store(&work->next, 0);
	for (int i = 0; i < threads_n; i++)
		if (pthread_create(&threads[i], NULL, worker, work))
			die("thread", "cannot be made");
	for (int i = 0; i < threads_n; i++)
		pthread_join(threads[i], NULL);
	if (atomic_load(&work->failed))
		die("run", "a run failed");
	return now_us() - start;
}

static int bench_run(char **argv)
{
	int pool = atoi(argv[2]), runs = atoi(argv[3]), threads = atoi(argv[5]), settle_ms = atoi(argv[6]), earlier = atoi(argv[7]);
	struct work work = { .context = context_open(argv[0], argv[1], pool), .wall = argv[1] };
	double total_us;
	int most = runs > earlier ? runs : earlier;

	work.whole_us = samples_new(most > SPIN_UP ? most : SPIN_UP);
	work.inside_us = samples_new(most > SPIN_UP ? most : SPIN_UP);
	work.runs = SPIN_UP;
	work_do(&work, 1);
	work.runs = earlier;
	work_do(&work, 4);
	usleep((useconds_t)settle_ms * 1000);
	work.runs = runs;
	work.gap_us = atoi(argv[4]);
	total_us = work_do(&work, threads);
	printf("{\"total_us\": %.0f, ", total_us);
	samples_print("whole_us", work.whole_us, runs);
	printf(", ");
	samples_print("inside_us", work.inside_us, runs);
	printf("}\n");
	plimsoll_close(work.context);
	return 0;
}

/* What a call costs that reaches the supervisor, is parsed and answered, and goes no further. */
static int bench_refuse(char **argv)
{
	struct plimsoll_context *context = context_open(argv[0], argv[1], 0);
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	int runs = atoi(argv[2]), gap_us = atoi(argv[3]);
	double *samples = samples_new(runs);

	request.code = PROGRAM;
	request.code_len = strlen(PROGRAM);
	request.wall = argv[1];
	request.floor = "vm";
	for (int i = -SPIN_UP; i < runs; i++) {
		double start = now_us();
		struct plimsoll_result *result;
		struct plimsoll_error error;

		if (plimsoll_run(context, &request, &result, &error) >= 0 || error.reason != PLIMSOLL_REASON_ISOLATION)
			die("refuse", "this was to be refused");
		if (i >= 0)
			samples[i] = now_us() - start;
		if (gap_us)
			usleep((useconds_t)gap_us);
	}
	printf("{");
	samples_print("whole_us", samples, runs);
	printf("}\n");
	plimsoll_close(context);
	return 0;
}

static int bench_measure(char **argv)
{
	struct plimsoll_context *context = context_open(argv[0], argv[1], 0);
	int runs = atoi(argv[2]);
	double *samples = samples_new(runs);

	for (int i = -SPIN_UP; i < runs; i++) {
		double start = now_us();
		struct plimsoll_evidence *evidence;
		struct plimsoll_error error;

		if (plimsoll_measure(context, argv[1], &evidence, &error) < 0)
			die("measure", error.message);
		plimsoll_evidence_free(evidence);
		if (i >= 0)
			samples[i] = now_us() - start;
	}
	printf("{");
	samples_print("whole_us", samples, runs);
	printf("}\n");
	plimsoll_close(context);
	return 0;
}

static void stdin_await(void)
{
	char byte;

	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

static int bench_hold(char **argv)
{
	struct work work = { .context = context_open(argv[0], argv[1], atoi(argv[2])), .wall = argv[1] };
	double inside_us;

	if (run_once(&work, &inside_us) < 0)
		die("hold", "a run failed");
	stdin_await();
	plimsoll_close(work.context);
	return 0;
}

static int bench_tasks(char **argv)
{
	int n = atoi(argv[0]), started = 0;
	pid_t *pids = calloc((size_t)n, sizeof *pids);

	for (; pids && started < n; started++) {
		pids[started] = fork();
		if (pids[started] < 0)
			break;
		if (pids[started] == 0) {
			close(0);
			close(1);
			for (;;)
				pause();
		}
	}
	if (started == n)
		stdin_await();
	for (int i = 0; i < started; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	free(pids);
	return started == n ? 0 : 1;
}

static double exec_once(char **argv, const posix_spawn_file_actions_t *actions)
{
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], actions, NULL, argv, environ))
		die(argv[0], "cannot be started");
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		die(argv[0], "failed");
	return now_us() - start;
}

static int bench_exec(char **argv)
{
	int runs = atoi(argv[0]);
	double *samples = samples_new(runs);
	posix_spawn_file_actions_t actions;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
	for (int i = -1; i < runs; i++) {
		double took = exec_once(argv + 1, &actions);

		if (i >= 0)
			samples[i] = took;
	}
	printf("{");
	samples_print("whole_us", samples, runs);
	printf("}\n");
	return 0;
}

/* As an ordinary user the user namespace comes first, by the same call. */
static int bench_clone(char **argv)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | CLONE_NEWTIME,
		.exit_signal = SIGCHLD,
	};
	int runs = atoi(argv[0]);
	double *samples = samples_new(runs);

	for (int i = 0; i < runs; i++) {
		double start = now_us();
		long pid = syscall(SYS_clone3, &args, sizeof args);

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			die("clone3", strerror(errno));
		waitpid((pid_t)pid, NULL, 0);
		samples[i] = now_us() - start;
	}
	printf("{");
	samples_print("whole_us", samples, runs);
	printf("}\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args_n;
		int (*run)(char **argv);
	} kinds[] = {
		{ "run", 8, bench_run },   { "refuse", 4, bench_refuse }, { "measure", 3, bench_measure }, { "hold", 3, bench_hold },
		{ "tasks", 1, bench_tasks }, { "exec", 2, bench_exec },	  { "clone", 1, bench_clone },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (argc >= 2 + kinds[i].args_n && strcmp(argv[1], kinds[i].name) == 0)
			return kinds[i].run(argv + 2);
	fprintf(stderr, "usage: see the first comment of bench.c\n");
	return 2;
}
