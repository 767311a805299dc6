/* SPDX-License-Identifier: Apache-2.0 */
/* on_processes: other processes: ending, tracing, reading, slowing them, and making more. Arguments are a pid of the host's and, where
 * memory is meant, an address in it. */
#include "escape/hostile.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PID(argv) (pid_t) hostile_number((argv)[1])

static long kill_9(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_kill, PID(argv), SIGKILL);
}

static long kill_0(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_kill, PID(argv), 0);
}

static long tgkill_9(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_tgkill, PID(argv), PID(argv), SIGKILL);
}

static long pidfd_open_(int argc, char **argv)
{
	(void)argc;
	return hostile_got(SYS(SYS_pidfd_open, PID(argv), 0));
}

static long pidfd_send_signal_(int argc, char **argv)
{
	long fd = SYS(SYS_pidfd_open, PID(argv), 0), r;

	(void)argc;
	r = SYS(SYS_pidfd_send_signal, fd < 0 ? 0 : fd, SIGKILL, NULL, 0);
	(void)hostile_got(fd);
	return r;
}

static long pidfd_getfd_(int argc, char **argv)
{
	long fd = SYS(SYS_pidfd_open, PID(argv), 0), r;

	(void)argc;
	r = hostile_got(SYS(SYS_pidfd_getfd, fd < 0 ? 0 : fd, 0, 0));
	(void)hostile_got(fd);
	return r;
}

static long ptrace_seize(int argc, char **argv)
{
	long r = SYS(SYS_ptrace, PTRACE_SEIZE, PID(argv), 0, 0);

	(void)argc;
	return r; /* it ends with us */
}

static long ptrace_me(int argc, char **argv)
{
	(void)argc, (void)argv;
	return SYS(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
}

static long vm_copy(long call, char **argv, const char *text)
{
	static char mine[32];
	struct iovec local = { mine, sizeof mine }, remote = { (void *)hostile_number(argv[2]), sizeof mine };
	long r;

	memcpy(mine, text, strlen(text) + 1);
	r = SYS(call, PID(argv), &local, 1, &remote, 1, 0);
	if (r > 0 && call == SYS_process_vm_readv && strcmp(mine, "the canary's secret") != 0)
		return -EIO;
	return r;
}

static long vm_readv(int argc, char **argv)
{
	(void)argc;
	return vm_copy(SYS_process_vm_readv, argv, "");
}

static long vm_writev(int argc, char **argv)
{
	(void)argc;
	return vm_copy(SYS_process_vm_writev, argv, "overwritten");
}

static long madvise_other(int argc, char **argv)
{
	long fd = SYS(SYS_pidfd_open, PID(argv), 0), r;
	struct iovec range = { (void *)(hostile_number(argv[2]) & ~4095ul), 4096 };

	(void)argc;
	r = SYS(SYS_process_madvise, fd < 0 ? 0 : fd, &range, 1, MADV_COLD, 0);
	(void)hostile_got(fd);
	return r;
}

static long setpriority_(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_setpriority, PRIO_PROCESS, PID(argv), 10);
}

static long setaffinity(int argc, char **argv)
{
	unsigned long mask[16] = { 1 };

	(void)argc;
	return SYS(SYS_sched_setaffinity, PID(argv), sizeof mask, mask);
}

static long setscheduler(int argc, char **argv)
{
	struct sched_param param = { 0 };

	(void)argc;
	return SYS(SYS_sched_setscheduler, PID(argv), SCHED_BATCH, &param);
}

static long prlimit_other(int argc, char **argv)
{
	struct rlimit limit = { 7, 7 };

	(void)argc;
	return SYS(SYS_prlimit64, PID(argv), RLIMIT_NOFILE, &limit, NULL);
}

static long prlimit_self(int argc, char **argv)
{
	struct rlimit limit = { 64, 64 };

	(void)argc, (void)argv;
	return SYS(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

static long kcmp_(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_kcmp, PID(argv), PID(argv), 0, 0, 0);
}

static long getpgid_(int argc, char **argv)
{
	(void)argc;
	return SYS(SYS_getpgid, PID(argv));
}

static long child_end(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
	return pid;
}

static long fork_(int argc, char **argv)
{
	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static long vfork_(int argc, char **argv)
{
	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
}

static long clone3_(int argc, char **argv)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone3, &args, sizeof args));
}

static int thread_main(void *unused)
{
	(void)unused;
	_exit(0);
}

static long thread(int argc, char **argv)
{
	static _Alignas(64) char stack[16384];
	int pid = clone(thread_main, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, NULL);

	(void)argc, (void)argv;
	if (pid < 0)
		return -errno;
	(void)waitpid(pid, NULL, __WALL);
	return 0;
}

/* The probe's own program once more, which then says that it succeeded. */
static long execve_(int argc, char **argv)
{
	char *args[] = { argv[0], "say", NULL }, *none[] = { NULL };

	(void)argc;
	return SYS(SYS_execve, argv[1], args, none);
}

/* Descriptor 4 is what the filter lets the launcher execute. It has closed with that, and nothing may be put in its place. */
static long execveat_4(int argc, char **argv)
{
	char *args[] = { argv[0], "say", NULL }, *none[] = { NULL };
	long fd = SYS(SYS_open, argv[1], 0, 0);

	(void)argc;
	if (fd >= 0)
		(void)SYS(SYS_dup2, fd, 4);
	return SYS(SYS_execveat, 4, "", args, none, 0x1000 /* AT_EMPTY_PATH */);
}

static long setsid_(int argc, char **argv)
{
	(void)argc, (void)argv;
	return SYS(SYS_setpgid, 0, 0);
}

const struct probe process_probes[] = {
	{ "kill", kill_9 },
	{ "kill-0", kill_0 },
	{ "tgkill", tgkill_9 },
	{ "pidfd_open", pidfd_open_ },
	{ "pidfd_send_signal", pidfd_send_signal_ },
	{ "pidfd_getfd", pidfd_getfd_ },
	{ "ptrace-seize", ptrace_seize },
	{ "ptrace-traceme", ptrace_me },
	{ "process_vm_readv", vm_readv },
	{ "process_vm_writev", vm_writev },
	{ "process_madvise", madvise_other },
	{ "setpriority", setpriority_ },
	{ "sched_setaffinity", setaffinity },
	{ "sched_setscheduler", setscheduler },
	{ "prlimit-other", prlimit_other },
	{ "prlimit-self", prlimit_self },
	{ "kcmp", kcmp_ },
	{ "getpgid", getpgid_ },
	{ "setpgid", setsid_ },
	{ "fork", fork_ },
	{ "vfork", vfork_ },
	{ "clone3", clone3_ },
	{ "thread", thread },
	{ "execve", execve_ },
	{ "execveat-4", execveat_4 },
	{ NULL, NULL },
};
