/* SPDX-License-Identifier: Apache-2.0 */
/* filter: see filter.h. A table with a reason a rule, turned into BPF by hand: a worker forks, so the library that would do it
 * would cost every zygote its memory.
 *
 * Whatever is not listed gets EPERM. That denies, without naming them, clone, fork, exec, kill, ptrace, open, socket and all
 * that a later kernel may bring. A call of another architecture kills. */
#include "worker/filter.h"

#include "linux/sys.h"
#include "worker/arch.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

enum argument_rule {
	ANY,	       /* whatever the arguments are */
	NOT_EXECUTABLE, /* argument 2, a protection, without PROT_EXEC */
	ARG0_IS,       /* argument 0 is exactly `value` */
};

struct rule {
	int number;
	enum argument_rule argument;
	uint32_t value;
};

static const struct rule rules[] = {
	/* the stream */
	{ SYS_recvfrom, ARG0_IS, 0 },
	{ SYS_sendmsg, ARG0_IS, 0 },
	/* sleeping until a timer is due, or until the host hangs up */
	{ SYS_ppoll, ANY, 0 },
	/* the clocks, where the kernel's page for them is not there */
	{ SYS_clock_gettime, ANY, 0 },
	{ SYS_gettimeofday, ANY, 0 },
	/* the instance's memory grows inside what is already mapped */
	{ SYS_mprotect, NOT_EXECUTABLE, 0 },
	/* the name that answers the challenge, and the word about dumping in HELLO */
	{ SYS_prctl, ARG0_IS, PR_SET_NAME },
	{ SYS_prctl, ARG0_IS, PR_GET_DUMPABLE },
	/* the end */
	{ SYS_exit_group, ANY, 0 },
};

#define RULES_N (sizeof rules / sizeof rules[0])
#define INSNS_A_RULE 5
#define INSNS_MAX (4 + RULES_N * INSNS_A_RULE + 1)

#define DATA(field) ((uint32_t)offsetof(struct seccomp_data, field))
/* The lower half of an argument; the upper halves do not matter to the kernel for these. */
#define ARG_LOW(i) (DATA(args) + 8u * (i))

static struct sock_filter insns[INSNS_MAX];
static unsigned short insns_n;

static void emit(uint16_t code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
	insns[insns_n++] = (struct sock_filter){ .code = code, .jt = jump_true, .jf = jump_false, .k = k };
}

static void emit_load(uint32_t offset)
{
	emit(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void emit_return(uint32_t action)
{
	emit(BPF_RET | BPF_K, action, 0, 0);
}

/* The call's number is loaded when a rule begins, and loaded again where its argument was looked at. */
static void emit_rule(const struct rule *rule)
{
	if (rule->argument == ANY) {
		emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0, 1);
		emit_return(SECCOMP_RET_ALLOW);
		return;
	}
	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0, 4);
	if (rule->argument == NOT_EXECUTABLE) {
		emit_load(ARG_LOW(2));
		emit(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
	} else {
		emit_load(ARG_LOW(0));
		emit(BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1);
	}
	emit_return(SECCOMP_RET_ALLOW);
	emit_load(DATA(nr));
}

static void emit_all(void)
{
	insns_n = 0;
	emit_load(DATA(arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, PL_WORKER_AUDIT_ARCH, 1, 0);
	emit_return(SECCOMP_RET_KILL_PROCESS);
	emit_load(DATA(nr));
	for (size_t i = 0; i < RULES_N; i++)
		emit_rule(&rules[i]);
	emit_return(SECCOMP_RET_ERRNO | EPERM);
}

int pl_filter_load(void)
{
	struct sock_fprog program = { .filter = insns };
	int r;

	emit_all();
	program.len = insns_n;
	r = pl_sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (r < 0)
		return r;
	return (int)PL_SYS("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}
