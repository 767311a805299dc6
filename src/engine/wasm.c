/* SPDX-License-Identifier: Apache-2.0 */
/* wasm: the engine's face inside the WebAssembly module of the process wall: what the worker calls, and what it asks of it.
 *
 * This file and all the engine run inside the instance: whatever they say is checked by the worker (src/worker/instance.c). */
#include "engine/engine.h"

#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("plimsoll"), import_name(name)))

/* Of the C stack that the module was linked with; below this much the engine does not go between two checks. */
#define STACK_RESERVE_BYTES (192u * 1024u)

void import_output(uint32_t stream, const uint8_t *bytes, size_t len) IMPORT("output");
int64_t import_monotonic_ns(void) IMPORT("monotonic_ns");
void import_sleep_until_ns(int64_t deadline_ns) IMPORT("sleep_until_ns");
int32_t import_interrupt(void) IMPORT("interrupt");
void import_finish(int32_t exit_code, int32_t oom) IMPORT("finish") __attribute__((noreturn));

static struct pl_engine *engine;
static uint8_t job_bytes[PL_FRAME_PAYLOAD_MAX + 1];

static void host_write(void *opaque, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	import_output((uint32_t)stream, bytes, len);
}

static int64_t host_monotonic_ns(void *opaque)
{
	(void)opaque;
	return import_monotonic_ns();
}

static void host_sleep_until_ns(void *opaque, int64_t deadline_ns)
{
	(void)opaque;
	import_sleep_until_ns(deadline_ns);
}

static int host_interrupt(void *opaque)
{
	(void)opaque;
	return import_interrupt();
}

static void __attribute__((noreturn)) host_finish(void *opaque, const struct pl_engine_result *result)
{
	(void)opaque;
	import_finish(result->exit_code, result->oom);
}

int32_t pl_warm(void) EXPORT("pl_warm");
int32_t pl_warm(void)
{
	static const struct pl_engine_host host = {
		.write = host_write,
		.monotonic_ns = host_monotonic_ns,
		.sleep_until_ns = host_sleep_until_ns,
		.interrupt = host_interrupt,
		.finish = host_finish,
	};

	engine = pl_engine_new(&host, PL_WASM_STACK_BYTES - STACK_RESERVE_BYTES);
	return engine ? 0 : -1;
}

/* Where the worker puts the payload of JOB before pl_run, at most PL_FRAME_PAYLOAD_MAX bytes and a NUL. */
uint8_t *pl_job_bytes(void) EXPORT("pl_job_bytes");
uint8_t *pl_job_bytes(void)
{
	return job_bytes;
}

/* The exit code, and 256 for a program that ran out of memory; -1 for a job that does not parse. */
int32_t pl_run(uint32_t len) EXPORT("pl_run");
int32_t pl_run(uint32_t len)
{
	struct pl_engine_result result;
	struct pl_job job;

	if (len > PL_FRAME_PAYLOAD_MAX || pl_job_parse(job_bytes, len, &job) < 0)
		return -1;
	pl_engine_run(engine, &job, &result);
	return result.exit_code | (result.oom ? 256 : 0);
}
