/* SPDX-License-Identifier: Apache-2.0 */
/* session: see session.h. */
#include "guest/session.h"

#include "base/digest.h"
#include "build_id.h"
#include "guest/output.h"
#include "guest/probes.h"
#include "linux/sys.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000
#define CHECK_EVERY_NS 50000000

static int stream_fd;
static struct pl_output output;
static int64_t checked_ns;
static uint8_t payload[PL_FRAME_PAYLOAD_MAX + 1]; /* and a NUL after the code, for the engine */

static int wait_for_host(int64_t timeout_ns)
{
	/* POLLHUP comes unasked; POLLRDHUP is the host that shut down only its side of writing. */
	struct pollfd stream = { .fd = stream_fd, .events = POLLRDHUP };
	struct timespec timeout = { .tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S };

	return (int)PL_SYS("ppoll", ppoll(&stream, 1, &timeout, NULL));
}

static void __attribute__((noreturn)) end(int code)
{
	_exit(code);
}

/* The host hung up: nobody is left to tell. Anything else is a fault of the system below us. */
static void __attribute__((noreturn)) end_on_error(ssize_t error)
{
	end(error == -EPIPE || error == -ECONNRESET ? PL_GUEST_EXIT_END : PL_GUEST_EXIT_SYSTEM);
}

/* Reads exactly len bytes. An end of the stream before the first of them ends the process in peace. */
static void read_all(uint8_t *bytes, size_t len, int may_end)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = pl_sys_recv(stream_fd, bytes + at, len - at, 0);

		if (n < 0)
			end_on_error(n);
		if (n == 0)
			end(may_end && at == 0 ? PL_GUEST_EXIT_END : PL_GUEST_EXIT_PROTOCOL);
		at += (size_t)n;
	}
}

/* Reads one frame of the given type into payload; its length. */
static size_t read_frame(enum pl_frame_type type)
{
	uint8_t bytes[PL_FRAME_HEADER_LEN];
	struct pl_frame_header header;

	read_all(bytes, sizeof bytes, 1);
	if (pl_frame_header_parse(bytes, &header) < 0 || header.type != type)
		end(PL_GUEST_EXIT_PROTOCOL);
	read_all(payload, header.payload_len, 0);
	return header.payload_len;
}

/* One buffer and send, never sendmsg: with that call comes the attaching of descriptors and credentials, which no filter can
 * tell from plain bytes. So the filter need not let it through. */
static void send_frame(void *opaque, enum pl_frame_type type, const uint8_t *head, size_t head_len, const uint8_t *body,
		       size_t body_len)
{
	static uint8_t frame[PL_FRAME_HEADER_LEN + 1 + PL_OUTPUT_CHUNK_MAX];
	size_t len = PL_FRAME_HEADER_LEN + head_len + body_len;

	(void)opaque;
	if (len > sizeof frame)
		end(PL_GUEST_EXIT_SYSTEM);
	pl_frame_header_print(frame, type, (uint32_t)(head_len + body_len));
	memcpy(frame + PL_FRAME_HEADER_LEN, head, head_len);
	if (body_len)
		memcpy(frame + PL_FRAME_HEADER_LEN + head_len, body, body_len);
	for (size_t at = 0; at < len;) {
		ssize_t n = pl_sys_send(stream_fd, frame + at, len - at, 0);

		if (n < 0)
			end_on_error(n);
		at += (size_t)n;
	}
}

static void hex_parse(const char *hex, uint8_t *ret, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned v = 0;

		for (size_t j = 0; j < 2; j++) {
			unsigned char c = (unsigned char)hex[2 * i + j];

			v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
		}
		ret[i] = (uint8_t)v;
	}
}

static void hello_digest(const uint8_t challenge[PL_CHALLENGE_LEN], struct pl_hello *hello)
{
	static const char label[] = "plimsoll-hello-1";
	struct pl_digest digest;

	hex_parse(PL_BUILD_ID, hello->image_id, PL_IMAGE_ID_LEN);
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, label, sizeof label - 1);
	pl_digest_bytes(&digest, challenge, PL_CHALLENGE_LEN);
	pl_digest_bytes(&digest, hello->image_id, PL_IMAGE_ID_LEN);
	pl_digest_end(&digest, hello->digest);
}

/* Reads the challenge, takes its name, tries what must be denied, and answers. */
static void greet(void)
{
	char name[PL_TASK_NAME_LEN + 1];
	uint8_t bytes[PL_HELLO_LEN];
	struct pl_probe_counts probes;
	struct pl_hello hello = { 0 };
	int r;

	if (read_frame(PL_FRAME_CHALLENGE) != PL_CHALLENGE_LEN)
		end(PL_GUEST_EXIT_PROTOCOL);
	pl_task_name(payload, name);
	r = pl_sabotage("host.task") ? 0 : pl_sys_prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0);
	if (r < 0)
		end_on_error(r);
	hello_digest(payload, &hello);
	pl_probes_run(&probes);
	hello.probes_tried = probes.tried;
	hello.probes_denied = probes.denied;
	hello.landlock_denied = probes.landlock_denied;
	r = pl_sys_prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	if (r < 0)
		end_on_error(r);
	hello.dumpable = (uint8_t)r;
	pl_hello_print(bytes, &hello);
	send_frame(NULL, PL_FRAME_HELLO, bytes, sizeof bytes, NULL, 0);
}

/* Nothing comes after RESULT: the stream ends, and with it the process. */
static void __attribute__((noreturn)) wait_for_end(void)
{
	uint8_t byte;

	read_all(&byte, 1, 1);
	end(PL_GUEST_EXIT_PROTOCOL);
}

void pl_session_finish(const struct pl_engine_result *result)
{
	uint8_t bytes[PL_GUEST_RESULT_LEN];
	struct pl_guest_result words = {
		.exit_code = result->exit_code & 255,
		.oom = result->oom,
		.stdout_total = output.streams[0].total_bytes,
		.stderr_total = output.streams[1].total_bytes,
	};

	pl_guest_result_print(bytes, &words);
	send_frame(NULL, PL_FRAME_RESULT, bytes, sizeof bytes, NULL, 0);
	wait_for_end();
}

void pl_session_main(int fd, const struct pl_session_engine *engine)
{
	struct pl_engine_result result;
	struct pl_job job;
	size_t len;

	stream_fd = fd;
	greet();
	len = read_frame(PL_FRAME_JOB);
	payload[len] = 0;
	if (pl_job_parse(payload, len, &job) < 0)
		end(PL_GUEST_EXIT_PROTOCOL);
	output.streams[0].max_bytes = job.stdout_max_bytes;
	output.streams[1].max_bytes = job.stderr_max_bytes;
	output.send = send_frame;
	engine->run(&job, payload, len, &result);
	pl_session_finish(&result);
}

void pl_session_write(enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	pl_output_write(&output, stream, bytes, len);
}

int64_t pl_session_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Any event is the end: the host sends nothing while a job runs. */
static void end_if_host_left(int64_t timeout_ns)
{
	int r = wait_for_host(timeout_ns);

	if (r > 0)
		end(PL_GUEST_EXIT_END);
	if (r < 0)
		end_on_error(r);
}

void pl_session_sleep_until_ns(int64_t deadline_ns)
{
	int64_t left_ns;

	while ((left_ns = deadline_ns - pl_session_monotonic_ns()) > 0)
		end_if_host_left(left_ns);
}

void pl_session_check_host(void)
{
	int64_t now_ns = pl_session_monotonic_ns();

	if (now_ns - checked_ns < CHECK_EVERY_NS)
		return;
	checked_ns = now_ns;
	end_if_host_left(0);
}
