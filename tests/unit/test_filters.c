/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled filters, in the real kernel. To try a call without making it, a child loads the filter with one change: what would be
 * allowed fails with E2BIG instead. So a decision shows as E2BIG or EPERM, for any call and any arguments, and nothing happens.
 * The filters as they are follow after that.
 *
 *     test_filters             the tests
 *     test_filters --markdown  the lists as docs/seccomp.md shows them
 *     test_filters --check F   whether file F shows them so */
#include "linux/sys.h"
#include "wall/jail/filters.h"

#include <poll.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

#include <cmocka.h>
#include <linux/seccomp.h>

#define NUMBER_MAX 700 /* beyond the newest system call */
#define TRIES_MAX 20000
#define SEEN_ALLOWED E2BIG

static const struct pl_seccomp_list *const lists[] = { &pl_guest_calls, &pl_zygote_calls, &pl_init_calls, &pl_vmm_calls };
static struct pl_jail_filters filters;
static const struct pl_jail_filter *const compiled[] = { &filters.guest, &filters.zygote, &filters.init, &filters.vmm };

struct try {
	long number;
	unsigned long args[6];
	int expected, seen;
};

/* Shared with the child that tries. */
static struct tries {
	int n, done;
	struct try all[TRIES_MAX];
} *tries;

static int filter_load(const struct pl_jail_filter *filter)
{
	struct sock_fprog program = { .len = (unsigned short)filter->n, .filter = (struct sock_filter *)filter->insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* No core file, and none of cmocka's signal handlers: they would go on with the tests in the child. */
static void quiet_child(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	for (int sig = 1; sig < SIGRTMIN; sig++)
		signal(sig, SIG_DFL);
}

/* A child can do nothing after this but compute and die. */
static void tries_run(const struct pl_jail_filter *filter)
{
	struct pl_jail_filter changed = *filter;
	int status;
	pid_t pid;

	for (uint32_t i = 0; i < changed.n; i++)
		if (changed.insns[i].code == (BPF_RET | BPF_K) && changed.insns[i].k == SECCOMP_RET_ALLOW)
			changed.insns[i].k = SECCOMP_RET_ERRNO | SEEN_ALLOWED;
	tries->done = 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		quiet_child();
		if (filter_load(&changed) == 0) {
			for (int i = 0; i < tries->n; i++) {
				struct try *t = &tries->all[i];

				t->seen = syscall(t->number, t->args[0], t->args[1], t->args[2], t->args[3], t->args[4], t->args[5]) < 0
						  ? errno
						  : 0;
			}
			tries->done = 1;
		}
		__builtin_trap();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!tries->done)
		fail_msg("the child ended early, status %#x", status);
}

static bool row_holds(const struct pl_seccomp_row *row, const unsigned long *args)
{
	for (unsigned i = 0; i < row->args_n; i++)
		if ((args[row->args[i].index] & row->args[i].mask) != row->args[i].value)
			return false;
	return true;
}

/* What the table says, read plainly. */
static int expected(const struct pl_seccomp_list *list, long number, const unsigned long *args)
{
	for (size_t i = 0; i < list->rows_n; i++)
		if (seccomp_syscall_resolve_name(list->rows[i].call) == number && row_holds(&list->rows[i], args))
			return SEEN_ALLOWED;
	return EPERM;
}

static void try_add(const struct pl_seccomp_list *list, long number, const unsigned long *args)
{
	struct try *t = &tries->all[tries->n++];

	assert_true(tries->n <= TRIES_MAX);
	t->number = number;
	memcpy(t->args, args, sizeof t->args);
	t->expected = expected(list, number, args);
	t->seen = -1;
}

/* A row with its arguments right, and then with each bit of each of them wrong in turn. */
static void row_tries(const struct pl_seccomp_list *list, const struct pl_seccomp_row *row)
{
	unsigned long args[6] = { 0 };
	long number = seccomp_syscall_resolve_name(row->call);

	if (number < 0)
		return;
	for (unsigned i = 0; i < row->args_n; i++)
		args[row->args[i].index] = row->args[i].value;
	assert_int_equal(expected(list, number, args), SEEN_ALLOWED);
	try_add(list, number, args);
	for (unsigned i = 0; i < row->args_n; i++)
		for (unsigned bit = 0; bit < 64; bit++) {
			args[row->args[i].index] ^= 1ul << bit;
			try_add(list, number, args);
			args[row->args[i].index] ^= 1ul << bit;
		}
}

static void tries_check(const struct pl_seccomp_list *list)
{
	int allowed = 0, denied = 0;

	for (int i = 0; i < tries->n; i++) {
		const struct try *t = &tries->all[i];

		if (t->seen != t->expected)
			fail_msg("%s: call %ld (%lx, %lx, %lx, %lx, %lx): %d, wanted %d", list->name, t->number, t->args[0],
				 t->args[1], t->args[2], t->args[3], t->args[4], t->seen, t->expected);
		allowed += t->expected == SEEN_ALLOWED;
		denied += t->expected == EPERM;
	}
	print_message("%s: %d tries allowed, %d denied, as the table says\n", list->name, allowed, denied);
	assert_true(allowed >= (int)list->rows_n / 2);
	assert_true(denied > 300);
}

/* On x86-64, kernels from 6.11 on have uretprobe (335), and later ones uprobe (336): calls of the kernel's own trampolines, for which
 * newer kernels ask no filter. From anywhere else they do nothing but kill the caller with SIGILL, or fail. */
static bool never_filtered(long number)
{
	return seccomp_syscall_resolve_name("arch_prctl") >= 0 && (number == 335 || number == 336);
}

static void every_row_and_every_number(void **state)
{
	static const unsigned long zeros[6] = { 0 }, ones[6] = { ~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul };

	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		tries->n = 0;
		for (size_t row = 0; row < lists[i]->rows_n; row++)
			row_tries(lists[i], &lists[i]->rows[row]);
		for (long number = 0; number < NUMBER_MAX; number++) {
			if (never_filtered(number))
				continue;
			try_add(lists[i], number, zeros);
			try_add(lists[i], number, ones);
		}
		tries_run(compiled[i]);
		tries_check(lists[i]);
	}
}

static void every_row_has_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (size_t row = 0; row < lists[i]->rows_n; row++) {
			const struct pl_seccomp_row *r = &lists[i]->rows[row];

			assert_true(strlen(r->reason) > 5);
			assert_int_equal(r->args_n == 0, r->condition[0] == 0);
		}
}

/* Written down apart from the table, so that a row which allows too much shows. */
struct word {
	const char *call;
	unsigned long args[6];
	bool allowed[3]; /* guest, zygote, init */
};

static const struct word words[] = {
	{ "execveat", { 4, 0, 0, 0, AT_EMPTY_PATH }, { true, true, false } },
	{ "execveat", { 5, 0, 0, 0, AT_EMPTY_PATH }, { false, false, false } },
	{ "execveat", { 4, 0, 0, 0, 0 }, { false, false, false } },
	{ "execveat", { 4, 0, 0, 0, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW }, { false, false, false } },
	{ "execve", { 0 }, { false, false, false } },
	{ "mmap", { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS }, { true, true, false } },
	{ "mmap", { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS }, { false, false, false } },
	{ "mmap", { 0, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS }, { false, false, false } },
	{ "mmap", { 0, 4096, PROT_READ, MAP_PRIVATE }, { false, false, false } },
	{ "mprotect", { 0, 4096, PROT_READ | PROT_WRITE }, { true, true, false } },
	{ "mprotect", { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC }, { false, false, false } },
	{ "pkey_mprotect", { 0, 4096, PROT_EXEC }, { false, false, false } },
	{ "recvfrom", { 0 }, { true, true, false } },
	{ "recvfrom", { 3 }, { false, false, false } },
	{ "recvfrom", { 0, 0, 0, MSG_OOB }, { false, false, false } },
	{ "recvfrom", { 0, 0, 0, MSG_PEEK }, { false, false, false } },
	{ "sendmsg", { 0 }, { false, false, false } },
	{ "sendmsg", { 0, 0, MSG_NOSIGNAL }, { false, false, false } },
	{ "sendmmsg", { 0, 0, 0, MSG_NOSIGNAL }, { false, false, false } },
	{ "sendto", { 3, 0, 0, MSG_NOSIGNAL }, { false, false, true } },
	{ "sendto", { 0, 0, 0, MSG_NOSIGNAL }, { true, true, false } },
	{ "sendto", { 0, 0, 0, MSG_NOSIGNAL | MSG_OOB }, { false, false, false } },
	{ "sendto", { 0 }, { false, false, false } },
	{ "sendto", { 1, 0, 0, MSG_NOSIGNAL }, { false, false, false } },
	{ "write", { 0 }, { false, false, false } },
	{ "read", { 0 }, { false, true, false } },
	{ "recvmsg", { 0 }, { false, true, false } },
	{ "clone", { SIGCHLD | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID }, { false, true, false } },
	{ "clone", { SIGCHLD | CLONE_NEWUSER }, { false, false, false } },
	{ "clone", { CLONE_VM | CLONE_THREAD | CLONE_SIGHAND }, { false, false, false } },
	{ "clone3", { 0 }, { false, false, false } },
	{ "fork", { 0 }, { false, false, false } },
	{ "vfork", { 0 }, { false, false, false } },
	{ "unshare", { 0 }, { false, false, false } },
	{ "ptrace", { 0 }, { false, false, false } },
	{ "kill", { 0 }, { false, false, false } },
	{ "openat", { 0 }, { false, false, false } },
	{ "openat2", { 0 }, { false, false, false } },
	{ "socket", { 0 }, { false, false, false } },
	{ "io_uring_setup", { 0 }, { false, false, false } },
	{ "bpf", { 0 }, { false, false, false } },
	{ "ioctl", { 0 }, { false, false, false } },
	{ "seccomp", { SECCOMP_SET_MODE_FILTER, 0 }, { false, true, false } },
	{ "seccomp", { SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER }, { false, false, false } },
	{ "sigaltstack", { 0 }, { false, false, false } },
	{ "rt_sigaction", { SIGSEGV }, { false, false, false } },
	{ "rt_sigaction", { SIGABRT }, { false, false, false } },
	{ "rt_sigreturn", { 0 }, { false, false, false } },
	{ "prctl", { PR_SET_NAME }, { true, true, false } },
	{ "prctl", { PR_GET_DUMPABLE }, { true, true, false } },
	{ "prctl", { PR_SET_DUMPABLE, 0 }, { true, true, false } },
	{ "prctl", { PR_SET_DUMPABLE, 1 }, { false, false, false } },
	{ "prctl", { PR_SET_SECCOMP }, { false, false, false } },
	{ "prctl", { PR_SET_MM }, { false, false, false } },
	{ "prlimit64", { 0, RLIMIT_NPROC }, { false, true, false } },
	{ "prlimit64", { 1, RLIMIT_NPROC }, { false, false, false } },
	{ "prlimit64", { 0, RLIMIT_NOFILE, 0 }, { false, true, false } },
	{ "prlimit64", { 0, RLIMIT_NOFILE, 4096 }, { false, false, false } },
	{ "exit_group", { 0 }, { true, true, true } },
	{ "restart_syscall", { 0 }, { false, false, true } },
};

static void the_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof words->allowed / sizeof *words->allowed; i++) {
		tries->n = 0;
		for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
			long number = seccomp_syscall_resolve_name(words[w].call);

			assert_int_not_equal(number, __NR_SCMP_ERROR);
			if (number < 0)
				continue;
			try_add(lists[i], number, words[w].args);
			tries->all[tries->n - 1].expected = words[w].allowed[i] ? SEEN_ALLOWED : EPERM;
		}
		tries_run(compiled[i]);
		for (int t = 0; t < tries->n; t++)
			if (tries->all[t].seen != tries->all[t].expected)
				fail_msg("%s: call %ld: %d, wanted %d", lists[i]->name, tries->all[t].number, tries->all[t].seen,
					 tries->all[t].expected);
	}
}

/* The same for the monitor's, which has others' words no use for. */
static const struct {
	const char *call;
	unsigned long args[6];
	bool allowed;
} vmm_words[] = {
	{ "execveat", { 4, 0, 0, 0, AT_EMPTY_PATH }, true },
	{ "execve", { 0 }, false },
	{ "ioctl", { 7, 0xae01 }, true },                     /* KVM_CREATE_VM */
	{ "ioctl", { 2, 0xae80 }, true },                     /* KVM_RUN */
	{ "ioctl", { 1, 0x4020ae46 }, true },                 /* KVM_SET_USER_MEMORY_REGION */
	{ "ioctl", { 2, 0xffffffff8090ae81 }, true },         /* KVM_GET_REGS as a C library may pass it */
	{ "ioctl", { 1, 0xc008aeba }, false },                /* KVM_MEMORY_ENCRYPT_OP */
	{ "ioctl", { 1, 0xc00caee0 }, false },                /* KVM_CREATE_DEVICE */
	{ "ioctl", { 1, 0x4040ae79 }, false },                /* KVM_IOEVENTFD */
	{ "ioctl", { 1, 0xae60 }, false },                    /* KVM_CREATE_IRQCHIP */
	{ "ioctl", { 2, 0x4008ae89 }, false },                /* KVM_SET_MSRS */
	{ "ioctl", { 0, 0x5413 }, false },                    /* TIOCGWINSZ */
	{ "mmap", { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED }, true },
	{ "mmap", { 0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED }, false },
	{ "mprotect", { 0, 4096, PROT_EXEC }, false },
	{ "kill", { 2, SIGSTOP }, true },
	{ "kill", { 2, SIGKILL }, false },
	{ "kill", { 0 }, false },
	{ "rt_sigaction", { SIGALRM }, true },
	{ "rt_sigaction", { SIGSEGV }, false },
	{ "recvfrom", { 6, 0, 0, MSG_TRUNC }, true },
	{ "recvfrom", { 0 }, true },
	{ "recvfrom", { 0, 0, 0, MSG_OOB }, false },
	{ "sendto", { 6, 0, 0, MSG_NOSIGNAL }, true },
	{ "sendto", { 0, 0, 0, MSG_NOSIGNAL }, true },
	{ "sendto", { 1, 0, 0, MSG_NOSIGNAL }, false },
	{ "sendmsg", { 0 }, false },
	{ "openat", { 0 }, false },
	{ "clone", { SIGCHLD }, false },
	{ "clone3", { 0 }, false },
	{ "memfd_create", { 0 }, false },
	{ "io_uring_setup", { 0 }, false },
};

static void the_monitors_words(void **state)
{
	(void)state;
	tries->n = 0;
	for (size_t w = 0; w < sizeof vmm_words / sizeof *vmm_words; w++) {
		long number = seccomp_syscall_resolve_name(vmm_words[w].call);

		assert_int_not_equal(number, __NR_SCMP_ERROR);
		if (number < 0)
			continue;
		try_add(&pl_vmm_calls, number, vmm_words[w].args);
		tries->all[tries->n - 1].expected = vmm_words[w].allowed ? SEEN_ALLOWED : EPERM;
	}
	tries_run(&filters.vmm);
	for (int t = 0; t < tries->n; t++)
		if (tries->all[t].seen != tries->all[t].expected)
			fail_msg("vmm: call %ld, %lx: %d, wanted %d", tries->all[t].number, tries->all[t].args[1], tries->all[t].seen,
				 tries->all[t].expected);
}

/* --- the filters as they are ----------------------------------------------------------------------------------------- */

static int child_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Descriptor 0 is a socket, 4 an image: what the launcher leaves to a guest. */
static void place(int stream_fd, int image_fd)
{
	if (dup2(stream_fd, 0) != 0 || (image_fd >= 0 && dup2(image_fd, PL_LAUNCH_IMAGE_FD) != PL_LAUNCH_IMAGE_FD))
		_exit(98);
	syscall(SYS_close_range, image_fd >= 0 ? PL_LAUNCH_IMAGE_FD + 1 : 1, ~0u, 0);
}

#define CHECK(condition)                                                                                               \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			syscall(SYS_exit_group, __LINE__ % 200 + 1);                                                               \
	} while (0)
#define REFUSED(call) ((call) < 0 && errno == EPERM)

static void guest_really(int stream_fd)
{
	struct msghdr msg = { 0 };
	void *page;
	char byte;

	place(stream_fd, -1);
	if (filter_load(&filters.guest) < 0)
		_exit(97);
	CHECK(recv(0, &byte, 1, 0) == 1 && byte == 'a');
	CHECK(send(0, &byte, 1, MSG_NOSIGNAL) == 1);
	CHECK(REFUSED(send(0, &byte, 1, MSG_NOSIGNAL | MSG_OOB)));
	CHECK(REFUSED(sendmsg(0, &msg, MSG_NOSIGNAL)));
	page = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	*(volatile char *)page = 1;
	CHECK(REFUSED(mprotect(page, 4096, PROT_READ | PROT_EXEC)));
	CHECK(mprotect(page, 4096, PROT_READ) == 0);
	CHECK(munmap(page, 4096) == 0);
	CHECK(prctl(PR_SET_NAME, "renamed") == 0);
	CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
	CHECK(REFUSED(prctl(PR_SET_DUMPABLE, 1)));
	CHECK(REFUSED(syscall(SYS_write, 0, &byte, 1)));
	CHECK(REFUSED(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY)));
	CHECK(REFUSED(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)));
	CHECK(REFUSED(syscall(SYS_getpid)));
	CHECK(REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
	CHECK(REFUSED(syscall(SYS_clone3, NULL, 0)));
	CHECK(REFUSED(syscall(SYS_kill, 0, 0)));
	syscall(SYS_exit_group, 0);
}

static void guest_filter_as_it_is(void **state)
{
	int fds[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0)
		guest_really(fds[1]);
	close(fds[1]);
	assert_int_equal(send(fds[0], "a", 1, 0), 1);
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(recv(fds[0], &byte, 1, 0), 1);
	close(fds[0]);
}

static void zygote_filter_forks_and_stacks(void **state)
{
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		place(fds[1], -1);
		if (filter_load(&filters.zygote) < 0)
			_exit(97);
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			const struct rlimit one = { 1, 1 };

			CHECK(getppid() > 0);
			CHECK(syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &one, NULL) == 0);
			CHECK(filter_load(&filters.guest) == 0);
			CHECK(REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
			CHECK(REFUSED(syscall(SYS_getppid)));
			syscall(SYS_exit_group, 7);
		}
		CHECK(wait4(pid, &status, 0, NULL) == pid && WEXITSTATUS(status) == 7);
		CHECK(REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)));
		syscall(SYS_exit_group, 0);
	}
	assert_int_equal(child_status(pid), 0);
	close(fds[0]);
	close(fds[1]);
}

#if defined(__x86_64__)

/* A whole program: exit_group(42). */
static const unsigned char tiny_elf[] = {
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 62, 0, 1, 0, 0, 0, 0x78, 0, 0x40, 0, 0, 0, 0, 0,
	64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0,
	0x84, 0, 0, 0, 0, 0, 0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
	0xbf, 42, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05,
};

static void only_the_image_is_executed(void **state)
{
	char *const argv[] = { (char *)"tiny", NULL }, *const envp[] = { NULL };
	int image = pl_sys_memfd_create("tiny", 0), fds[2];
	pid_t pid;

	(void)state;
	assert_true(image >= 0);
	assert_int_equal(write(image, tiny_elf, sizeof tiny_elf), sizeof tiny_elf);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		place(fds[1], image);
		if (dup2(PL_LAUNCH_IMAGE_FD, 6) != 6 || filter_load(&filters.guest) < 0)
			_exit(97);
		CHECK(REFUSED(syscall(SYS_execveat, 6, "", argv, envp, AT_EMPTY_PATH)));
		CHECK(REFUSED(syscall(SYS_execve, "/bin/true", argv, envp)));
		syscall(SYS_execveat, PL_LAUNCH_IMAGE_FD, "", argv, envp, AT_EMPTY_PATH);
		syscall(SYS_exit_group, 1);
	}
	assert_int_equal(WEXITSTATUS(child_status(pid)), 42);
	close(image);
	close(fds[0]);
	close(fds[1]);
}

static void x32_call(void)
{
	syscall(0x40000000 + SYS_exit_group, 0);
}

static void i386_call(void)
{
	/* 252 is exit_group there */
	__asm__ volatile("int $0x80" : : "a"(252), "b"(0) : "memory", "r8", "r9", "r10", "r11");
}

static void other_architectures_kill(void **state)
{
	static void (*const calls[])(void) = { x32_call, i386_call };

	(void)state;
	for (size_t f = 0; f < 3; f++)
		for (size_t i = 0; i < 2; i++) {
			pid_t pid = fork();
			int status;

			if (pid == 0) {
				quiet_child();
				if (filter_load(compiled[f]) == 0)
					calls[i]();
				syscall(SYS_exit_group, 1);
			}
			status = child_status(pid);
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), SIGSYS);
		}
}

#else

static void only_the_image_is_executed(void **state)
{
	(void)state;
	print_message("SKIPPED: no tiny program for this architecture\n");
	skip();
}

static void other_architectures_kill(void **state)
{
	(void)state;
	print_message("SKIPPED: no foreign call is known for this architecture\n");
	skip();
}

#endif

/* --- reading them back ------------------------------------------------------------------------------------------------ */

static int tracer_of(pid_t pid)
{
	char path[64], line[256];
	int tracer = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file))
		sscanf(line, "TracerPid: %d", &tracer);
	if (file)
		fclose(file);
	return tracer;
}

static bool may_dump(void)
{
	struct sock_filter insn;
	unsigned n;
	pid_t pid = fork();
	int rc;

	if (pid == 0)
		for (;;)
			pause();
	rc = pl_seccomp_dump(pid, &insn, 1, &n);
	kill(pid, SIGKILL);
	child_status(pid);
	if (rc == -ENOENT)
		return true;
	assert_true(rc == -EPERM || rc == -EACCES);
	print_message("only root in the initial user namespace can read filters back; refused with: %s\n", strerror(-rc));
	return false;
}

static void blocked_in_recv(void)
{
	char byte;

	while (recv(0, &byte, 1, 0) == 1)
		;
	syscall(SYS_exit_group, 5);
}

static void blocked_in_ppoll(void)
{
	struct pollfd fd = { .fd = 0, .events = POLLIN };

	/* Without a signal handler an interrupted ppoll goes on by itself. */
	syscall(SYS_exit_group, ppoll(&fd, 1, NULL, NULL) == 1 ? 5 : 1);
}

static void blocked_in_poll(void)
{
	struct pollfd fd = { .fd = 0, .events = POLLIN };

	syscall(SYS_exit_group, poll(&fd, 1, -1) == 1 ? 5 : 1);
}

static void dump_check(const struct pl_jail_filter *filter, void (*block)(void), unsigned stacked)
{
	static struct sock_filter insns[PL_JAIL_FILTER_MAX];
	const struct timespec pause_a_little = { .tv_nsec = 20000000 };
	struct timespec a, b;
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	if (pid == 0) {
		place(fds[1], -1);
		for (unsigned i = 0; i < stacked; i++)
			if (filter_load(filter) < 0)
				_exit(97);
		block();
	}
	close(fds[1]);
	nanosleep(&pause_a_little, NULL);
	for (int round = 0; round < 3; round++) {
		unsigned n = 0;

		memset(insns, 0, sizeof insns);
		clock_gettime(CLOCK_MONOTONIC, &a);
		assert_int_equal(pl_seccomp_dump(pid, insns, PL_JAIL_FILTER_MAX, &n), filter->n);
		clock_gettime(CLOCK_MONOTONIC, &b);
		assert_int_equal(n, stacked);
		assert_memory_equal(insns, filter->insns, filter->n * sizeof *insns);
		assert_int_equal(tracer_of(pid), 0);
		assert_int_equal(pl_seccomp_dump(pid, insns, filter->n - 1, &n), -E2BIG);
	}
	print_message("%u instructions read in %ld us\n", filter->n, (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000);
	close(fds[0]);
	assert_int_equal(WEXITSTATUS(child_status(pid)), 5); /* it went on as if nothing had been */
}

static void dump_equals_compiled(void **state)
{
	(void)state;
	if (!may_dump())
		return;
	dump_check(&filters.guest, blocked_in_recv, 1);
	dump_check(&filters.guest, blocked_in_ppoll, 1);
	dump_check(&filters.init, blocked_in_poll, 1);
	dump_check(&filters.zygote, blocked_in_ppoll, 2);
}

/* A task in the middle of vfork cannot be stopped. It is let go of all the same. */
static void dump_gives_up_in_time(void **state)
{
	const struct timespec pause_a_little = { .tv_nsec = 20000000 };
	struct sock_filter insn;
	struct timespec a, b;
	unsigned n;
	pid_t pid;

	(void)state;
	if (!may_dump())
		return;
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		if (vfork() == 0)
			for (;;)
				pause();
		_exit(0);
	}
	nanosleep(&pause_a_little, NULL);
	clock_gettime(CLOCK_MONOTONIC, &a);
	assert_int_equal(pl_seccomp_dump(pid, &insn, 1, &n), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 200);
	assert_int_equal(tracer_of(pid), 0);
	kill(-pid, SIGKILL);
	child_status(pid);
	assert_int_equal(pl_seccomp_dump(pid, &insn, 1, &n), -ESRCH);
}

static void dump_refuses_a_traced_task(void **state)
{
	struct sock_filter insn;
	unsigned n;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		for (;;)
			pause();
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(pl_seccomp_dump(pid, &insn, 1, &n), -EPERM);
	assert_int_equal(tracer_of(pid), getpid());
	kill(pid, SIGKILL);
	child_status(pid);
}

static int set_up(void **state)
{
	(void)state;
	tries = mmap(NULL, sizeof *tries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return tries == MAP_FAILED ? -1 : pl_jail_filters_compile(&filters);
}

static void markdown(FILE *out)
{
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		fprintf(out, "%s## %s\n\n%s.\n\n| call | if | why |\n| --- | --- | --- |\n", i ? "\n" : "", lists[i]->name,
			lists[i]->about);
		for (size_t row = 0; row < lists[i]->rows_n; row++)
			fprintf(out, "| `%s` | %s | %s |\n", lists[i]->rows[row].call, lists[i]->rows[row].condition,
				lists[i]->rows[row].reason);
	}
}

static int markdown_check(const char *path)
{
	static char page[65536];
	char *wanted = NULL;
	size_t wanted_len = 0;
	FILE *file = fopen(path, "re"), *out = open_memstream(&wanted, &wanted_len);
	int rc = 1;

	if (file && out && fread(page, 1, sizeof page - 1, file) > 0) {
		markdown(out);
		fflush(out);
		rc = !strstr(page, wanted);
	}
	if (rc)
		fprintf(stderr, "%s does not show the lists of wall/jail/filters.c; print them with --markdown\n", path);
	if (file)
		fclose(file);
	if (out)
		fclose(out);
	free(wanted);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_a_reason),
		cmocka_unit_test(every_row_and_every_number),
		cmocka_unit_test(the_words),
		cmocka_unit_test(the_monitors_words),
		cmocka_unit_test(guest_filter_as_it_is),
		cmocka_unit_test(zygote_filter_forks_and_stacks),
		cmocka_unit_test(only_the_image_is_executed),
		cmocka_unit_test(other_architectures_kill),
		cmocka_unit_test(dump_equals_compiled),
		cmocka_unit_test(dump_gives_up_in_time),
		cmocka_unit_test(dump_refuses_a_traced_task),
	};

	if (argc == 2 && strcmp(argv[1], "--markdown") == 0) {
		markdown(stdout);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--check") == 0)
		return markdown_check(argv[2]);
	return cmocka_run_group_tests(tests, set_up, NULL);
}
