/* SPDX-License-Identifier: Apache-2.0 */
/* drive: speaks the guest protocol with plimsoll-guest or plimsoll-worker, without a supervisor and without walls.
 *
 *     drive [-n N] [-m MIB] [-o BYTES] [-F N] [-k KIND] guest|worker PATH CODE
 *
 * Prints what the program printed, one line "[exit N]" with what the guest reported, and exits 0 when there was a RESULT. -n
 * repeats the run and prints times instead. A tool of the tests and of whoever measures; what
 * it starts is trusted here. */
#include "base/bytes.h"
#include "wire/frame.h"
#include "wire/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct options {
	int is_worker, runs_n, kind, quiet;
	uint64_t memory_bytes, stdout_max_bytes, fail_allocation;
	const char *path, *code;
};

struct outcome {
	struct pl_hello hello;
	struct pl_guest_result result;
	int has_result, wait_status;
	uint64_t dropped[2];
	double hello_us, result_us; /* from the start, and from the job */
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void write_all(int fd, const void *bytes, size_t len)
{
	for (const char *p = bytes; len;) {
		ssize_t n = write(fd, p, len);

		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

static int read_all(int fd, void *bytes, size_t len)
{
	for (char *p = bytes; len;) {
		ssize_t n = read(fd, p, len);

		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static void send_frame(int fd, enum pl_frame_type type, const void *payload, size_t len)
{
	uint8_t header[PL_FRAME_HEADER_LEN];

	pl_frame_header_print(header, type, (uint32_t)len);
	write_all(fd, header, sizeof header);
	write_all(fd, payload, len);
}

static int read_frame(int fd, struct pl_frame_header *ret, uint8_t *payload)
{
	uint8_t header[PL_FRAME_HEADER_LEN];

	if (read_all(fd, header, sizeof header) < 0)
		return -1;
	if (pl_frame_header_parse(header, ret) < 0) {
		fprintf(stderr, "drive: a bad frame header\n");
		exit(2);
	}
	return read_all(fd, payload, ret->payload_len);
}

/* The program with the descriptor as its only one. */
static pid_t start(const char *path, int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		char *const argv[] = { (char *)"guest", NULL }, *const envp[] = { NULL };

		if (dup2(fd, 0) != 0)
			_exit(127);
		fcntl(0, F_SETFD, 0);
		closefrom(3);
		execve(path, argv, envp);
		_exit(127);
	}
	close(fd);
	return pid;
}

static void send_job(int fd, const struct options *options)
{
	struct pl_job job = {
		.kind = (enum pl_source_kind)options->kind,
		.memory_bytes = options->memory_bytes,
		.stdout_max_bytes = options->stdout_max_bytes,
		.stderr_max_bytes = options->stdout_max_bytes,
		.fail_allocation = options->fail_allocation,
		.name = "[eval]",
		.name_len = 6,
		.code = options->code,
		.code_len = strlen(options->code),
	};
	int64_t len = pl_job_len(&job);
	uint8_t *payload;

	if (getrandom(job.seed, sizeof job.seed, 0) != sizeof job.seed || len < 0)
		die("job");
	payload = malloc((size_t)len);
	if (!payload)
		die("malloc");
	pl_job_print(payload, &job);
	send_frame(fd, PL_FRAME_JOB, payload, (size_t)len);
	free(payload);
}

static void take_frame(const struct options *options, const struct pl_frame_header *header, const uint8_t *payload,
		       struct outcome *outcome)
{
	enum pl_stream stream;
	const uint8_t *bytes;
	size_t len;
	uint64_t total;

	if (header->type == PL_FRAME_OUTPUT && pl_output_parse(payload, header->payload_len, &stream, &bytes, &len) == 0) {
		if (!options->quiet)
			write_all(stream == PL_STREAM_STDERR ? 2 : 1, bytes, len);
	} else if (header->type == PL_FRAME_DROPPED && pl_dropped_parse(payload, header->payload_len, &stream, &total) == 0) {
		outcome->dropped[stream - 1] = total;
	} else if (header->type == PL_FRAME_RESULT
		   && pl_guest_result_parse(payload, header->payload_len, &outcome->result) == 0) {
		outcome->has_result = 1;
	} else {
		fprintf(stderr, "drive: a frame out of order, type %d\n", (int)header->type);
		exit(2);
	}
}

/* The host's part of one session. */
static void converse(int fd, const struct options *options, double start_us, struct outcome *outcome)
{
	static uint8_t payload[PL_FRAME_PAYLOAD_MAX];
	uint8_t challenge[PL_CHALLENGE_LEN];
	struct pl_frame_header header;
	double job_us;

	if (getrandom(challenge, sizeof challenge, 0) != sizeof challenge)
		die("getrandom");
	send_frame(fd, PL_FRAME_CHALLENGE, challenge, sizeof challenge);
	if (read_frame(fd, &header, payload) < 0 || header.type != PL_FRAME_HELLO
	    || pl_hello_parse(payload, header.payload_len, &outcome->hello) < 0)
		return;
	job_us = now_us();
	outcome->hello_us = job_us - start_us;
	send_job(fd, options);
	while (!outcome->has_result && read_frame(fd, &header, payload) == 0)
		take_frame(options, &header, payload, outcome);
	outcome->result_us = now_us() - job_us;
}

static void run_guest(const struct options *options, struct outcome *outcome)
{
	double start_us = now_us();
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pid = start(options->path, pair[1]);
	converse(pair[0], options, start_us, outcome);
	close(pair[0]);
	if (waitpid(pid, &outcome->wait_status, 0) != pid)
		die("waitpid");
}

static void zygote_send(int control, uint32_t kind, int fd)
{
	struct pl_zygote_message message = { .kind = kind };
	struct iovec iov = { .iov_base = &message, .iov_len = sizeof message };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} rights = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights.room };

	memcpy(CMSG_DATA(&rights.header), &fd, sizeof fd);
	if (sendmsg(control, &msg, 0) != (ssize_t)sizeof message)
		die("sendmsg");
}

static void zygote_expect(int control, uint32_t kind, struct pl_zygote_message *ret)
{
	if (recv(control, ret, sizeof *ret, 0) != (ssize_t)sizeof *ret || ret->kind != kind || ret->error) {
		fprintf(stderr, "drive: the zygote did not say %u\n", kind);
		exit(2);
	}
}

static void run_worker(int control, const struct options *options, struct outcome *outcome)
{
	struct pl_zygote_message message;
	double start_us = now_us();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	zygote_send(control, PL_ZYGOTE_FORK, pair[1]);
	close(pair[1]);
	zygote_expect(control, PL_ZYGOTE_FORKED, &message);
	converse(pair[0], options, start_us, outcome);
	close(pair[0]);
	zygote_expect(control, PL_ZYGOTE_ENDED, &message);
	outcome->wait_status = message.wait_status;
}

static void print_outcome(const struct outcome *outcome)
{
	if (outcome->has_result)
		printf("[exit %d%s, %llu out %llu err]\n", outcome->result.exit_code, outcome->result.oom ? " oom" : "",
		       (unsigned long long)outcome->result.stdout_total, (unsigned long long)outcome->result.stderr_total);
	else
		printf("[died: %s %d]\n", WIFSIGNALED(outcome->wait_status) ? "signal" : "exit",
		       WIFSIGNALED(outcome->wait_status) ? WTERMSIG(outcome->wait_status) : WEXITSTATUS(outcome->wait_status));
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_times(const struct options *options, double *hello_us, double *result_us)
{
	int n = options->runs_n;

	qsort(hello_us, (size_t)n, sizeof *hello_us, compare);
	qsort(result_us, (size_t)n, sizeof *result_us, compare);
	printf("to HELLO p50 %.0f p99 %.0f us; from JOB to RESULT p50 %.0f p99 %.0f us (n=%d)\n", hello_us[n / 2],
	       hello_us[n * 99 / 100], result_us[n / 2], result_us[n * 99 / 100], n);
}

static void run_all(const struct options *options)
{
	double *hello_us = calloc((size_t)options->runs_n, sizeof *hello_us);
	double *result_us = calloc((size_t)options->runs_n, sizeof *result_us);
	struct outcome outcome = { 0 };
	struct pl_zygote_message ready;
	int pair[2] = { -1, -1 };

	if (!hello_us || !result_us)
		die("calloc");
	if (options->is_worker) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			die("socketpair");
		start(options->path, pair[1]);
		zygote_expect(pair[0], PL_ZYGOTE_READY, &ready);
	}
	for (int i = 0; i < options->runs_n; i++) {
		outcome = (struct outcome){ 0 };
		if (options->is_worker)
			run_worker(pair[0], options, &outcome);
		else
			run_guest(options, &outcome);
		hello_us[i] = outcome.hello_us;
		result_us[i] = outcome.result_us;
	}
	if (options->runs_n > 1)
		print_times(options, hello_us, result_us);
	else
		print_outcome(&outcome);
	if (getenv("DRIVE_HELLO"))
		printf("probes %u of %u denied, landlock %u, dumpable %u, dropped %llu %llu\n", outcome.hello.probes_denied,
		       outcome.hello.probes_tried, outcome.hello.landlock_denied, outcome.hello.dumpable,
		       (unsigned long long)outcome.dropped[0], (unsigned long long)outcome.dropped[1]);
	free(hello_us);
	free(result_us);
	if (options->is_worker)
		close(pair[0]);
	if (!outcome.has_result)
		exit(1);
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || !*text) {
		fprintf(stderr, "drive: %s is no number\n", text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	struct options options = { .runs_n = 1, .memory_bytes = 248u << 20, .stdout_max_bytes = 64u << 10 };
	int c;

	while ((c = getopt(argc, argv, "n:m:o:F:k:")) != -1) {
		if (c == 'n')
			options.runs_n = (int)number(optarg);
		else if (c == 'm')
			options.memory_bytes = number(optarg) << 20;
		else if (c == 'o')
			options.stdout_max_bytes = number(optarg);
		else if (c == 'F')
			options.fail_allocation = number(optarg);
		else if (c == 'k')
			options.kind = (int)number(optarg);
		else
			return 2;
	}
	if (argc - optind != 3 || (strcmp(argv[optind], "guest") && strcmp(argv[optind], "worker"))) {
		fprintf(stderr, "usage: drive [-n RUNS] [-m MIB] [-o BYTES] [-F NTH] [-k KIND] guest|worker PATH CODE\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	options.is_worker = !strcmp(argv[optind], "worker");
	options.path = argv[optind + 1];
	options.code = argv[optind + 2];
	options.quiet = options.runs_n > 1;
	run_all(&options);
	return 0;
}
