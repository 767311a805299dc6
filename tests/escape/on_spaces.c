/* SPDX-License-Identifier: Apache-2.0 */
/* on_spaces: namespaces: leaving one's own, entering another's, starting a child in new ones. */
#include "escape/hostile.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMESPACES(X)                                                                                                  \
	X(user, CLONE_NEWUSER) X(mnt, CLONE_NEWNS) X(pid, CLONE_NEWPID) X(net, CLONE_NEWNET) X(ipc, CLONE_NEWIPC)              \
	X(uts, CLONE_NEWUTS) X(cgroup, CLONE_NEWCGROUP) X(time, CLONE_NEWTIME)

static long child_end(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
	return pid;
}

#define X(name, flag)                                                                                                  \
	static long unshare_##name(int argc, char **argv)                                                                  \
	{                                                                                                                  \
		(void)argc, (void)argv;                                                                                        \
		return SYS(SYS_unshare, flag);                                                                                 \
	}
NAMESPACES(X)
#undef X

/* argv[1]: a namespace's file of a process of the host's. */
static long setns_(int argc, char **argv)
{
	long fd = SYS(SYS_open, argv[1], 0, 0), r;

	(void)argc;
	r = SYS(SYS_setns, fd < 0 ? 0 : fd, 0);
	(void)hostile_got(fd);
	return r;
}

static long clone_user(int argc, char **argv)
{
	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static long clone_net(int argc, char **argv)
{
	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
}

static long clone3_user(int argc, char **argv)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWPID, .exit_signal = SIGCHLD };

	(void)argc, (void)argv;
	return child_end(SYS(SYS_clone3, &args, sizeof args));
}

const struct probe space_probes[] = {
#define X(name, flag) { "unshare-" #name, unshare_##name },
	NAMESPACES(X)
#undef X
	{ "setns", setns_ },
	{ "clone-user", clone_user },
	{ "clone-net", clone_net },
	{ "clone3-user", clone3_user },
	{ NULL, NULL },
};
