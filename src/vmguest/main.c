/* SPDX-License-Identifier: Apache-2.0 */
/* main: the program inside the machine: an engine made ready, the snapshot, then one session: challenge, hello, job, result.
 *
 * Nothing returns from here: there is nowhere to return to. Trusted until the job is there, hostile from then on; the monitor
 * treats it as hostile from its first instruction. */
#include "vmguest/machine.h"

#include "base/digest.h"
#include "build_id.h"
#include "engine/engine.h"
#include "guest/output.h"
#include "vmguest/heap.h"

#include <string.h>

/* Of the 4 MiB of stack; the rest is for what the engine does between two of its checks. */
#define STACK_BYTES (3584u * 1024u)

/* What a small run touches beyond what the snapshot has. */
#define FETCH_HEAP_BYTES (64u * 1024u)
#define FETCH_STACK_BYTES (32u * 1024u)
#define FETCH_IN_BYTES (8u * 1024u)

extern char _end[]; /* the linker's: where the image ends */

_Noreturn void pl_vm_main(void);

static volatile struct pl_vm_header *const header = (volatile struct pl_vm_header *)PL_VM_SHARED;
static uint8_t *const in = (uint8_t *)PL_VM_IN;
static uint8_t *const out = (uint8_t *)PL_VM_OUT;

static struct pl_engine *engine;
static struct pl_output output;
static uint32_t out_len;  /* complete frames; header->out_len follows it */
static uint64_t tsc_base; /* the counter when the host's clocks were fresh */

/* --- ports and clocks ------------------------------------------------------------------------------------------------ */

static uint64_t tsc_read(void)
{
	return __builtin_ia32_rdtsc();
}

/* Whatever is asked for, the host takes the frames that are there first. */
static void port_out(enum pl_vm_port port)
{
	__asm__ volatile("outl %%eax, %%dx" : : "a"(0), "d"(port) : "memory");
	out_len = 0;
	header->out_len = 0;
}

/* An exit costs tens of microseconds, a look at the counter none; so the host's clocks are carried on by it. */
static int64_t since_base_ns(void)
{
	uint32_t khz = header->tsc_khz;

	if (!khz) {
		port_out(PL_VM_PORT_CLOCK);
		return 0;
	}
	return (int64_t)((unsigned __int128)(tsc_read() - tsc_base) * 1000000u / khz);
}

int64_t pl_machine_monotonic_ns(void)
{
	int64_t since = since_base_ns();

	return header->monotonic_ns + since;
}

int64_t pl_machine_real_ns(void)
{
	int64_t since = since_base_ns();

	return header->real_ns + since;
}

/* --- frames ---------------------------------------------------------------------------------------------------------- */

/* The length is set last: when the machine is stopped at its deadline, what it says to be there is there whole. */
static void frame_put(void *opaque, enum pl_frame_type type, const uint8_t *head, size_t head_len, const uint8_t *body,
		      size_t body_len)
{
	size_t len = PL_FRAME_HEADER_LEN + head_len + body_len;

	(void)opaque;
	if (len > PL_VM_OUT_SIZE - out_len)
		port_out(PL_VM_PORT_FLUSH);
	pl_frame_header_print(out + out_len, type, (uint32_t)(head_len + body_len));
	memcpy(out + out_len + PL_FRAME_HEADER_LEN, head, head_len);
	if (body_len)
		memcpy(out + out_len + PL_FRAME_HEADER_LEN + head_len, body, body_len);
	out_len += (uint32_t)len;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	header->out_len = out_len;
}

/* Hands over what is there, and waits for the next frame. */
static size_t frame_get(enum pl_frame_type type)
{
	port_out(PL_VM_PORT_RECEIVE);
	tsc_base = tsc_read();
	if (header->in_type != type || header->in_len > PL_FRAME_PAYLOAD_MAX)
		pl_machine_stop();
	return header->in_len;
}

/* --- the session ----------------------------------------------------------------------------------------------------- */

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

static void hello_put(const uint8_t challenge[PL_CHALLENGE_LEN])
{
	static const char label[] = "plimsoll-hello-1";
	struct pl_hello hello = {
		.probes_tried = header->probes_tried,
		.probes_denied = header->probes_denied,
		.landlock_denied = header->landlock_denied,
		.dumpable = header->dumpable,
	};
	uint8_t bytes[PL_HELLO_LEN];
	struct pl_digest digest;

	hex_parse(PL_BUILD_ID, hello.image_id, PL_IMAGE_ID_LEN);
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, label, sizeof label - 1);
	pl_digest_bytes(&digest, challenge, PL_CHALLENGE_LEN);
	pl_digest_bytes(&digest, hello.image_id, PL_IMAGE_ID_LEN);
	pl_digest_end(&digest, hello.digest);
	pl_hello_print(bytes, &hello);
	frame_put(NULL, PL_FRAME_HELLO, bytes, sizeof bytes, NULL, 0);
}

static _Noreturn void finish(const struct pl_engine_result *result)
{
	uint8_t bytes[PL_GUEST_RESULT_LEN];
	struct pl_guest_result words = {
		.exit_code = result->exit_code & 255,
		.oom = result->oom,
		.stdout_total = output.streams[0].total_bytes,
		.stderr_total = output.streams[1].total_bytes,
	};

	pl_guest_result_print(bytes, &words);
	frame_put(NULL, PL_FRAME_RESULT, bytes, sizeof bytes, NULL, 0);
	/* The host sends nothing any more: this ends the machine. */
	port_out(PL_VM_PORT_RECEIVE);
	pl_machine_stop();
}

static _Noreturn void job_run(void)
{
	struct pl_engine_result result;
	struct pl_job job;
	size_t len = frame_get(PL_FRAME_JOB);

	in[len] = 0;
	if (pl_job_parse(in, len, &job) < 0)
		pl_machine_stop();
	output.streams[0].max_bytes = job.stdout_max_bytes;
	output.streams[1].max_bytes = job.stderr_max_bytes;
	output.send = frame_put;
	pl_engine_run(engine, &job, &result);
	finish(&result);
}

static void pages_read(uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = from; at < to; at += PL_VM_PAGE)
		(void)*(volatile uint8_t *)at;
}

/* Writes what is there. */
static void pages_write(uintptr_t from, uintptr_t to)
{
	for (uintptr_t at = from; at < to; at += PL_VM_PAGE)
		*(volatile uint8_t *)at = *(volatile uint8_t *)at;
}

/* A machine's memory comes to it page by page, each at the price of several microseconds. While it waits at the gate there is time:
 * what any run touches is touched now. */
static void pages_fetch(void)
{
	uintptr_t used = pl_heap_used_end() & ~(PL_VM_PAGE - 1);

	pages_read(PL_VM_IMAGE, header->text_end);
	pages_write(header->text_end, used);
	pages_write(used, used + FETCH_HEAP_BYTES);
	pages_write(PL_VM_STACK_TOP - FETCH_STACK_BYTES, PL_VM_STACK_TOP);
	pages_write(PL_VM_IN, PL_VM_IN + FETCH_IN_BYTES);
	pages_write(PL_VM_OUT, PL_VM_OUT + PL_VM_PAGE);
}

/* Every machine is the same at its snapshot; from here on the stack protector's value is its own. Functions that are under
 * way now never return, so none compares the old one. The challenge is not secret to the host, and the code never sees it. */
static _Noreturn void session(void)
{
	uint8_t mixed[PL_SHA256_LEN];
	struct pl_digest digest;

	(void)frame_get(PL_FRAME_CHALLENGE);
	pages_fetch();
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, "canary", 6);
	pl_digest_bytes(&digest, in, PL_CHALLENGE_LEN);
	pl_digest_end(&digest, mixed);
	mixed[0] = 0; /* no text runs over it */
	hello_put(in);
	memset(in, 0, PL_CHALLENGE_LEN);
	memcpy((void *)(PL_VM_THREAD + PL_VM_CANARY_OFFSET), mixed, 8);
	pl_heap_grow(header->memory_bytes);
	job_run();
}

/* --- the engine's host ----------------------------------------------------------------------------------------------- */

static void host_write(void *opaque, enum pl_stream stream, const uint8_t *bytes, size_t len)
{
	(void)opaque;
	pl_output_write(&output, stream, bytes, len);
}

static int64_t host_monotonic_ns(void *opaque)
{
	(void)opaque;
	return pl_machine_monotonic_ns();
}

static void host_sleep_until_ns(void *opaque, int64_t deadline_ns)
{
	int64_t left = deadline_ns - pl_machine_monotonic_ns();

	(void)opaque;
	if (left <= 0)
		return;
	header->sleep_ns = left < PL_VM_SLEEP_MAX_NS ? left : PL_VM_SLEEP_MAX_NS;
	port_out(PL_VM_PORT_SLEEP);
	tsc_base = tsc_read();
}

/* The deadline is the host's to keep; it needs no help from in here. */
static int host_interrupt(void *opaque)
{
	(void)opaque;
	return 0;
}

static void __attribute__((noreturn)) host_finish(void *opaque, const struct pl_engine_result *result)
{
	(void)opaque;
	finish(result);
}

_Noreturn void pl_vm_main(void)
{
	static const struct pl_engine_host host = {
		.write = host_write,
		.monotonic_ns = host_monotonic_ns,
		.sleep_until_ns = host_sleep_until_ns,
		.interrupt = host_interrupt,
		.finish = host_finish,
	};

	tsc_base = tsc_read();
	pl_heap_init((uintptr_t)_end, header->memory_bytes);
	engine = pl_engine_new(&host, STACK_BYTES);
	if (!engine)
		pl_machine_stop();
	header->heap_used_end = pl_heap_used_end();
	port_out(PL_VM_PORT_SNAPSHOT);
	session();
}

/* Where the processor starts: the stack is the monitor's, everything else is zero. */
__asm__(".pushsection .text.pl_vm_entry,\"ax\",@progbits\n"
	".globl pl_vm_entry\n"
	"pl_vm_entry:\n"
	"	xorl %ebp, %ebp\n"
	"	andq $-16, %rsp\n"
	"	call pl_vm_main\n"
	"	ud2\n"
	".popsection\n");
