/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: lists of allowed system calls made into filters, and the filters that a task really has loaded.
 * Called by the supervisor: compiled once at its start, read back for every sandbox. The lists are ours (wall/jail/filters). */
#ifndef PL_LINUX_SECCOMP_H
#define PL_LINUX_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PL_SECCOMP_ARG_MAX 2
#define PL_SECCOMP_WHY_LEN 256

/* Holds if (argument number index & mask) == value. */
struct pl_seccomp_arg {
	unsigned index;
	uint64_t mask;
	uint64_t value;
};

/* One call that is allowed if all of its args hold. Several rows of one call: any of them. A call that the machine's
 * architecture does not have is passed over. */
struct pl_seccomp_row {
	const char *call;
	unsigned args_n;
	struct pl_seccomp_arg args[PL_SECCOMP_ARG_MAX];
	const char *condition; /* the args for a reader; "" if there is none */
	const char *reason;
};

struct pl_seccomp_list {
	const char *name;
	const char *about;
	const struct pl_seccomp_row *rows;
	size_t rows_n;
};

/* Compiles: rows are allowed, everything else fails with EPERM, calls of another architecture (x32 too) kill the process.
 * Returns the number of instructions written to ret_insns; -E2BIG: more than max. why names the row that failed. */
int pl_seccomp_compile(const struct pl_seccomp_list *list, struct sock_filter *ret_insns, size_t max,
		       char why[PL_SECCOMP_WHY_LEN]);

/* Reads a filter of a task, counted from the one that it loaded first: its instructions go to ret_insns, their number is returned, and *ret_filters_n says
 * how many filters there are in all. The task is interrupted for a moment, also in the middle of a system call, which the kernel
 * then takes up again.
 *
 * -EPERM, -EACCES: needs CAP_SYS_ADMIN in the initial user namespace, no filter of the caller's own, and no other tracer.
 * -ENOENT: no filter. -EMEDIUMTYPE: not one of the classic kind. -E2BIG: more than max instructions. -ESRCH: the task has ended.
 * -ETIMEDOUT: it did not stop within 50 ms, the longest that this takes (a task that a v1 freezer holds does not). Whatever
 * the result, the task is not traced afterwards. */
int pl_seccomp_dump_at(pid_t pid, unsigned which, struct sock_filter *ret_insns, size_t max, unsigned *ret_filters_n);
/* The first one: which is 0. */
int pl_seccomp_dump(pid_t pid, struct sock_filter *ret_insns, size_t max, unsigned *ret_filters_n);

#endif
