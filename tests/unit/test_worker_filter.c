/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's own filter, in the real kernel: what it lets through, what it refuses, and that the wall's memory limit, RLIMIT_DATA,
 * cannot be got round behind it. */
#include "linux/sys.h"
#include "worker/filter.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <time.h>

#include <cmocka.h>

#define MIB (1ul << 20)
#define RESERVED (512 * MIB)
#define PART (16 * MIB)
#define ALLOWED (64 * MIB)

#define CHECK(condition)                                                                                               \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			syscall(SYS_exit_group, __LINE__ % 200 + 1);                                                               \
	} while (0)
#define REFUSED(call) ((call) < 0 && errno == EPERM)

/* Runs it in a child whose descriptor 0 is a stream that has one byte to read; the child's exit code. */
static int in_worker(void (*run)(void))
{
	int fds[2], status;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[0], "a", 1, 0), 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		for (int sig = 1; sig < SIGRTMIN; sig++)
			signal(sig, SIG_DFL);
		if (dup2(fds[1], 0) != 0)
			_exit(250);
		run();
		syscall(SYS_exit_group, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fds[0]);
	close(fds[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void what_a_worker_does(void)
{
	struct timespec now, none = { 0, 0 };
	struct pollfd stream = { .fd = 0, .events = POLLIN };
	char byte;

	CHECK(pl_filter_load() == 0);
	CHECK(syscall(SYS_ppoll, &stream, 1, &none, NULL, 8) == 1);
	CHECK(recv(0, &byte, 1, 0) == 1 && byte == 'a');
	CHECK(send(0, &byte, 1, MSG_NOSIGNAL) == 1);
	CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);
	CHECK(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_DUMPABLE) >= 0);
}

static void what_is_refused(void)
{
	struct msghdr msg = { 0 };
	char byte = 0;

	CHECK(pl_filter_load() == 0);
	CHECK(REFUSED(send(0, &byte, 1, MSG_NOSIGNAL | MSG_OOB)));
	CHECK(REFUSED(send(0, &byte, 1, 0)));
	CHECK(REFUSED(send(1, &byte, 1, MSG_NOSIGNAL)));
	CHECK(REFUSED(recv(0, &byte, 1, MSG_OOB)));
	CHECK(REFUSED(recv(0, &byte, 1, MSG_PEEK)));
	CHECK(REFUSED(recv(1, &byte, 1, 0)));
	CHECK(REFUSED(sendmsg(0, &msg, MSG_NOSIGNAL)));
	CHECK(REFUSED(recvmsg(0, &msg, 0)));
	CHECK(REFUSED(syscall(SYS_write, 0, &byte, 1)));
	CHECK(REFUSED(syscall(SYS_read, 0, &byte, 1)));
	CHECK(REFUSED(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY)));
	CHECK(REFUSED(syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0)));
	CHECK(REFUSED(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
	CHECK(REFUSED(syscall(SYS_kill, 0, 0)));
	CHECK(REFUSED(syscall(SYS_ptrace, PTRACE_PEEKDATA, 0, NULL, NULL)));
	CHECK(REFUSED(syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
	CHECK(REFUSED(syscall(SYS_munmap, NULL, 4096)));
	CHECK(REFUSED(prctl(PR_SET_DUMPABLE, 1)));
	CHECK(REFUSED(prctl(PR_SET_PDEATHSIG, 0)));
	CHECK(REFUSED(prctl(PR_SET_SECCOMP, 0)));
}

/* Fills part after part, and takes the right to write away behind itself: such pages are held, and not counted as data any more. */
static void more_memory_than_its_limit(void)
{
	const struct rlimit limit = { ALLOWED, ALLOWED };
	char *at = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t held = 0;

	CHECK(at != MAP_FAILED && pl_sys_prlimit(0, RLIMIT_DATA, &limit, NULL) == 0 && pl_filter_load() == 0);
	for (; held < RESERVED && mprotect(at + held, PART, PROT_READ | PROT_WRITE) == 0; held += PART) {
		for (size_t i = 0; i < PART; i += 4096)
			at[held + i] = 1;
		CHECK(REFUSED(mprotect(at + held, PART, PROT_READ)));
		CHECK(REFUSED(mprotect(at + held, PART, PROT_NONE)));
		CHECK(REFUSED(mprotect(at + held, PART, PROT_READ | PROT_EXEC)));
		CHECK(REFUSED(mprotect(at + held, PART, PROT_READ | PROT_WRITE | PROT_EXEC)));
	}
	CHECK(held > 0 && held <= ALLOWED);
}

static void a_worker_does_its_work(void **state)
{
	(void)state;
	assert_int_equal(in_worker(what_a_worker_does), 0);
}

static void everything_else_is_refused(void **state)
{
	(void)state;
	assert_int_equal(in_worker(what_is_refused), 0);
}

static void memory_stays_within_its_limit(void **state)
{
	(void)state;
	assert_int_equal(in_worker(more_memory_than_its_limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_does_its_work),
		cmocka_unit_test(everything_else_is_refused),
		cmocka_unit_test(memory_stays_within_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
