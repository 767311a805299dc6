/* SPDX-License-Identifier: Apache-2.0 */
/* native: the engine linked into the guest itself, its host table in terms of the session. */
#include "guest/native.h"

/* Of the 8 MiB of stack that a process gets by default. The rest is for what the engine does between two of its checks. */
#define STACK_BYTES (4u * 1024u * 1024u)

static struct pl_engine *engine;

static void host_write(void *opaque, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	pl_session_write(stream, bytes, len);
}

static int64_t host_monotonic_ns(void *opaque)
{
	(void)opaque;
	return pl_session_monotonic_ns();
}

static void host_sleep_until_ns(void *opaque, int64_t deadline_ns)
{
	(void)opaque;
	pl_session_sleep_until_ns(deadline_ns);
}

/* The deadline is the host's to enforce; a guest whose host is gone ends by itself. */
static int host_interrupt(void *opaque)
{
	(void)opaque;
	pl_session_check_host();
	return 0;
}

static void __attribute__((noreturn)) host_finish(void *opaque, const struct pl_engine_result *result)
{
	(void)opaque;
	pl_session_finish(result);
}

static void run(const struct pl_job *job, const uint8_t *payload, size_t payload_len, struct pl_engine_result *ret)
{
	(void)payload, (void)payload_len;
	pl_engine_run(engine, job, ret);
}

const struct pl_session_engine pl_native_engine = { .run = run };

int pl_native_warm(void)
{
	static const struct pl_engine_host host = {
		.write = host_write,
		.monotonic_ns = host_monotonic_ns,
		.sleep_until_ns = host_sleep_until_ns,
		.interrupt = host_interrupt,
		.finish = host_finish,
	};

	engine = pl_engine_new(&host, STACK_BYTES);
	return engine ? 0 : -1;
}
