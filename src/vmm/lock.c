/* SPDX-License-Identifier: Apache-2.0 */
/* lock: see lock.h. A table with a reason a rule, turned into instructions by hand: it must be the same bytes in two programs,
 * one of which has no room for a library. */
#include "vmm/lock.h"

#include "wire/jail.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define ANY (-1) /* whatever the arguments are */

struct rule {
	int number;
	int argument; /* its lower half has to be value */
	uint32_t value;
	uint32_t otherwise; /* what becomes of a call with another */
};

#define DENY (SECCOMP_RET_ERRNO | EPERM)

static const struct rule rules[] = {
	{ SYS_ioctl, 1, (uint32_t)KVM_RUN, SECCOMP_RET_KILL_PROCESS }, /* the machine runs */
	{ SYS_sendto, 0, PL_GUEST_STREAM_FD, DENY },                  /* what it says */
	{ SYS_recvfrom, 0, PL_GUEST_STREAM_FD, DENY },                /* challenge and job */
	{ SYS_ppoll, ANY, 0, 0 },                                     /* it sleeps */
	{ SYS_clock_gettime, ANY, 0, 0 },                             /* the clocks, where the kernel's page for them is not there */
	{ SYS_rt_sigreturn, ANY, 0, 0 },                              /* the deadline came */
	{ SYS_getpid, ANY, 0, 0 },                                    /* ... and the monitor stops */
	{ SYS_kill, 1, SIGSTOP, DENY },                               /* ... itself */
	{ SYS_restart_syscall, ANY, 0, 0 },                           /* the kernel's own, after it was looked at */
	{ SYS_exit_group, ANY, 0, 0 },                                /* the end */
};

#define DATA(field) ((uint32_t)offsetof(struct seccomp_data, field))

struct program {
	struct sock_filter *insns;
	unsigned n;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jump_true, uint8_t jump_false)
{
	p->insns[p->n++] = (struct sock_filter){ .code = code, .jt = jump_true, .jf = jump_false, .k = k };
}

static void rule_emit(struct program *p, const struct rule *rule)
{
	if (rule->argument == ANY) {
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0, 1);
		emit(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		return;
	}
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0, 4);
	emit(p, BPF_LD | BPF_W | BPF_ABS, DATA(args) + 8u * (uint32_t)rule->argument, 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1);
	emit(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit(p, BPF_RET | BPF_K, rule->otherwise, 0, 0);
}

_Static_assert(4 + sizeof rules / sizeof *rules * 5 + 1 <= PL_VMM_LOCK_MAX, "the filter fits");

unsigned pl_vmm_lock_compile(struct sock_filter ret[PL_VMM_LOCK_MAX])
{
	struct program p = { .insns = ret };

	emit(&p, BPF_LD | BPF_W | BPF_ABS, DATA(arch), 0, 0);
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	emit(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	emit(&p, BPF_LD | BPF_W | BPF_ABS, DATA(nr), 0, 0);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		rule_emit(&p, &rules[i]);
	emit(&p, BPF_RET | BPF_K, DENY, 0, 0);
	return p.n;
}
