/* SPDX-License-Identifier: Apache-2.0 */
/* on_protocol: lies on the stream to the supervisor. Outside the stream is a socket of the test's, which has no rules and takes
 * everything; inside the supervisor must end the run, and be there for the next one. */
#include "escape/hostile.h"

#include "base/bytes.h"
#include "wire/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PROBE(name)                                                                                                    \
	static long name(int argc, char **argv)                                                                            \
	{                                                                                                                  \
		(void)argc, (void)argv;
#define END }

/* Writes as a guest does; what the filter allows. */
static long put(const void *bytes, size_t len, int flags)
{
	return SYS(SYS_sendto, 0, bytes, len, flags | MSG_NOSIGNAL, NULL, 0);
}

static long frame(unsigned type, const void *payload, uint32_t len)
{
	uint8_t header[PL_FRAME_HEADER_LEN] = { 0 };
	long r;

	pl_put_u32(header, len);
	header[4] = (uint8_t)type;
	r = put(header, sizeof header, 0);
	return r < 0 || !len ? r : put(payload, len, 0);
}

static long result(int exit_code)
{
	uint8_t payload[PL_GUEST_RESULT_LEN];
	struct pl_guest_result words = { .exit_code = exit_code };

	pl_guest_result_print(payload, &words);
	pl_put_u32(payload, (uint32_t)exit_code); /* also one that the printer would not print */
	return frame(PL_FRAME_RESULT, payload, sizeof payload);
}

static long output(unsigned stream, const char *text)
{
	uint8_t payload[256] = { (uint8_t)stream };
	size_t len = strlen(text);

	memcpy(payload + 1, text, len);
	return frame(PL_FRAME_OUTPUT, payload, (uint32_t)len + 1);
}

/* After the attempt: says no more, so that the frame's effect is all there is. Outside there is nothing to wait for. */
static long then_wait(long r)
{
	while (!outside && r >= 0)
		(void)SYS(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	return r;
}

PROBE(unknown_type)
	return then_wait(frame(99, "", 0));
END

PROBE(type_zero)
	return then_wait(frame(0, "", 0));
END

PROBE(reserved_bytes)
	static const uint8_t bytes[] = { 1, 0, 0, 0, PL_FRAME_OUTPUT, 1, 1, 1, PL_STREAM_STDOUT };

	return then_wait(put(bytes, sizeof bytes, 0));
END

PROBE(too_long)
	static const uint8_t bytes[] = { 0xff, 0xff, 0xff, 0xff, PL_FRAME_OUTPUT, 0, 0, 0 };

	return then_wait(put(bytes, sizeof bytes, 0));
END

PROBE(just_too_long)
	uint8_t header[PL_FRAME_HEADER_LEN] = { 0 };

	pl_put_u32(header, PL_FRAME_PAYLOAD_MAX + 1);
	header[4] = PL_FRAME_OUTPUT;
	return then_wait(put(header, sizeof header, 0));
END

PROBE(hello_again)
	static uint8_t payload[PL_HELLO_LEN];

	return then_wait(frame(PL_FRAME_HELLO, payload, sizeof payload));
END

PROBE(challenge_back)
	static uint8_t payload[PL_CHALLENGE_LEN];

	return then_wait(frame(PL_FRAME_CHALLENGE, payload, sizeof payload));
END

PROBE(job_back)
	return then_wait(frame(PL_FRAME_JOB, "x", 1));
END

PROBE(result_twice)
	(void)result(0);
	return then_wait(result(1));
END

/* One write, so that both arrive in one reading. */
PROBE(result_twice_at_once)
	uint8_t bytes[2 * (PL_FRAME_HEADER_LEN + PL_GUEST_RESULT_LEN)] = { 0 }, *at = bytes;
	struct pl_guest_result words = { .exit_code = 0 };

	for (int i = 0; i < 2; i++, at += PL_FRAME_HEADER_LEN + PL_GUEST_RESULT_LEN) {
		pl_put_u32(at, PL_GUEST_RESULT_LEN);
		at[4] = PL_FRAME_RESULT;
		pl_guest_result_print(at + PL_FRAME_HEADER_LEN, &words);
	}
	return then_wait(put(bytes, sizeof bytes, 0));
END

PROBE(output_after_result)
	uint8_t bytes[2 * PL_FRAME_HEADER_LEN + PL_GUEST_RESULT_LEN + 2] = { 0 }, *at = bytes;
	struct pl_guest_result words = { .exit_code = 0 };

	pl_put_u32(at, PL_GUEST_RESULT_LEN);
	at[4] = PL_FRAME_RESULT;
	pl_guest_result_print(at + PL_FRAME_HEADER_LEN, &words);
	at += PL_FRAME_HEADER_LEN + PL_GUEST_RESULT_LEN;
	pl_put_u32(at, 2);
	at[4] = PL_FRAME_OUTPUT;
	at[PL_FRAME_HEADER_LEN] = PL_STREAM_STDOUT;
	return then_wait(put(bytes, sizeof bytes, 0));
END

PROBE(exit_code_999)
	return then_wait(result(999));
END

PROBE(exit_code_negative)
	return then_wait(result(-1));
END

PROBE(result_short)
	return then_wait(frame(PL_FRAME_RESULT, "\0\0\0\0", 4));
END

PROBE(result_empty)
	return then_wait(frame(PL_FRAME_RESULT, "", 0));
END

PROBE(third_stream)
	return then_wait(output(3, "x"));
END

PROBE(output_empty)
	return then_wait(frame(PL_FRAME_OUTPUT, "", 0));
END

/* Output without counting, to the end of patience. */
PROBE(output_flood)
	static uint8_t payload[PL_OUTPUT_CHUNK_MAX + 1];
	long r = 0;

	payload[0] = PL_STREAM_STDOUT;
	for (int i = 0; i < 200 && r >= 0; i++)
		r = frame(PL_FRAME_OUTPUT, payload, sizeof payload);
	return then_wait(r);
END

PROBE(dropped_flood)
	uint8_t payload[PL_DROPPED_LEN];
	long r = 0;

	pl_dropped_print(payload, PL_STREAM_STDOUT, UINT64_MAX);
	for (int i = 0; i < 100000 && r >= 0; i++)
		r = frame(PL_FRAME_DROPPED, payload, sizeof payload);
	return then_wait(r);
END

PROBE(tiny_flood)
	long r = 0;

	for (int i = 0; i < 100000 && r >= 0; i++)
		r = output(PL_STREAM_STDOUT, "x");
	return then_wait(r);
END

PROBE(garbage)
	uint8_t bytes[4096];
	uint32_t x = 2463534242u;

	for (size_t i = 0; i < sizeof bytes; i++) {
		x ^= x << 13, x ^= x >> 17, x ^= x << 5;
		bytes[i] = (uint8_t)x;
	}
	return then_wait(put(bytes, sizeof bytes, 0));
END

/* Half of a frame, and silence. */
PROBE(half_a_frame)
	static const uint8_t bytes[] = { 16, 0, 0, 0, PL_FRAME_OUTPUT, 0, 0, 0, PL_STREAM_STDOUT, 'x' };

	return then_wait(put(bytes, sizeof bytes, 0));
END

PROBE(half_a_frame_and_exit)
	static const uint8_t bytes[] = { 16, 0, 0, 0, PL_FRAME_OUTPUT, 0, 0, 0, PL_STREAM_STDOUT, 'x' };
	long r = put(bytes, sizeof bytes, 0);

	if (!outside)
		_exit(0);
	return r;
END

/* A true frame, one byte a write: slow is no crime. */
PROBE(drip)
	static const uint8_t bytes[] = { 6, 0, 0, 0, PL_FRAME_OUTPUT, 0, 0, 0, PL_STREAM_STDOUT, 'd', 'r', 'i', 'p', '\n' };
	long r = 0;

	for (size_t i = 0; i < sizeof bytes && r >= 0; i++)
		r = put(bytes + i, 1, 0);
	return r;
END

/* A byte out of band. */
PROBE(out_of_band)
	long r = put("!", 1, MSG_OOB);

	return r < 0 ? r : output(PL_STREAM_STDOUT, "oob\n");
END

static long put_with(int type, const void *data, size_t len)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control = { 0 };
	static const uint8_t bytes[] = { 5, 0, 0, 0, PL_FRAME_OUTPUT, 0, 0, 0, PL_STREAM_STDOUT, 's', 'c', 'm', '\n' };
	struct iovec iov = { (void *)bytes, sizeof bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(len) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = type;
	control.header.cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(&control.header), data, len);
	return SYS(SYS_sendmsg, 0, &msg, MSG_NOSIGNAL);
}

/* Descriptors that the supervisor would have to close; the only one there is to send is the stream itself. The kernel counts those
 * that are on their way, and lets no more than RLIMIT_NOFILE be. */
PROBE(send_descriptors)
	struct timespec pause = { 0, 1000000 };
	int fds[4] = { 0, 0, 0, 0 };
	long r = 0;

	for (int i = 0; i < 50 && r >= 0; i++)
		while ((r = put_with(SCM_RIGHTS, fds, sizeof fds)) == -ETOOMANYREFS)
			(void)SYS(SYS_ppoll, NULL, 0, &pause, NULL, 8);
	return r;
END

/* argv[1]: somebody else's pid. */
PROBE(forged_credentials)
	struct ucred cred = { (pid_t)hostile_number(argv[1]), 0, 0 };

	return put_with(SCM_CREDENTIALS, &cred, sizeof cred);
END

/* Says that it is done, and goes on. */
PROBE(result_and_loop)
	long r = result(7);

	while (!outside && r >= 0)
		;
	return r;
END

/* Reads on after the result: the host has nothing more to say, and ends it. */
PROBE(result_and_read)
	char byte;
	long r = result(7);

	if (!outside)
		(void)SYS(SYS_recvfrom, 0, &byte, 1, 0, NULL, NULL);
	return r;
END

const struct probe protocol_probes[] = {
	{ "unknown-type", unknown_type },
	{ "type-zero", type_zero },
	{ "reserved-bytes", reserved_bytes },
	{ "too-long", too_long },
	{ "just-too-long", just_too_long },
	{ "hello-again", hello_again },
	{ "challenge-back", challenge_back },
	{ "job-back", job_back },
	{ "result-twice", result_twice },
	{ "result-twice-at-once", result_twice_at_once },
	{ "output-after-result", output_after_result },
	{ "exit-code-999", exit_code_999 },
	{ "exit-code-negative", exit_code_negative },
	{ "result-short", result_short },
	{ "result-empty", result_empty },
	{ "third-stream", third_stream },
	{ "output-empty", output_empty },
	{ "output-flood", output_flood },
	{ "dropped-flood", dropped_flood },
	{ "tiny-flood", tiny_flood },
	{ "garbage", garbage },
	{ "half-a-frame", half_a_frame },
	{ "half-a-frame-and-exit", half_a_frame_and_exit },
	{ "drip", drip },
	{ "out-of-band", out_of_band },
	{ "send-descriptors", send_descriptors },
	{ "forged-credentials", forged_credentials },
	{ "result-and-loop", result_and_loop },
	{ "result-and-read", result_and_read },
	{ NULL, NULL },
};
