/* SPDX-License-Identifier: Apache-2.0 */
/* engine: one JavaScript engine (QuickJS) with its bootstrap script, made ready before any job, for one run.
 *
 * Used by the guest and worker programs and, compiled to WebAssembly, by the process wall; the same source everywhere. The
 * job comes from a trusted host; its code is hostile from the first byte. The engine makes no system call of its
 * own besides memory and the time of day: whatever leaves it goes through struct pl_engine_host. An engine runs one job and
 * is then only good for pl_engine_free. */
#ifndef PL_ENGINE_ENGINE_H
#define PL_ENGINE_ENGINE_H

#include "wire/frame.h"

#include <stddef.h>
#include <stdint.h>

struct pl_engine;

struct pl_engine_result {
	int32_t exit_code; /* 0..255, as Node's */
	uint8_t oom;       /* ended on a refused allocation that nothing caught */
};

/* Every slot is set. opaque is handed back. */
struct pl_engine_host {
	void *opaque;
	/* One write of the program, whole; bytes are valid UTF-8 unless the program wrote binary data. */
	void (*write)(void *opaque, enum pl_stream stream, const uint8_t *bytes, size_t len);
	int64_t (*monotonic_ns)(void *opaque);
	/* Returns at the deadline or a little later; earlier returns are allowed. */
	void (*sleep_until_ns)(void *opaque, int64_t deadline_ns);
	/* Asked now and then while the program computes; other than 0 ends it with an error that it cannot catch. */
	int (*interrupt)(void *opaque);
	/* process.exit: the run ends here, in the middle of the program, with frames of the engine still on the stack.
	 * Never returns; the engine must not be used, nor freed, afterwards. */
	void (*finish)(void *opaque, const struct pl_engine_result *result) __attribute__((noreturn));
};

/* A warm engine, or NULL when there is no memory. stack_bytes is how far the stack may grow below the caller before
 * the program gets "stack overflow"; some 256 KiB more must be there. host is copied. */
struct pl_engine *pl_engine_new(const struct pl_engine_host *host, size_t stack_bytes);

/* Runs a job to its end. job->code[job->code_len] is a NUL that the caller put there. */
void pl_engine_run(struct pl_engine *engine, const struct pl_job *job, struct pl_engine_result *ret);

/* Bytes that the engine holds now: for figures and tests. */
uint64_t pl_engine_used_bytes(const struct pl_engine *engine);

void pl_engine_free(struct pl_engine *engine);

#endif
