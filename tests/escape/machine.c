/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile image for the machine wall, in the place of plimsoll-vm-image. It passes the gate as that one does, and then does what
 * the job's code names: one attack on the monitor, on the processor's rules or on memory. "survived" with exit code 99 is what it
 * says when an attack came back; tests/escape/test_machine.py has what must become of each. */
#include "base/digest.h"
#include "build_id.h"
#include "vmguest/machine.h"

#include <stddef.h>
#include <string.h>

_Noreturn void pl_vm_main(void);

static volatile struct pl_vm_header *const header = (volatile struct pl_vm_header *)PL_VM_SHARED;
static uint8_t *const in = (uint8_t *)PL_VM_IN;
static uint8_t *const out = (uint8_t *)PL_VM_OUT;
static uint32_t out_len;
static uint8_t data_page[8192] __attribute__((aligned(4096)));
static const char constant[4096] __attribute__((aligned(4096))) = "constant";
extern char _end[];

int64_t pl_machine_monotonic_ns(void)
{
	return 0;
}

int64_t pl_machine_real_ns(void)
{
	return 0;
}

static void port_out(unsigned port)
{
	__asm__ volatile("outl %%eax, %%dx" : : "a"(0), "d"(port) : "memory");
	out_len = 0;
	header->out_len = 0;
}

static void frame_put(unsigned type, const void *bytes, uint32_t len)
{
	pl_frame_header_print(out + out_len, (enum pl_frame_type)type, len);
	memcpy(out + out_len + PL_FRAME_HEADER_LEN, bytes, len);
	out_len += PL_FRAME_HEADER_LEN + len;
	header->out_len = out_len;
}

static void say(const char *text)
{
	char bytes[200] = { PL_STREAM_STDOUT };
	size_t len = strlen(text);

	memcpy(bytes + 1, text, len);
	frame_put(PL_FRAME_OUTPUT, bytes, (uint32_t)len + 1);
}

static _Noreturn void result(int code)
{
	uint8_t bytes[PL_GUEST_RESULT_LEN];
	struct pl_guest_result words = { .exit_code = code };

	pl_guest_result_print(bytes, &words);
	frame_put(PL_FRAME_RESULT, bytes, sizeof bytes);
	port_out(PL_VM_PORT_RECEIVE);
	pl_machine_stop();
}

static void hello(void)
{
	static const char label[] = "plimsoll-hello-1", hex[] = "0123456789abcdef";
	struct pl_hello words = {
		.probes_tried = header->probes_tried, .probes_denied = header->probes_denied,
		.landlock_denied = header->landlock_denied, .dumpable = header->dumpable,
	};
	uint8_t bytes[PL_HELLO_LEN];
	struct pl_digest digest;

	for (size_t i = 0; i < PL_IMAGE_ID_LEN; i++)
		words.image_id[i] = (uint8_t)((strchr(hex, PL_BUILD_ID[2 * i]) - hex) << 4 | (strchr(hex, PL_BUILD_ID[2 * i + 1]) - hex));
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, label, sizeof label - 1);
	pl_digest_bytes(&digest, in, PL_CHALLENGE_LEN);
	pl_digest_bytes(&digest, words.image_id, PL_IMAGE_ID_LEN);
	pl_digest_end(&digest, words.digest);
	pl_hello_print(bytes, &words);
	frame_put(PL_FRAME_HELLO, bytes, sizeof bytes);
}

/* --- the attacks ------------------------------------------------------------------------------------------------------- */

#define INSTRUCTION(name, text)                                                                                        \
	static __attribute__((naked)) void name(void)                                                                      \
	{                                                                                                                  \
		__asm__ volatile(text "; ret");                                                                                \
	}

/* Ports, directions, sizes, counts. */
INSTRUCTION(port_unlisted, "movl $0x80, %edx; outl %eax, %dx")
INSTRUCTION(port_far, "movl $0xcf8, %edx; outl %eax, %dx")
INSTRUCTION(port_last, "movl $0xfffc, %edx; outl %eax, %dx")
INSTRUCTION(port_between, "movl $0x12, %edx; outl %eax, %dx")
INSTRUCTION(port_behind, "movl $0x28, %edx; outl %eax, %dx")
INSTRUCTION(out_byte, "movl $0x14, %edx; outb %al, %dx")
INSTRUCTION(out_word, "movl $0x14, %edx; outw %ax, %dx")
INSTRUCTION(in_byte, "movl $0x14, %edx; inb %dx, %al")
INSTRUCTION(in_long, "movl $0x14, %edx; inl %dx, %eax")
INSTRUCTION(rep_outs, "movl $0x14, %edx; movl $256, %ecx; movl $0x200ff0, %esi; addl $0x100000, %esi; rep outsl")
INSTRUCTION(rep_ins, "movl $0x14, %edx; movl $256, %ecx; movl $0x300000, %edi; rep insl")
INSTRUCTION(rep_ins_shared, "movl $0x14, %edx; movl $1024, %ecx; movl $0x100000, %edi; rep insl")
INSTRUCTION(one_outs, "movl $0x14, %edx; movl $0x300000, %esi; outsl")

/* The processor's rules. */
INSTRUCTION(undefined, "ud2")
INSTRUCTION(breakpoint, "int3")
INSTRUCTION(int80, "int $0x80")
INSTRUCTION(int_any, "int $0x20")
INSTRUCTION(call_system, "xorl %eax, %eax; syscall")
INSTRUCTION(enter_system, "sysenter")
INSTRUCTION(halt, "hlt")
INSTRUCTION(clear_interrupts, "cli")
INSTRUCTION(set_interrupts, "sti")
INSTRUCTION(load_gdt, "movl $0x300000, %eax; lgdt (%rax)")
INSTRUCTION(load_idt, "movl $0x300000, %eax; lidt (%rax)")
INSTRUCTION(load_task, "movl $0x28, %eax; ltr %ax")
INSTRUCTION(load_local, "movl $0x28, %eax; lldt %ax")
INSTRUCTION(write_cr3, "movl $0x1000, %eax; movq %rax, %cr3")
INSTRUCTION(read_cr3, "movq %cr3, %rax")
INSTRUCTION(write_cr4, "movl $0x30620, %eax; movq %rax, %cr4")
INSTRUCTION(write_dr7, "movl $0x401, %eax; movq %rax, %dr7")
INSTRUCTION(read_msr, "movl $0xc0000080, %ecx; rdmsr")
INSTRUCTION(write_msr, "movl $0xc0000082, %ecx; xorl %eax, %eax; xorl %edx, %edx; wrmsr")
INSTRUCTION(invalidate, "invd")
INSTRUCTION(invalidate_page, "invlpg 0x1000")
INSTRUCTION(swap_gs, "swapgs")
INSTRUCTION(set_xcr, "xorl %ecx, %ecx; xorl %edx, %edx; movl $7, %eax; xsetbv")
INSTRUCTION(monitor_wait, "xorl %ecx, %ecx; xorl %edx, %edx; movl $0x300000, %eax; monitor; mwait")
INSTRUCTION(return_to_ring0, "pushq $0; pushq $0x500000; pushq $2; pushq $8; leaq 1f(%rip), %rax; pushq %rax; iretq; 1:")
INSTRUCTION(far_to_ring0, "pushq $8; leaq 1f(%rip), %rax; pushq %rax; lretq; 1:")
INSTRUCTION(null_stack, "xorl %eax, %eax; movw %ax, %ss; pushq %rax")
INSTRUCTION(ring0_data, "movl $0x10, %eax; movw %ax, %ds")
INSTRUCTION(step, "pushfq; orq $0x100, (%rsp); popfq; nop; nop")
INSTRUCTION(divide, "xorl %ecx, %ecx; movl $1, %eax; xorl %edx, %edx; divl %ecx")
INSTRUCTION(iopl, "pushfq; orq $0x3200, (%rsp); popfq; movl $0x80, %edx; outl %eax, %dx")
INSTRUCTION(unaligned_far, "movq $0x4141414141414141, %rax; movq (%rax), %rax")
INSTRUCTION(jump_nothing, "xorl %eax, %eax; jmp *%rax")
INSTRUCTION(jump_low, "movl $0x20000, %eax; jmp *%rax")
INSTRUCTION(jump_far, "movq $0x800000000000, %rax; jmp *%rax")

/* Memory. */
static void touch(uintptr_t at)
{
	(void)*(volatile uint8_t *)at;
}

static void overwrite(uintptr_t at)
{
	*(volatile uint8_t *)at = 0x90;
}

static void read_tables(void) { touch(PL_VM_TABLES); }
static void write_tables(void) { overwrite(PL_VM_TABLES); }
static void read_task(void) { touch(PL_VM_TSS); }
static void write_task(void) { overwrite(PL_VM_TSS + 0x68); }
static void read_state(void) { touch(PL_VM_STATE); }
static void read_null(void) { touch(0); }
static void write_text(void) { overwrite((uintptr_t)hello); }
static void write_constant(void) { overwrite((uintptr_t)constant); }
static void read_guard(void) { touch(PL_VM_STACK); }
static void read_beyond(void) { touch(header->memory_bytes); }
static void write_beyond(void) { overwrite(header->memory_bytes + (1u << 20)); }
static void read_4g(void) { touch(PL_VM_MEMORY_MAX); }
static void run_data(void) { memset(data_page, 0xc3, sizeof data_page); ((void (*)(void))(uintptr_t)data_page)(); }
static void run_shared(void) { in[0] = 0xc3; ((void (*)(void))(uintptr_t)in)(); }
static void run_stack(void) { volatile uint8_t code[16] = { 0xc3 }; ((void (*)(void))(uintptr_t)code)(); }
static void run_heap(void) { uint8_t *p = (uint8_t *)(((uintptr_t)_end + 4095) & ~4095ul); *p = 0xc3; ((void (*)(void))(uintptr_t)p)(); }

static int deeper(int n)
{
	volatile char room[256];

	room[n & 255] = (char)n;
	return n < 0 ? 0 : deeper(n + 1) + room[0];
}

static void endless_stack(void) { (void)deeper(0); }

/* What the monitor reads. */
static void length(uint32_t len)
{
	header->out_len = len;
	__asm__ volatile("outl %%eax, %%dx" : : "a"(0), "d"(PL_VM_PORT_FLUSH) : "memory");
}

static void length_huge(void) { length(UINT32_MAX); }
static void length_over(void) { length(PL_VM_OUT_SIZE + 1); }
static void length_whole(void) { memset(out, 0xff, PL_VM_OUT_SIZE); length(PL_VM_OUT_SIZE); }
static void length_zeros(void) { memset(out, 0, 64); length(64); }
static void length_short(void) { frame_put(PL_FRAME_OUTPUT, constant, 100); length(out_len - 1); }
static void length_crash(void) { header->out_len = UINT32_MAX; pl_machine_stop(); }
static void second_hello(void) { hello(); port_out(PL_VM_PORT_FLUSH); }
static void a_job(void) { frame_put(PL_FRAME_JOB, constant, 100); port_out(PL_VM_PORT_FLUSH); }
static void a_challenge(void) { frame_put(PL_FRAME_CHALLENGE, constant, 32); port_out(PL_VM_PORT_FLUSH); }
static void another_job(void) { port_out(PL_VM_PORT_RECEIVE); }
static void another_snapshot(void) { port_out(PL_VM_PORT_SNAPSHOT); }
static void sleep_negative(void) { header->sleep_ns = -1; port_out(PL_VM_PORT_SLEEP); }
static void sleep_for_ever(void) { header->sleep_ns = INT64_MAX; port_out(PL_VM_PORT_SLEEP); }
static void sleep_long(void) { header->sleep_ns = 100000000000; port_out(PL_VM_PORT_SLEEP); }
static void header_wild(void) { memset((void *)PL_VM_SHARED, 0xff, PL_VM_PAGE); port_out(PL_VM_PORT_CLOCK); }
static void result_then_output(void)
{
	uint8_t bytes[PL_GUEST_RESULT_LEN] = { 0 };

	frame_put(PL_FRAME_RESULT, bytes, sizeof bytes);
	say("late");
	port_out(PL_VM_PORT_FLUSH);
}
static void result_twice(void)
{
	uint8_t bytes[PL_GUEST_RESULT_LEN] = { 0 };

	frame_put(PL_FRAME_RESULT, bytes, sizeof bytes);
	frame_put(PL_FRAME_RESULT, bytes, sizeof bytes);
	port_out(PL_VM_PORT_FLUSH);
}
static void a_call(void)
{
	port_out(PL_VM_PORT_CALL);
	if (header->call_status != -38)
		result(98);
}

/* What never ends. */
static void loop(void) { for (;;) __asm__ volatile("" : : : "memory"); }
static void flood_flush(void) { for (;;) port_out(PL_VM_PORT_FLUSH); }
static void flood_clock(void) { for (;;) port_out(PL_VM_PORT_CLOCK); }
static void flood_call(void) { for (;;) port_out(PL_VM_PORT_CALL); }
static void flood_sleep(void) { for (;;) { header->sleep_ns = 0; port_out(PL_VM_PORT_SLEEP); } }
static void flood_large(void)
{
	for (;;) {
		out[PL_FRAME_HEADER_LEN] = PL_STREAM_STDOUT;
		pl_frame_header_print(out, PL_FRAME_OUTPUT, PL_OUTPUT_CHUNK_MAX);
		header->out_len = PL_FRAME_HEADER_LEN + PL_OUTPUT_CHUNK_MAX;
		port_out(PL_VM_PORT_FLUSH);
	}
}
static void flood_output(void) { for (;;) { say("flood"); port_out(PL_VM_PORT_FLUSH); } }

#define ATTACKS(X)                                                                                                     \
	X(port_unlisted) X(port_far) X(port_last) X(port_between) X(port_behind) X(out_byte) X(out_word) X(in_byte) X(in_long)    \
	X(rep_outs) X(rep_ins) X(rep_ins_shared) X(one_outs) X(undefined) X(breakpoint) X(int80) X(int_any) X(call_system)        \
	X(enter_system) X(halt) X(clear_interrupts) X(set_interrupts) X(load_gdt) X(load_idt) X(load_task) X(load_local)          \
	X(write_cr3) X(read_cr3) X(write_cr4) X(write_dr7) X(read_msr) X(write_msr) X(invalidate) X(invalidate_page) X(swap_gs)   \
	X(set_xcr) X(monitor_wait) X(return_to_ring0) X(far_to_ring0) X(null_stack) X(ring0_data) X(step) X(divide) X(iopl)       \
	X(unaligned_far) X(jump_nothing) X(jump_low) X(jump_far) X(read_tables) X(write_tables) X(read_task) X(write_task)        \
	X(read_state) X(read_null) X(write_text) X(write_constant) X(read_guard) X(read_beyond) X(write_beyond) X(read_4g)        \
	X(run_data) X(run_shared) X(run_stack) X(run_heap) X(endless_stack) X(length_huge) X(length_over) X(length_whole)         \
	X(length_zeros) X(length_short) X(length_crash) X(second_hello) X(a_job) X(a_challenge) X(another_job)                    \
	X(another_snapshot) X(sleep_negative) X(sleep_for_ever) X(sleep_long) X(header_wild) X(result_then_output)                \
	X(result_twice) X(a_call) X(loop) X(flood_flush) X(flood_clock) X(flood_call) X(flood_sleep) X(flood_output) X(flood_large)

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
#define X(name) { #name, name },
	ATTACKS(X)
#undef X
};

_Noreturn void pl_vm_main(void)
{
	struct pl_job job;
	uint32_t len;

	header->heap_used_end = ((uintptr_t)_end + 8191) & ~4095ul;
	port_out(PL_VM_PORT_SNAPSHOT);
	port_out(PL_VM_PORT_RECEIVE);
	hello();
	port_out(PL_VM_PORT_RECEIVE);
	len = header->in_len;
	if (len > PL_FRAME_PAYLOAD_MAX || pl_job_parse(in, len, &job) < 0)
		pl_machine_stop();
	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
		if (strlen(attacks[i].name) != job.code_len || memcmp(attacks[i].name, job.code, job.code_len) != 0)
			continue;
		say("attack\n");
		attacks[i].run();
		say("survived\n");
		result(99);
	}
	result(97);
}

__asm__(".pushsection .text.pl_vm_entry,\"ax\",@progbits\n"
	".globl pl_vm_entry\n"
	"pl_vm_entry:\n"
	"	xorl %ebp, %ebp\n"
	"	andq $-16, %rsp\n"
	"	call pl_vm_main\n"
	"	ud2\n"
	".popsection\n");
