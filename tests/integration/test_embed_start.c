/* SPDX-License-Identifier: Apache-2.0 */
/* How plimsoll_open starts its supervisor, and what it says of one that is not there, is something else, or dies. The
 * programs that stand in for the supervisor here are shell scripts, each wrong in one way; what a right one sees of its
 * surroundings (descriptors, signals, environment, session) one of them writes down. */
#include "plimsoll/plimsoll.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/plimsoll-start-XXXXXX";
static char program[64];

static int dir_make(void **state)
{
	(void)state;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(program, sizeof program, "%s/plimsoll-supervisor", dir);
	return 0;
}

static int dir_remove(void **state)
{
	char saw[64];

	(void)state;
	snprintf(saw, sizeof saw, "%s/saw", dir);
	unlink(saw);
	unlink(program);
	return rmdir(dir);
}

static void supervisor_write(const char *text, mode_t mode)
{
	int fd = open(program, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int open_try(struct plimsoll_error *error)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context = (void *)1;
	int rc;

	options.walls = "process";
	options.libexec_dir = dir;
	memset(error, 0xff, sizeof *error);
	rc = plimsoll_open(&options, &context, error);
	if (rc == 0)
		plimsoll_close(context);
	else if (context != (void *)1)
		return 1; /* outputs are written on success only */
	return rc;
}

static void expect_refused(int code, enum plimsoll_reason reason, const char *words)
{
	struct plimsoll_error error;

	assert_int_equal(open_try(&error), code);
	assert_int_equal(error.code, code);
	assert_int_equal(error.reason, reason);
	if (!strstr(error.message, words))
		fail_msg("\"%s\" does not say \"%s\"", error.message, words);
	assert_null(strchr(error.message, '\n'));
}

static void test_cannot_be_executed(void **state)
{
	(void)state;
	unlink(program);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "No such file");
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, program);
	supervisor_write("#!/bin/sh\n", 0644);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "Permission denied");
	supervisor_write("no program", 0755);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "Exec format error");
}

static void test_dies_at_once(void **state)
{
	(void)state;
	supervisor_write("#!/bin/true\n", 0755);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "ended before it was ready");
	supervisor_write("#!/bin/sh\nkill -9 $$\n", 0755);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "ended before it was ready");
	/* In the middle of its answer. */
	supervisor_write("#!/bin/sh\nprintf '\\020\\000\\000\\000\\002' >&3\n", 0755);
	expect_refused(PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "ended before it was ready");
}

#define ID "\\000\\000\\000\\000\\000\\000\\000\\000"

static void test_is_something_else(void **state)
{
	static const char *const greetings[] = {
		"hello, this is no supervisor at all",
		"\\000\\000\\000\\000\\005\\000\\000\\000" ID,         /* RESULT, out of turn */
		"\\000\\000\\000\\010\\002\\000\\000\\000" ID,         /* OPENED of 128 MiB */
		"\\000\\000\\001\\000\\002\\000\\000\\000" ID,         /* OPENED of 64 KiB */
		"\\000\\000\\000\\000\\002\\000\\000\\000" ID,         /* OPENED without a build id */
		"\\003\\000\\000\\000\\002\\000\\000\\000" ID "abc",   /* OPENED that does not parse */
		"\\003\\000\\000\\000\\006\\000\\000\\000" ID "abc",   /* ERROR that does not parse */
		"\\006\\000\\000\\000\\002\\000\\000\\000\\001" "\\000\\000\\000\\000\\000\\000\\000" "\\002\\000\\000\\000x\\000", /* id 1 */
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++) {
		snprintf(text, sizeof text, "#!/bin/sh\nprintf '%s' >&3\ncat <&3 >/dev/null\n", greetings[i]);
		supervisor_write(text, 0755);
		expect_refused(PLIMSOLL_ERROR_BUILD, PLIMSOLL_REASON_PROTOCOL, "install both from one build");
	}
}

static void test_is_of_another_build(void **state)
{
	(void)state;
	supervisor_write("#!/bin/sh\nprintf '\\012\\000\\000\\000\\002\\000\\000\\000" ID
			 "\\006\\000\\000\\000older\\000' >&3\ncat <&3 >/dev/null\n",
			 0755);
	expect_refused(PLIMSOLL_ERROR_BUILD, PLIMSOLL_REASON_PROTOCOL, "of build older");
}

/* ERROR from a supervisor: its own words and mark. One without a mark cannot be, since nothing has been asked. */
static void test_refuses(void **state)
{
	(void)state;
	supervisor_write("#!/bin/sh\nprintf '\\032\\000\\000\\000\\006\\000\\000\\000" ID
			 "\\030\\374\\377\\377\\007\\000\\000\\000\\002\\000\\000\\000s\\000\\001\\000\\000\\000\\000"
			 "\\003\\000\\000\\000no\\000' >&3\ncat <&3 >/dev/null\n",
			 0755);
	expect_refused(-1000, PLIMSOLL_REASON_ENVIRONMENT, "no");
	supervisor_write("#!/bin/sh\nprintf '\\032\\000\\000\\000\\006\\000\\000\\000" ID
			 "\\030\\374\\377\\377\\000\\000\\000\\000\\002\\000\\000\\000s\\000\\001\\000\\000\\000\\000"
			 "\\003\\000\\000\\000no\\000' >&3\ncat <&3 >/dev/null\n",
			 0755);
	expect_refused(PLIMSOLL_ERROR_BUILD, PLIMSOLL_REASON_PROTOCOL, "install both from one build");
}

static const char witness[] = "#!/bin/sh\n"
			      "exec > \"${0%/*}/saw\"\n"
			      "ls -l /proc/$$/fd\n" /* in a pipeline the shell itself would have one more */
			      "grep Sig /proc/self/status\n"
			      "tr '\\000' '\\n' < /proc/$$/environ | sed 's/^/env /'\n"
			      "echo \"cwd $(readlink /proc/$$/cwd)\"\n"
			      "echo \"ids $(cut -d ' ' -f 1,5,6 /proc/$$/stat)\"\n"
			      "echo end\n";

/* Starts the witness (which is on disk) and reads what it saw. 0 or -1. No assertions: a forked child comes here. */
static int witness_read(char *text, size_t size)
{
	struct plimsoll_error error;
	char path[64];
	ssize_t n;
	int fd;

	if (open_try(&error) != PLIMSOLL_ERROR_ENVIRONMENT || !strstr(error.message, "ended before it was ready"))
		return -1;
	snprintf(path, sizeof path, "%s/saw", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : -1;
}

/* NULL, or what is wrong with what the witness saw. */
static const char *witness_check(void)
{
	static const char *const lines[] = { " 0 -> /dev/null\n", " 2 -> /dev/null\n", " 3 -> socket:", "cwd /\n", "\nend\n",
					     "SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n" };
	static char wrong[9000];
	char text[8192], *line;
	int pid, group, session;

	if (witness_read(text, sizeof text) < 0)
		return "the witness did not run";
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		snprintf(wrong, sizeof wrong, "no \"%s\" in:\n%s", lines[i], text);
		if (!strstr(text, lines[i]))
			return wrong;
	}
	/* 1 is the file that the witness itself put there; 10 or 255 are a shell's own way to hold its script. */
	snprintf(wrong, sizeof wrong, "a descriptor too many in:\n%s", text);
	for (line = strstr(text, " -> "); line; line = strstr(line + 1, " -> ")) {
		bool standard = line[-2] == ' ' && line[-1] >= '0' && line[-1] <= '3';

		if (!standard && strncmp(line + 4, program, strlen(program)))
			return wrong;
	}
	if (strstr(text, "env "))
		return "the environment is not empty";
	line = strstr(text, "ids ");
	if (!line || sscanf(line, "ids %d %d %d", &pid, &group, &session) != 3 || pid != group || pid != session)
		return "it has no session of its own";
	return NULL;
}

/* The caller ignores signals, blocks them, has descriptors without close-on-exec and an environment: none of it arrives. */
static void test_surroundings(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before[_NSIG], after;
	sigset_t some, mask, mask_after;
	const char *wrong;
	int fd = open("/etc/passwd", O_RDONLY);
	int spare = fcntl(fd, F_DUPFD, 600);

	(void)state;
	assert_true(fd >= 0 && spare >= 600);
	for (int sig = 1; sig < _NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP && sig != SIGALRM)
			sigaction(sig, &ignore, NULL);
	for (int sig = 1; sig < _NSIG; sig++)
		sigaction(sig, NULL, &before[sig]);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigaddset(&some, SIGTERM);
	sigaddset(&some, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &some, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	setenv("LD_PRELOAD", "", 1);
	setenv("PLIMSOLL_TEST", "1", 1);
	supervisor_write(witness, 0755);
	wrong = witness_check();
	if (wrong)
		fail_msg("%s", wrong);
	/* And the caller's are as they were. */
	pthread_sigmask(SIG_BLOCK, NULL, &mask_after);
	for (int sig = 1; sig < _NSIG; sig++) {
		assert_int_equal(sigismember(&mask, sig), sigismember(&mask_after, sig));
		if (sigaction(sig, NULL, &after) == 0)
			assert_ptr_equal(before[sig].sa_handler, after.sa_handler);
	}
	unsetenv("LD_PRELOAD");
	pthread_sigmask(SIG_UNBLOCK, &some, NULL);
	for (int sig = 1; sig < _NSIG; sig++)
		signal(sig, SIG_DFL);
	close(fd);
	close(spare);
}

/* The end of a forked child in which the low descriptors are closed. 0: all is well. */
static int closed_run(void)
{
	for (int fd = 0; fd < 10; fd++)
		close(fd);
	if (witness_check())
		return 1;
	/* It left none of them open. */
	for (int fd = 0; fd < 10; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 2;
	return 0;
}

/* 0 to 3 are free in the caller, so that the library's own descriptors land where the supervisor's are to be. */
static void test_standard_descriptors_closed(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	supervisor_write(witness, 0755);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(closed_run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int fds_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* With every number of free descriptors: an error, and none is left open. */
static void test_no_descriptors(void **state)
{
	struct rlimit old, limit;
	struct plimsoll_error error;
	int open_n = fds_open();

	(void)state;
	supervisor_write("#!/bin/true\n", 0755);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (rlim_t n = 3; n < 16; n++) {
		limit = (struct rlimit){ .rlim_cur = n, .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_true(open_try(&error) < 0);
		assert_int_equal(error.reason, PLIMSOLL_REASON_ENVIRONMENT);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_int_equal(fds_open(), open_n);
	}
}

static void options_expect(const struct plimsoll_options *options, const char *const *words)
{
	struct plimsoll_context *context;
	struct plimsoll_error error;

	assert_int_equal(plimsoll_open(options, &context, &error), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(error.reason, PLIMSOLL_REASON_REQUEST);
	for (; *words; words++)
		if (!strstr(error.message, *words))
			fail_msg("\"%s\" does not name %s", error.message, *words);
}

static void test_options_are_named_at_once(void **state)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;

	(void)state;
	options.floor = "strong";
	options.libexec_dir = "bin";
	options.runs_max = 257;
	options.id_count = 3;
	options.memory_max_bytes = 1;
	options.timeout_max_ms = -1;
	options_expect(&options, (const char *const[]){ "floor", "strong", "libexec_dir", "runs_max", "id_count",
							"memory_max_bytes", "timeout_max_ms", NULL });
	options_expect(NULL, (const char *const[]){ "options is NULL", NULL });
}

/* A caller compiled against a longer header, a shorter one, and none. */
static void test_options_size(void **state)
{
	struct {
		struct plimsoll_options options;
		char later[8];
	} longer = { .options = { .size = sizeof longer, .libexec_dir = dir } };
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;
	struct plimsoll_error error;

	(void)state;
	supervisor_write("#!/bin/true\n", 0755);
	assert_int_equal(plimsoll_open(&longer.options, &context, &error), PLIMSOLL_ERROR_ENVIRONMENT);
	longer.later[7] = 1;
	options_expect(&longer.options, (const char *const[]){ "field", NULL });
	options.size = 0;
	options_expect(&options, (const char *const[]){ "size 0", NULL });
	options.size = sizeof options - 8;
	options_expect(&options, (const char *const[]){ "size", NULL });
	options.size = SIZE_MAX;
	options_expect(&options, (const char *const[]){ "size", NULL });
}

static void test_null_error(void **state)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;

	(void)state;
	options.libexec_dir = dir;
	assert_int_equal(plimsoll_open(&options, &context, NULL), PLIMSOLL_ERROR_ENVIRONMENT);
	assert_int_equal(plimsoll_open(NULL, &context, NULL), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(plimsoll_open(&options, NULL, NULL), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(plimsoll_run(NULL, NULL, NULL, NULL), PLIMSOLL_ERROR_INVALID);
	assert_int_equal(plimsoll_cancel_new(NULL, NULL), PLIMSOLL_ERROR_INVALID);
	plimsoll_close(NULL);
	plimsoll_result_free(NULL);
	plimsoll_evidence_free(NULL);
	plimsoll_doctor_free(NULL);
	plimsoll_cancel_free(NULL);
	plimsoll_cancel_trigger(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cannot_be_executed),
		cmocka_unit_test(test_dies_at_once),
		cmocka_unit_test(test_is_something_else),
		cmocka_unit_test(test_is_of_another_build),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_surroundings),
		cmocka_unit_test(test_standard_descriptors_closed),
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_options_are_named_at_once),
		cmocka_unit_test(test_options_size),
		cmocka_unit_test(test_null_error),
	};

	return cmocka_run_group_tests_name("embed_start", tests, dir_make, dir_remove);
}
