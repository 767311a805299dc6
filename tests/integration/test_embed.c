/* SPDX-License-Identifier: Apache-2.0 */
/* A program that embeds the library, with the real supervisor and the process wall: nothing of ours is seen by its SIGCHLD
 * or its wait(), many threads share one context, cancelling, forking, and the supervisor's death at the worst moment.
 *
 * The helper programs are taken from the directory in the first argument (default: bin beside this program's own directory)
 * and copied, so that a supervisor can be known as this test's by the file that it runs. This program itself is a subreaper,
 * in order to see what is left behind; the embedding programs that must not see anything are children that are not. */
#include "plimsoll/plimsoll.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OPENS 150
#define HELPERS_N 4

static const char *const helpers[HELPERS_N] = { "plimsoll-supervisor", "plimsoll-launch", "plimsoll-guest", "plimsoll-worker" };
static char from_dir[PATH_MAX];
static char dir[] = "/tmp/plimsoll-embed-XXXXXX";

/* --- the copies ------------------------------------------------------------------------------------------------------- */

static int helper_copy(const char *name)
{
	char path[PATH_MAX + 64];
	struct stat st;
	int from, to;
	ssize_t n = -1;

	snprintf(path, sizeof path, "%s/%s", from_dir, name);
	from = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (from >= 0 && to >= 0 && fstat(from, &st) == 0)
		n = sendfile(to, from, NULL, (size_t)st.st_size);
	close(from);
	close(to);
	if (n > 0 && n == st.st_size)
		return 0;
	fprintf(stderr, "cannot copy %s/%s\n", from_dir, name);
	return -1;
}

static int dir_make(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	for (int i = 0; i < HELPERS_N; i++)
		if (helper_copy(helpers[i]) < 0)
			return -1;
	return 0;
}

static int dir_remove(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (int i = 0; i < HELPERS_N; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, helpers[i]);
		unlink(path);
	}
	return rmdir(dir);
}

/* How many supervisors of this test's run; *ret_last is one of them. */
static int supervisors_count(pid_t *ret_last)
{
	char path[300], exe[PATH_MAX], wanted[PATH_MAX];
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	snprintf(wanted, sizeof wanted, "%s/plimsoll-supervisor", dir);
	while ((entry = readdir(proc))) {
		ssize_t len;

		snprintf(path, sizeof path, "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof exe - 1);
		if (len <= 0)
			continue;
		exe[len] = 0;
		if (strcmp(exe, wanted))
			continue;
		n++;
		*ret_last = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(proc);
	return n;
}

/* Whatever loses its parent becomes a child of this program, which is a subreaper: when it has none, nothing is left. */
static void expect_nothing_left(int within_ms)
{
	pid_t pid = waitpid(-1, NULL, WNOHANG);

	for (; pid >= 0 && within_ms > 0; pid = waitpid(-1, NULL, WNOHANG)) {
		if (pid > 0)
			continue;
		usleep(5000);
		within_ms -= 5;
	}
	assert_int_equal(pid, -1);
	assert_int_equal(errno, ECHILD);
}

/* After plimsoll_close: the supervisor has closed the line, and is gone but for its last breath. */
#define NOW_MS 500

static pid_t supervisor_pid(void)
{
	pid_t pid = 0;

	assert_int_equal(supervisors_count(&pid), 1);
	return pid;
}

static int fds_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- asking ----------------------------------------------------------------------------------------------------------- */

static int context_try(const char *walls, struct plimsoll_context **ret, struct plimsoll_error *error)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;

	options.walls = walls;
	options.libexec_dir = dir;
	return plimsoll_open(&options, ret, error);
}

static struct plimsoll_context *context_open(const char *walls)
{
	struct plimsoll_context *context;
	struct plimsoll_error error;

	if (context_try(walls, &context, &error) < 0)
		fail_msg("open: %s", error.message);
	return context;
}

static int code_run(struct plimsoll_context *context, const char *code, struct plimsoll_cancel *cancel,
		    struct plimsoll_result **ret, struct plimsoll_error *error)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;

	request.code = code;
	request.code_len = strlen(code);
	request.cancel = cancel;
	request.timeout_ms = 20000;
	return plimsoll_run(context, &request, ret, error);
}

/* 0: it ran and printed wanted. */
static int output_check(struct plimsoll_context *context, const char *code, const char *wanted)
{
	struct plimsoll_result *result;
	struct plimsoll_error error;
	const uint8_t *out;
	size_t len;
	int rc = code_run(context, code, NULL, &result, &error);

	if (rc < 0) {
		fprintf(stderr, "%s: %s\n", code, error.message);
		return rc;
	}
	out = plimsoll_result_stdout(result, &len);
	rc = len == strlen(wanted) && memcmp(out, wanted, len) == 0 ? 0 : 1;
	if (rc)
		fprintf(stderr, "%s printed \"%.*s\"\n", code, (int)len, (const char *)out);
	plimsoll_result_free(result);
	return rc;
}

static void expect_output(struct plimsoll_context *context, const char *code, const char *wanted)
{
	assert_int_equal(output_check(context, code, wanted), 0);
}

/* --- nothing of ours is seen ------------------------------------------------------------------------------------------ */

static atomic_int stolen_n, signals_n, thief_ends;

static void *thief_main(void *data)
{
	(void)data;
	while (!atomic_load(&thief_ends)) {
		int status;

		if (waitpid(-1, &status, 0) > 0)
			atomic_fetch_add(&stolen_n, 1);
		else
			usleep(50);
	}
	return NULL;
}

static void on_child(int sig)
{
	(void)sig;
	atomic_fetch_add(&signals_n, 1);
}

/* One context in four is used, one in four loses its supervisor, one in four is used and loses it. 0 or 1. */
static int open_and_end(int i)
{
	struct plimsoll_context *context;
	struct plimsoll_error error;
	pid_t pid;
	int rc = context_try("process", &context, &error);

	if (rc < 0) {
		fprintf(stderr, "open %d: %s\n", i, error.message);
		return 1;
	}
	if (i & 1)
		rc = output_check(context, "console.log(6*7)", "42\n");
	if (i & 2) {
		if (supervisors_count(&pid) != 1)
			rc = 1;
		else
			kill(pid, SIGKILL);
	}
	plimsoll_close(context);
	return rc != 0;
}

/* In a forked child, which may do with signals what it likes. Its exit code: what is wrong. */
static int embedder_run(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int64_t end_us = pl_now_us() + 40 * 1000000LL;
	pthread_t thief;
	int wrong_n = 0;

	sigaction(SIGCHLD, &action, NULL);
	if (pthread_create(&thief, NULL, thief_main, NULL))
		return 2;
	for (int i = 0; i < OPENS && pl_now_us() < end_us; i++)
		wrong_n += open_and_end(i);
	usleep(100000);
	atomic_store(&thief_ends, 1);
	pthread_join(thief, NULL);
	fprintf(stderr, "wait() saw %d, SIGCHLD came %d times, %d contexts went wrong\n", stolen_n, signals_n, wrong_n);
	return (stolen_n || signals_n) + (wrong_n ? 4 : 0);
}

static void embedder_test(void (*handler)(int))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(embedder_run(handler));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_nothing_left(2000);
}

static void test_unseen_by_a_handler(void **state)
{
	(void)state;
	embedder_test(on_child);
}

static void test_unseen_with_sigchld_ignored(void **state)
{
	(void)state;
	embedder_test(SIG_IGN);
}

/* What the header says of a subreaper: it does inherit the supervisor. */
static int subreaper_run(void)
{
	struct plimsoll_context *context;
	struct plimsoll_error error;
	int status;
	pid_t pid = 0;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || context_try("process", &context, &error) < 0)
		return 1;
	if (supervisors_count(&pid) != 1)
		return 2;
	plimsoll_close(context);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 3;
}

static void test_seen_by_a_subreaper(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(subreaper_run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The embedding program is killed: its supervisor notices. */
static void test_killed_program(void **state)
{
	struct plimsoll_context *context;
	struct plimsoll_result *result;
	int fds[2], status;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		context = context_open("process");
		(void)!write(fds[1], "x", 1);
		code_run(context, "for(;;){}", NULL, &result, NULL);
		_exit(0);
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	usleep(100000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	expect_nothing_left(2000);
	close(fds[0]);
	close(fds[1]);
}

/* --- one context, many threads ---------------------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct plimsoll_context *context;
	int number, rounds, wrong_n;
};

static void *worker_main(void *data)
{
	struct worker *worker = data;
	char code[64], wanted[64];

	for (int i = 0; i < worker->rounds; i++) {
		snprintf(code, sizeof code, "console.log('thread %d, run %d')", worker->number, i);
		snprintf(wanted, sizeof wanted, "thread %d, run %d\n", worker->number, i);
		worker->wrong_n += output_check(worker->context, code, wanted) != 0;
	}
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 8 };
	struct worker workers[THREADS];
	struct plimsoll_context *context = context_open("process");
	int open_n = fds_open();

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .context = context, .number = i, .rounds = 25 };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong_n, 0);
	}
	assert_int_equal(fds_open(), open_n);
	plimsoll_close(context);
	expect_nothing_left(NOW_MS);
}

/* A run that does not end, in a thread of its own. */
struct looper {
	pthread_t thread;
	struct plimsoll_context *context;
	struct plimsoll_cancel *cancel;
	struct plimsoll_error error;
	int rc;
};

static void *looper_main(void *data)
{
	struct looper *looper = data;
	struct plimsoll_result *result;

	looper->rc = code_run(looper->context, "for(;;){}", looper->cancel, &result, &looper->error);
	if (looper->rc == 0)
		plimsoll_result_free(result);
	return NULL;
}

static void looper_start(struct looper *looper, struct plimsoll_context *context)
{
	struct plimsoll_error error;

	*looper = (struct looper){ .context = context };
	assert_int_equal(plimsoll_cancel_new(&looper->cancel, &error), 0);
	assert_int_equal(pthread_create(&looper->thread, NULL, looper_main, looper), 0);
}

static void looper_expect(struct looper *looper, int code, enum plimsoll_reason reason, int64_t within_ms)
{
	int64_t start_us = pl_now_us();

	pthread_join(looper->thread, NULL);
	assert_int_equal(looper->rc, code);
	assert_int_equal(looper->error.reason, reason);
	assert_in_range(pl_now_us() - start_us, 0, within_ms * 1000);
	plimsoll_cancel_free(looper->cancel);
}

static struct plimsoll_cancel *handler_cancel;

static void on_usr1(int sig)
{
	(void)sig;
	plimsoll_cancel_trigger(handler_cancel);
}

/* BR-041, BR-042: it reaches the process, and a call that was cancelled before does not run. */
static void test_cancel(void **state)
{
	struct plimsoll_context *context = context_open("process");
	struct plimsoll_result *result;
	struct plimsoll_error error;
	struct looper loopers[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		looper_start(&loopers[i], context);
	usleep(300000);
	plimsoll_cancel_trigger(loopers[1].cancel);
	looper_expect(&loopers[1], PLIMSOLL_ERROR_CANCELLED, PLIMSOLL_REASON_NONE, 2000);
	handler_cancel = loopers[2].cancel;
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1);
	looper_expect(&loopers[2], PLIMSOLL_ERROR_CANCELLED, PLIMSOLL_REASON_NONE, 2000);
	signal(SIGUSR1, SIG_DFL);
	plimsoll_cancel_trigger(loopers[0].cancel);
	pthread_join(loopers[0].thread, NULL);
	assert_int_equal(loopers[0].rc, PLIMSOLL_ERROR_CANCELLED);
	/* It stays triggered. */
	assert_int_equal(code_run(context, "1", loopers[0].cancel, &result, &error), PLIMSOLL_ERROR_CANCELLED);
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	plimsoll_cancel_free(loopers[0].cancel);
	expect_output(context, "console.log(1)", "1\n");
	plimsoll_close(context);
	expect_nothing_left(NOW_MS);
}

static void test_killed_supervisor(void **state)
{
	struct plimsoll_context *context = context_open("process");
	struct plimsoll_evidence *evidence;
	struct plimsoll_result *result;
	struct plimsoll_doctor *doctor;
	struct plimsoll_error error;
	struct looper loopers[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		looper_start(&loopers[i], context);
	usleep(300000);
	kill(supervisor_pid(), SIGKILL);
	for (int i = 0; i < 3; i++)
		looper_expect(&loopers[i], PLIMSOLL_ERROR_LOST, PLIMSOLL_REASON_NONE, 1000);
	assert_int_equal(code_run(context, "1", NULL, &result, &error), PLIMSOLL_ERROR_LOST);
	assert_int_equal(error.reason, PLIMSOLL_REASON_ENVIRONMENT);
	assert_int_equal(plimsoll_measure(context, NULL, &evidence, &error), PLIMSOLL_ERROR_LOST);
	assert_int_equal(error.reason, PLIMSOLL_REASON_ENVIRONMENT);
	assert_int_equal(plimsoll_doctor(context, &doctor, &error), PLIMSOLL_ERROR_LOST);
	plimsoll_close(context);
	expect_nothing_left(2000);
}

/* BR-045: calls that wait end when everything is closed. */
static void test_close_under_runs(void **state)
{
	struct plimsoll_context *context = context_open("process");
	struct looper loopers[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		looper_start(&loopers[i], context);
	usleep(300000);
	plimsoll_close(context);
	for (int i = 0; i < 3; i++)
		looper_expect(&loopers[i], PLIMSOLL_ERROR_LOST, PLIMSOLL_REASON_NONE, 1000);
	expect_nothing_left(NOW_MS);
}

static int forked_run(struct plimsoll_context *context)
{
	struct plimsoll_result *result;
	struct plimsoll_error error;

	if (code_run(context, "1", NULL, &result, &error) != PLIMSOLL_ERROR_INVALID || error.reason != PLIMSOLL_REASON_REQUEST)
		return 1;
	plimsoll_close(context);
	/* A context of its own is another matter. */
	if (context_try("process", &context, &error) < 0 || output_check(context, "console.log(2)", "2\n"))
		return 2;
	plimsoll_close(context);
	return 0;
}

static void test_fork(void **state)
{
	struct plimsoll_context *context = context_open("process");
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(forked_run(context));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_output(context, "console.log(3)", "3\n");
	plimsoll_close(context);
	expect_nothing_left(NOW_MS);
}

/* A forked child holds a copy of the socket; plimsoll_close ends the supervisor all the same. */
static void test_close_beside_a_forked_child(void **state)
{
	struct plimsoll_context *context = context_open("process");
	int64_t start_us;
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(30); /* should this test fail before it ends it */
		pause();
		_exit(0);
	}
	start_us = pl_now_us();
	plimsoll_close(context);
	assert_in_range(pl_now_us() - start_us, 0, 2000000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	expect_nothing_left(NOW_MS);
}

/* --- what is refused -------------------------------------------------------------------------------------------------- */

static void test_nothing_configured(void **state)
{
	struct plimsoll_context *context = context_open(NULL);
	struct plimsoll_evidence *evidence;
	struct plimsoll_result *result;
	struct plimsoll_error error;

	(void)state;
	assert_int_equal(code_run(context, "1", NULL, &result, &error), PLIMSOLL_ERROR_UNSUPPORTED);
	assert_int_equal(error.reason, PLIMSOLL_REASON_UNSUPPORTED);
	assert_int_equal(plimsoll_measure(context, NULL, &evidence, &error), PLIMSOLL_ERROR_UNSUPPORTED);
	assert_int_equal(error.reason, PLIMSOLL_REASON_UNSUPPORTED);
	plimsoll_close(context);
}

static void expect_invalid(struct plimsoll_context *context, const struct plimsoll_request *request, const char *word)
{
	struct plimsoll_result *result = (void *)1;
	struct plimsoll_error error;

	assert_int_equal(plimsoll_run(context, request, &result, &error), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	assert_ptr_equal(result, (void *)1);
	if (!strstr(error.message, word))
		fail_msg("\"%s\" does not say %s", error.message, word);
	assert_null(strchr(error.message, '\n'));
}

static void test_bad_requests(void **state)
{
	static const struct plimsoll_request good = { .size = sizeof good, .code = "1", .code_len = 1 };
	struct plimsoll_context *context = context_open("process");
	struct plimsoll_request r;
	char *many = malloc(4 << 20);

	(void)state;
	memset(many, 'x', 4 << 20);
	many[(4 << 20) - 1] = 0;
#define BAD(word, ...)                                                                                                 \
	do {                                                                                                           \
		r = good;                                                                                              \
		__VA_ARGS__;                                                                                           \
		expect_invalid(context, &r, word);                                                                     \
	} while (0)
	BAD("empty", r.code_len = 0);
	BAD("empty", r.code_len = 0; r.code = NULL);
	BAD("NULL", r.code = NULL);
	BAD("262144", r.code = many; r.code_len = 262145);
	BAD("NUL", r.code = "a\0b"; r.code_len = 3);
	BAD("UTF-8", r.code = "\xff");
	BAD("UTF-8", r.code = "\xed\xa0\x80"; r.code_len = 3);
	BAD("floor", r.floor = "strong");
	BAD("floor", r.floor = "none");
	BAD("floor", r.floor = many);
	BAD("wall", r.wall = "castle");
	BAD("wall", r.wall = many);
	BAD("name", r.name = many);
	BAD("name", r.name = "a\nb");
	BAD("source", r.source = (enum plimsoll_source)3);
	BAD("timeout", r.timeout_ms = -1);
	BAD("memory", r.memory_bytes = 1);
	BAD("memory", r.memory_bytes = UINT64_MAX);
	BAD("stdout", r.stdout_max_bytes = 8388609);
	BAD("stderr", r.stderr_max_bytes = UINT64_MAX);
	BAD("size", r.size = 0);
	expect_invalid(context, NULL, "request");
	expect_output(context, "console.log(4)", "4\n");
	plimsoll_close(context);
	free(many);
}

/* --- every allocation fails once -------------------------------------------------------------------------------------- */

/* Everything once; the first error ends it. 0, or the error's code. */
static int everything(struct plimsoll_error *error)
{
	struct plimsoll_context *context = NULL;
	struct plimsoll_cancel *cancel = NULL;
	struct plimsoll_evidence *evidence;
	struct plimsoll_result *result;
	struct plimsoll_doctor *doctor;
	int rc = context_try("process", &context, error);

	if (rc == 0)
		rc = plimsoll_cancel_new(&cancel, error);
	if (rc == 0)
		rc = code_run(context, "console.log(1)", cancel, &result, error);
	if (rc == 0) {
		plimsoll_result_free(result);
		rc = plimsoll_measure(context, "process", &evidence, error);
	}
	if (rc == 0) {
		plimsoll_evidence_free(evidence);
		rc = plimsoll_doctor(context, &doctor, error);
	}
	if (rc == 0)
		plimsoll_doctor_free(doctor);
	plimsoll_cancel_free(cancel);
	plimsoll_close(context);
	return rc;
}

static void test_no_memory(void **state)
{
	struct plimsoll_error error;
	int open_n = fds_open(), unmarked_n = 0, rc;
	unsigned long n = 0;

	(void)state;
	for (;;) {
		memset(&error, 0, sizeof error);
		pl_alloc_fail(++n);
		rc = everything(&error);
		if (!pl_alloc_failed())
			break;
		pl_alloc_fail(0);
		if (rc != -ENOMEM && rc != PLIMSOLL_ERROR_ENVIRONMENT)
			fail_msg("allocation %lu: %d %s", n, rc, error.message);
		assert_int_equal(error.code, rc);
		assert_string_not_equal(error.message, "");
		unmarked_n += error.reason == PLIMSOLL_REASON_NONE;
		assert_int_equal(fds_open(), open_n);
	}
	pl_alloc_fail(0);
	assert_int_equal(rc, 0);
	/* The answer's memory and the result's: by then it had run. */
	assert_int_equal(unmarked_n, 2);
	assert_in_range(n, 8, 60);
	expect_nothing_left(NOW_MS);
}

/* --- */

static int from_dir_find(int argc, char **argv)
{
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (argc > 1) {
		snprintf(from_dir, sizeof from_dir, "%s", argv[1]);
		return 0;
	}
	if (n < 0)
		return -1;
	self[n] = 0;
	slash = strrchr(self, '/');
	*slash = 0;
	n = snprintf(from_dir, sizeof from_dir, "%s/../bin", self);
	return n < (ssize_t)sizeof from_dir ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unseen_by_a_handler),
		cmocka_unit_test(test_unseen_with_sigchld_ignored),
		cmocka_unit_test(test_seen_by_a_subreaper),
		cmocka_unit_test(test_killed_program),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_killed_supervisor),
		cmocka_unit_test(test_close_under_runs),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_close_beside_a_forked_child),
		cmocka_unit_test(test_nothing_configured),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_no_memory),
	};

	if (from_dir_find(argc, argv) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return 1;
	return cmocka_run_group_tests_name("embed", tests, dir_make, dir_remove);
}
