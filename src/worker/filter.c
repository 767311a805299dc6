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

#define ARGS_MAX 2

struct argument {
	uint8_t index;
	uint32_t value; /* what it must be, exactly */
};

struct rule {
	int number;
	unsigned args_n;
	struct argument args[ARGS_MAX];
};

static const struct rule rules[] = {
	/* the stream; no out-of-band bytes, no peeking, and nothing attached, as sendmsg could */
	{ SYS_recvfrom, 2, { { 0, 0 }, { 3, 0 } } },
	{ SYS_sendto, 2, { { 0, 0 }, { 3, MSG_NOSIGNAL } } },
	/* sleeping until a timer is due, or until the host hangs up */
	{ SYS_ppoll, 0, { { 0, 0 } } },
	/* the clocks, where the kernel's page for them is not there */
	{ SYS_clock_gettime, 0, { { 0, 0 } } },
	{ SYS_gettimeofday, 0, { { 0, 0 } } },
	/* the instance's memory grows inside what is already mapped. To writable and nothing else: pages that were written and then made
	 * read-only are still there, and RLIMIT_DATA, which holds this wall's memory, no longer counts them */
	{ SYS_mprotect, 1, { { 2, PROT_READ | PROT_WRITE } } },
	/* the name that answers the challenge, and the word about dumping in HELLO */
	{ SYS_prctl, 1, { { 0, PR_SET_NAME } } },
	{ SYS_prctl, 1, { { 0, PR_GET_DUMPABLE } } },
	/* the end */
	{ SYS_exit_group, 0, { { 0, 0 } } },
};

#define RULES_N (sizeof rules / sizeof rules[0])
#define INSNS_A_RULE (3 + 2 * ARGS_MAX)
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

/* The call's number is loaded when a rule begins, and loaded again where its arguments were looked at. */
static void emit_rule(const struct rule *rule)
{
	unsigned n = rule->args_n;

	emit(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0, (uint8_t)(n ? 2 * n + 2 : 1));
	for (unsigned i = 0; i < n; i++) {
		emit_load(ARG_LOW(rule->args[i].index));
		emit(BPF_JMP | BPF_JEQ | BPF_K, rule->args[i].value, 0, (uint8_t)(2 * (n - 1 - i) + 1));
	}
	emit_return(SECCOMP_RET_ALLOW);
	if (n)
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
