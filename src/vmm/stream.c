/* SPDX-License-Identifier: Apache-2.0 */
/* stream: see stream.h. The supervisor is trusted; all the same a frame that is none ends the machine. */
#include "vmm/stream.h"

#include "linux/sys.h"
#include "wire/jail.h"

#include <poll.h>
#include <time.h>

#define NS_PER_S 1000000000ll

volatile sig_atomic_t pl_vm_deadline;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void stream_clocks(void *opaque, int64_t *ret_monotonic_ns, int64_t *ret_real_ns)
{
	(void)opaque;
	*ret_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	*ret_real_ns = clock_ns(CLOCK_REALTIME);
}

static int stream_send(void *opaque, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	while (len) {
		ssize_t n = pl_sys_send(PL_GUEST_STREAM_FD, bytes, len, 0);

		if (n < 0)
			return (int)n;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Not by pl_sys_recv, which starts again after a signal: the deadline has to be seen. */
static int receive_all(uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = recv(PL_GUEST_STREAM_FD, bytes + at, len - at, 0);

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR && !pl_vm_deadline)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 1;
}

static int stream_receive(void *opaque, struct pl_frame_header *ret, uint8_t *payload, size_t max)
{
	uint8_t bytes[PL_FRAME_HEADER_LEN];
	int rc = receive_all(bytes, sizeof bytes);

	(void)opaque;
	if (rc <= 0)
		return rc;
	if (pl_frame_header_parse(bytes, ret) < 0 || ret->payload_len > max)
		return -EPROTO;
	return receive_all(payload, ret->payload_len);
}

/* The host sends nothing while a job runs: any event is its end. */
static int stream_sleep(void *opaque, int64_t ns)
{
	int64_t until = clock_ns(CLOCK_MONOTONIC) + ns, left;

	(void)opaque;
	while ((left = until - clock_ns(CLOCK_MONOTONIC)) > 0) {
		struct pollfd stream = { .fd = PL_GUEST_STREAM_FD, .events = POLLRDHUP };
		struct timespec timeout = { .tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S };
		int rc = ppoll(&stream, 1, &timeout, NULL);

		if (rc < 0 && errno != EINTR)
			return 1;
		if (pl_vm_deadline)
			return -EINTR;
		if (rc > 0)
			return 1;
	}
	return 0;
}

const struct pl_vm_world pl_vm_stream_world = {
	.send = stream_send,
	.receive = stream_receive,
	.sleep = stream_sleep,
	.clocks = stream_clocks,
};
