/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/seccomp.h"

#include "linux/sys.h"

#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

#define STOP_TIMEOUT_NS 500000000 /* on a busy machine the task has to get its turn first */
#define STOP_SPIN_NS 300000 /* as a rule it takes some ten microseconds, less than the shortest sleep */
#define FILTERS_MAX 32
#define TRACER_STACK_LEN 65536

static int row_add(scmp_filter_ctx ctx, const struct pl_seccomp_row *row)
{
	struct scmp_arg_cmp args[PL_SECCOMP_ARG_MAX];
	int number = seccomp_syscall_resolve_name(row->call);

	if (number == __NR_SCMP_ERROR || row->args_n > PL_SECCOMP_ARG_MAX)
		return -EINVAL;
	if (number < 0)
		return 0; /* libseccomp's way to say: not on this architecture */
	for (unsigned i = 0; i < row->args_n; i++) {
		const struct pl_seccomp_arg *arg = &row->args[i];

		if (arg->mask == UINT64_MAX)
			args[i] = (struct scmp_arg_cmp){ arg->index, SCMP_CMP_EQ, arg->value, 0 };
		else
			args[i] = (struct scmp_arg_cmp){ arg->index, SCMP_CMP_MASKED_EQ, arg->mask, arg->value };
	}
	return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, number, row->args_n, args);
}

/* Through a memfd, since older libseccomps can export to a descriptor only. */
static int filter_export(scmp_filter_ctx ctx, struct sock_filter *ret_insns, size_t max)
{
	int fd = pl_sys_memfd_create("filter", 0), rc;
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	rc = seccomp_export_bpf(ctx, fd);
	if (rc == 0)
		rc = pl_sys_fstat(fd, &st);
	if (rc == 0 && (st.st_size == 0 || (size_t)st.st_size % sizeof *ret_insns))
		rc = -EPROTO;
	if (rc == 0 && (size_t)st.st_size > max * sizeof *ret_insns)
		rc = -E2BIG;
	if (rc == 0)
		n = pl_sys_pread(fd, ret_insns, (size_t)st.st_size, 0);
	if (rc == 0 && n != st.st_size)
		rc = n < 0 ? (int)n : -EIO;
	close(fd);
	return rc < 0 ? rc : (int)((size_t)n / sizeof *ret_insns);
}

int pl_seccomp_compile(const struct pl_seccomp_list *list, struct sock_filter *ret_insns, size_t max,
		       char why[PL_SECCOMP_WHY_LEN])
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = ctx ? seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) : -ENOMEM;

	snprintf(why, PL_SECCOMP_WHY_LEN, "filter %s: libseccomp could not be set up", list->name);
	for (size_t i = 0; i < list->rows_n && rc == 0; i++) {
		rc = row_add(ctx, &list->rows[i]);
		if (rc < 0)
			snprintf(why, PL_SECCOMP_WHY_LEN, "filter %s, row %s %s: %s", list->name, list->rows[i].call,
				 list->rows[i].condition, strerror(-rc));
	}
	if (rc == 0) {
		rc = filter_export(ctx, ret_insns, max);
		if (rc < 0)
			snprintf(why, PL_SECCOMP_WHY_LEN, "filter %s cannot be exported: %s", list->name, strerror(-rc));
	}
	if (ctx)
		seccomp_release(ctx);
	if (rc >= 0)
		why[0] = 0;
	return rc;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waits until the tracee stands still. ret_signal: what detaching has to hand on, since the stop may be that of a signal that
 * was just about to be delivered. */
static int stop_wait(pid_t pid, int *ret_signal)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	int64_t start = now_ns(), waited;

	for (;;) {
		int status;
		pid_t rc = pl_sys_wait4(pid, &status, __WALL | WNOHANG, NULL);

		if (rc < 0)
			return rc;
		if (rc == pid && WIFSTOPPED(status)) {
			*ret_signal = status >> 16 ? 0 : WSTOPSIG(status);
			return 0;
		}
		if (rc == pid)
			return -ESRCH;
		waited = now_ns() - start;
		if (waited > STOP_TIMEOUT_NS)
			return -ETIMEDOUT;
		if (waited < STOP_SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

struct dump {
	pid_t pid;
	unsigned which;
	struct sock_filter *insns;
	size_t max;
	unsigned filters_n;
	int rc;
};

/* The kernel counts filters from the one that was loaded first. */
static int filters_read(struct dump *dump)
{
	long n = pl_sys_ptrace(PTRACE_SECCOMP_GET_FILTER, dump->pid, dump->which, NULL), more = 0;

	if (n >= 0 && (size_t)n > dump->max)
		return -E2BIG;
	if (n >= 0)
		n = pl_sys_ptrace(PTRACE_SECCOMP_GET_FILTER, dump->pid, dump->which, dump->insns);
	if (n < 0)
		return n == -EINVAL ? -ENOENT : (int)n; /* the kernel's word for "not in that mode" */
	for (dump->filters_n = 1; dump->filters_n < FILTERS_MAX && more >= 0; dump->filters_n += more >= 0)
		more = pl_sys_ptrace(PTRACE_SECCOMP_GET_FILTER, dump->pid, dump->filters_n, NULL);
	return more >= 0 || more == -ENOENT ? (int)n : (int)more;
}

static int tracer_run(void *data)
{
	struct dump *dump = data;
	int signal = 0, rc = (int)pl_sys_ptrace(PTRACE_SEIZE, dump->pid, 0, NULL);

	if (rc == 0)
		rc = (int)pl_sys_ptrace(PTRACE_INTERRUPT, dump->pid, 0, NULL);
	if (rc == 0)
		rc = stop_wait(dump->pid, &signal);
	if (rc == 0) {
		rc = filters_read(dump);
		(void)pl_sys_ptrace(PTRACE_DETACH, dump->pid, 0, (void *)(intptr_t)signal);
	}
	dump->rc = rc; /* last: a tracer that is killed before has read nothing */
	return 0;
}

/* A task can be let go of only while it stands still, or by the end of its tracer. So the tracer is a child of ours for this one
 * look, which shares our memory and keeps us waiting until it has ended: then the task is free, come what may. */
int pl_seccomp_dump_at(pid_t pid, unsigned which, struct sock_filter *ret_insns, size_t max, unsigned *ret_filters_n)
{
	static _Alignas(64) char stack[TRACER_STACK_LEN];
	struct dump dump = { .pid = pid, .which = which, .insns = ret_insns, .max = max, .rc = -EIO };
	int tracer;

	tracer = (int)PL_SYS("clone", clone(tracer_run, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &dump));
	if (tracer < 0)
		return tracer;
	(void)pl_sys_wait4(tracer, NULL, __WALL, NULL);
	if (dump.rc >= 0)
		*ret_filters_n = dump.filters_n;
	return dump.rc;
}

int pl_seccomp_dump(pid_t pid, struct sock_filter *ret_insns, size_t max, unsigned *ret_filters_n)
{
	return pl_seccomp_dump_at(pid, 0, ret_insns, max, ret_filters_n);
}
