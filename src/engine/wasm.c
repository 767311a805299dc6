/* SPDX-License-Identifier: Apache-2.0 */
/* wasm: the engine's face inside the WebAssembly module of the process wall: what the worker calls, and what it asks of it.
 *
 * This file and all the engine run inside the instance: whatever they say is checked by the worker (src/worker/instance.c). */
#include "engine/engine.h"

#include <string.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("plimsoll"), import_name(name)))

/* An instance has two stacks: the module's own, for what has an address, and the worker's, on which wasm2c's functions run. Of
 * each, the engine leaves this part alone: what may be needed between two checks. In 1/256 of either. */
#define STACK_RESERVE_PARTS 64u

void import_output(uint32_t stream, const uint8_t *bytes, size_t len) IMPORT("output");
int64_t import_monotonic_ns(void) IMPORT("monotonic_ns");
void import_sleep_until_ns(int64_t deadline_ns) IMPORT("sleep_until_ns");
int32_t import_interrupt(void) IMPORT("interrupt");
/* How much is left of the worker's stack, in 1/256 of it. */
uint32_t import_stack_left(void) IMPORT("stack_left");
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

/* What QuickJS takes for its stack pointer (the build puts this in the place of __builtin_frame_address): the more pressing of
 * the two stacks, in terms of the module's own, which begins at address 0. */
void *pl_frame_address(void);
void *pl_frame_address(void)
{
	uintptr_t own = (uintptr_t)__builtin_frame_address(0);
	uintptr_t worker = (uintptr_t)import_stack_left() * (PL_WASM_STACK_BYTES / 256u);

	return (void *)(own < worker ? own : worker);
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

	engine = pl_engine_new(&host, PL_WASM_STACK_BYTES / 256u * (256u - STACK_RESERVE_PARTS));
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
