/* SPDX-License-Identifier: Apache-2.0 */
/* instance: see instance.h. The names of the generated code come from wasm-names.h, which the build makes for the release of
 * wasm2c at hand. */
#include "worker/instance.h"

#include "linux/sys.h"
#include "worker/trap.h"

#include "wasm-names.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 65536u
/* The 65536th page would make the size of the memory 0 in 32 bits. */
#define PAGES_MAX 65535u
/* What malloc and the report of the program's end may take beside what the engine counts. */
#define SLACK_PAGES 32u

/* How much of the process's stack the instance may use, of the 8 MiB that must be there. */
#define STACK_BYTES (6u * 1024u * 1024u)
#define STACK_LIMIT_MIN_BYTES (8u * 1024u * 1024u)

#define WASI_EBADF 8u
#define WASI_REALTIME 0u

static PL_WASM_INSTANCE instance;
static uintptr_t stack_floor;

/* The generated code calls this instead of unwinding. */
void pl_wasm_trap(wasm_rt_trap_t code)
{
	(void)code;
	__builtin_trap();
}

/* len bytes of the instance's memory, or death. */
static uint8_t *memory_at(uint32_t offset, uint32_t len)
{
	wasm_rt_memory_t *memory = PL_WASM_EXPORT_memory(&instance);

	if ((uint64_t)offset + len > memory->size)
		__builtin_trap();
	return memory->data + offset;
}

/* --- what the engine asks for: module "plimsoll" ------------------------------------------------------------------- */

void PL_WASM_IMPORT_output(PL_WASM_HOST_ENV *env, u32 stream, u32 bytes, u32 len)
{
	(void)env;
	pl_session_write(stream == PL_STREAM_STDERR ? PL_STREAM_STDERR : PL_STREAM_STDOUT, memory_at(bytes, len), len);
}

u64 PL_WASM_IMPORT_monotonic_ns(PL_WASM_HOST_ENV *env)
{
	(void)env;
	return (u64)pl_session_monotonic_ns();
}

void PL_WASM_IMPORT_sleep_until_ns(PL_WASM_HOST_ENV *env, u64 deadline_ns)
{
	(void)env;
	pl_session_sleep_until_ns((int64_t)deadline_ns);
}

u32 PL_WASM_IMPORT_interrupt(PL_WASM_HOST_ENV *env)
{
	(void)env;
	pl_session_check_host();
	return 0;
}

u32 PL_WASM_IMPORT_stack_left(PL_WASM_HOST_ENV *env)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)env;
	return here > stack_floor ? (u32)((here - stack_floor) / (STACK_BYTES / 256u)) : 0;
}

void PL_WASM_IMPORT_finish(PL_WASM_HOST_ENV *env, u32 exit_code, u32 oom)
{
	struct pl_engine_result result = { .exit_code = (int32_t)(exit_code & 255), .oom = oom != 0 };

	(void)env;
	pl_session_finish(&result);
}

/* --- what the C library of the module asks for: the time, and streams that are not there ----------------------------- */

u32 PL_WASM_IMPORT_clock_time_get(PL_WASM_WASI_ENV *env, u32 clock, u64 precision, u32 ret_ns)
{
	struct timespec t;
	u64 ns;

	(void)env, (void)precision;
	clock_gettime(clock == WASI_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
	ns = (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
	memcpy(memory_at(ret_ns, sizeof ns), &ns, sizeof ns);
	return 0;
}

#ifdef PL_WASM_IMPORT_fd_close
u32 PL_WASM_IMPORT_fd_close(PL_WASM_WASI_ENV *env, u32 fd)
{
	(void)env, (void)fd;
	return WASI_EBADF;
}
#endif

#ifdef PL_WASM_IMPORT_fd_fdstat_get
u32 PL_WASM_IMPORT_fd_fdstat_get(PL_WASM_WASI_ENV *env, u32 fd, u32 ret_stat)
{
	(void)env, (void)fd, (void)ret_stat;
	return WASI_EBADF;
}
#endif

#ifdef PL_WASM_IMPORT_fd_seek
u32 PL_WASM_IMPORT_fd_seek(PL_WASM_WASI_ENV *env, u32 fd, u64 offset, u32 whence, u32 ret_offset)
{
	(void)env, (void)fd, (void)offset, (void)whence, (void)ret_offset;
	return WASI_EBADF;
}
#endif

#ifdef PL_WASM_IMPORT_fd_write
u32 PL_WASM_IMPORT_fd_write(PL_WASM_WASI_ENV *env, u32 fd, u32 iov, u32 iov_n, u32 ret_n)
{
	(void)env, (void)fd, (void)iov, (void)iov_n, (void)ret_n;
	return WASI_EBADF;
}
#endif

#ifdef PL_WASM_IMPORT_proc_exit
void PL_WASM_IMPORT_proc_exit(PL_WASM_WASI_ENV *env, u32 code)
{
	(void)env, (void)code;
	__builtin_trap();
}
#endif

/* ------------------------------------------------------------------------------------------------------------------- */

/* What stands now is the module's own; the job's memory comes on top. */
static void limit_memory(uint64_t memory_bytes)
{
	wasm_rt_memory_t *memory = PL_WASM_EXPORT_memory(&instance);
	uint64_t pages = memory->pages + memory_bytes / PAGE_BYTES + SLACK_PAGES;

	memory->max_pages = pages < PAGES_MAX ? (uint32_t)pages : PAGES_MAX;
}

static void run(const struct pl_job *job, const uint8_t *payload, size_t payload_len, struct pl_engine_result *ret)
{
	uint32_t bytes = (uint32_t)PL_WASM_EXPORT_pl_job_bytes(&instance);
	int32_t r;

	limit_memory(job->memory_bytes);
	memcpy(memory_at(bytes, (uint32_t)payload_len + 1), payload, payload_len + 1);
	r = (int32_t)PL_WASM_EXPORT_pl_run(&instance, (u32)payload_len);
	if (r < 0)
		__builtin_trap();
	ret->exit_code = r & 255;
	ret->oom = (uint8_t)(r >> 8 & 1);
}

const struct pl_session_engine pl_instance_engine = { .run = run };

/* A program that recurses gets an error of the engine's only if the stack is as large as is reckoned with here. */
static int measure_stack(void)
{
	struct rlimit limit;

	if (pl_sys_prlimit(0, RLIMIT_STACK, NULL, &limit) < 0 || limit.rlim_cur < STACK_LIMIT_MIN_BYTES)
		return -1;
	stack_floor = (uintptr_t)__builtin_frame_address(0) - STACK_BYTES;
	return 0;
}

int pl_instance_warm(void)
{
	if (measure_stack() < 0)
		return -1;
	wasm_rt_init();
	PL_WASM_MODULE_INIT();
	PL_WASM_INSTANTIATE(&instance, NULL);
	PL_WASM_EXPORT__initialize(&instance);
	return (int32_t)PL_WASM_EXPORT_pl_warm(&instance) < 0 ? -1 : 0;
}
