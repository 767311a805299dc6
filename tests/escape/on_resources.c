/* SPDX-License-Identifier: Apache-2.0 */
/* on_resources: more than one's share: of tasks, memory, files, descriptors, time and output. Outside each gets what it asks for. */
#include "escape/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1ul << 20)

/* argv[1] tasks at once; outside they end at once as well. */
static long forks(int argc, char **argv)
{
	unsigned long n = hostile_number(argv[1]), done = 0;
	long pid = 0;

	(void)argc;
	for (unsigned long i = 0; i < n && pid >= 0; i++) {
		pid = SYS(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0) {
			usleep(100000);
			_exit(0);
		}
		done += pid > 0;
	}
	while (done--)
		(void)wait(NULL);
	return pid;
}

/* argv[1] MiB, really used. */
static long memory(int argc, char **argv)
{
	size_t len = hostile_number(argv[1]) * MIB;
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argc;
	if (at == MAP_FAILED)
		return -errno;
	memset(at, 1, len);
	return 0;
}

/* The stack's own limit is 8 MiB: beyond it the task ends. Outside the test gives it more. */
static __attribute__((noinline)) int deep(int n)
{
	volatile char room[65536];

	room[0] = room[sizeof room - 1] = (char)n;
	return n ? deep(n - 1) + room[0] : 0;
}

static long stack(int argc, char **argv)
{
	(void)argc;
	(void)deep((int)(hostile_number(argv[1]) * MIB / 65536));
	return 0;
}

/* argv[1]: a file, written to its argv[2]-th MiB. */
static long fill(int argc, char **argv)
{
	static char chunk[MIB];
	long fd = SYS(SYS_open, argv[1], O_WRONLY | O_CREAT, 0600), n = fd;

	(void)argc;
	for (unsigned long i = hostile_number(argv[2]); i && n >= 0; i--)
		n = SYS(SYS_write, fd, chunk, sizeof chunk);
	(void)hostile_got(fd);
	return n;
}

static long descriptors(int argc, char **argv)
{
	unsigned long n = hostile_number(argv[1]);
	long fd = 0;

	(void)argc;
	for (unsigned long i = 0; i < n && fd >= 0; i++)
		fd = SYS(SYS_dup, 0);
	return fd;
}

/* A loop without a system call for argv[1] milliseconds. */
static long loop(int argc, char **argv)
{
	struct timespec now;
	unsigned long end;

	(void)argc;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (unsigned long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000 + hostile_number(argv[1]);
	do
		clock_gettime(CLOCK_MONOTONIC, &now); /* read from the kernel's page, without a call */
	while ((unsigned long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000 < end);
	return 0;
}

/* Waits instead; and cannot be woken but by what ends it. */
static long sleep_(int argc, char **argv)
{
	long ms = (long)hostile_number(argv[1]);
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	(void)argc;
	return SYS(SYS_ppoll, NULL, 0, &time, NULL, 8);
}

/* argv[1] MiB of output through the session, which counts, as an honest program's would be. */
static long flood(int argc, char **argv)
{
	static char chunk[65537];

	(void)argc;
	memset(chunk, 'x', sizeof chunk - 1);
	for (unsigned long i = hostile_number(argv[1]) * 16; i; i--)
		hostile_say(chunk);
	hostile_say("\n");
	return 0;
}

static volatile int *volatile nowhere;

/* A crash with the wish for a core file. */
static long crash(int argc, char **argv)
{
	(void)argc, (void)argv;
	(void)SYS(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
	*nowhere = 1;
	return 0;
}

static long trap(int argc, char **argv)
{
	(void)argc, (void)argv;
	__builtin_trap();
}

static long leave(int argc, char **argv)
{
	(void)argc;
	_exit((int)hostile_number(argv[1]));
}

const struct probe resource_probes[] = {
	{ "fork-bomb", forks },
	{ "memory", memory },
	{ "stack", stack },
	{ "fill", fill },
	{ "descriptors", descriptors },
	{ "loop", loop },
	{ "sleep", sleep_ },
	{ "flood", flood },
	{ "crash", crash },
	{ "trap", trap },
	{ "exit", leave },
	{ NULL, NULL },
};
