/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll-launch: builds a jail, starts the guest in it, and stays as its init. Started only by the supervisor, which has made
 * the namespaces and the descriptors (wire/jail.h); trusts its plan and nothing else. Never setuid: it runs as its caller.
 *
 * Theory of operation. Three processes are in play: the supervisor (outside, at the other end of the control socket), this
 * program (process 1 of the sandbox), and the guest (its only child). init never reads what the guest writes. It waits for
 * two things: the guest's end, which it reports, and the end of the control socket, upon which it exits, and the kernel ends
 * everything in the pid namespace with it. */
#include "break.h"
#include "build_id.h"
#include "launch/steps.h"
#include "linux/sys.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_JAIL_FAILED = 70, EXIT_EXECUTE_FAILED = 71 };

int pl_steps_run(const struct pl_step *steps, size_t n, const struct pl_jail_plan *plan, const char **ret_name)
{
	for (size_t i = 0; i < n; i++) {
		bool left_out = pl_sabotage(steps[i].name) || pl_break_skips(steps[i].name);
		int rc = left_out ? 0 : steps[i].run(plan);

		if (rc == 0)
			rc = pl_break_after(steps[i].name, plan);
		if (rc < 0) {
			*ret_name = steps[i].name;
			return rc;
		}
	}
	return 0;
}

static void report_send(const struct pl_jail_report *report)
{
	(void)pl_sys_send(PL_LAUNCH_CONTROL_FD, report, sizeof *report, 0);
}

static _Noreturn void fail(const char *step, int rc)
{
	struct pl_jail_report report = { .kind = PL_JAIL_FAILED, .error = rc };

	strncpy(report.step, step, sizeof report.step - 1);
	report_send(&report);
	_exit(EXIT_JAIL_FAILED);
}

static void plan_read(struct pl_jail_plan *ret)
{
	ssize_t n = pl_sys_recv(PL_LAUNCH_CONTROL_FD, ret, sizeof *ret, MSG_TRUNC);

	if (n == 0)
		_exit(0); /* the supervisor has ended or thought better of it */
	if (n != sizeof *ret)
		fail("read plan", n < 0 ? (int)n : -EPROTO);
	if (memcmp(ret->build_id, PL_BUILD_ID, sizeof ret->build_id) != 0)
		fail("compare build ids", -EPROTO);
	if (ret->rlimit_n > PL_JAIL_RLIMIT_MAX || ret->guest_filter.n > PL_JAIL_FILTER_MAX ||
	    ret->init_filter.n > PL_JAIL_FILTER_MAX || ret->extra_n > PL_LAUNCH_EXTRA_MAX)
		fail("read plan", -EPROTO);
}

/* They had to be inherited by this program and must not be by the next; the guest's own is made by "take stream". */
static int descriptors_claim(const struct pl_jail_plan *plan)
{
	for (int fd = PL_LAUNCH_CONTROL_FD; fd < PL_LAUNCH_EXTRA_FD + (int)plan->extra_n; fd++)
		if (PL_SYS("fcntl", fcntl(fd, F_SETFD, FD_CLOEXEC)) < 0)
			return -EBADF;
	return 0;
}

/* Waits until init has confined itself: the guest is not there before its init is what it will be. */
static void init_await(int gate_fd)
{
	char byte;

	(void)read(gate_fd, &byte, 1);
}

/* The control socket stays open (close-on-exec) so that a failing step can be told; after the filter only the exit status
 * is left to tell it. */
static _Noreturn void guest_become(struct pl_jail_plan *plan, const int gate[2])
{
	char *mode = (char *)(plan->readable ? PL_GUEST_READABLE : PL_GUEST_HIDDEN), *envp[] = { NULL };
	char *argv[] = { plan->guest_argv0, mode, plan->fault[0] ? plan->fault : NULL, NULL };
	const char *step;
	int rc;

	close(gate[1]);
	init_await(gate[0]);
	rc = pl_steps_run(pl_guest_steps, pl_guest_steps_n, plan, &step);
	if (rc < 0)
		fail(step, rc);
	(void)pl_sys_execveat(PL_LAUNCH_IMAGE_FD, argv, envp);
	_exit(EXIT_EXECUTE_FAILED);
}

/* *ret_gate_fd: to be closed when the guest may go on. */
static pid_t guest_start(struct pl_jail_plan *plan, int *ret_pidfd, int *ret_gate_fd)
{
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uintptr_t)ret_pidfd, .exit_signal = SIGCHLD };
	int gate[2], rc = (int)PL_SYS("pipe2", pipe2(gate, O_CLOEXEC));
	pid_t pid;

	if (rc < 0)
		fail("make gate", rc);
	pid = pl_sys_clone3(&args);
	if (pid == 0)
		guest_become(plan, gate);
	if (pid < 0)
		fail("clone guest", pid);
	close(gate[0]);
	*ret_gate_fd = gate[1];
	return pid;
}

static void guest_end_report(pid_t pid)
{
	struct pl_jail_report report = { .kind = PL_JAIL_ENDED };
	struct rusage usage = { 0 };

	if (pl_sys_wait4(pid, &report.wait_status, 0, &usage) != pid)
		return;
	report.cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	report.peak_bytes = (uint64_t)usage.ru_maxrss * 1024u;
	report_send(&report);
}

/* Nothing is ever read from the control socket after the plan: an event on it is its end. */
static _Noreturn void init_wait(pid_t guest, int pidfd)
{
	struct pollfd fds[2] = { { .fd = PL_LAUNCH_CONTROL_FD, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(EXIT_JAIL_FAILED);
		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents) {
			guest_end_report(guest);
			fds[1].fd = -1;
		}
	}
}

int main(void)
{
	static struct pl_jail_plan plan;
	const char *step;
	int pidfd = -1, gate_fd, rc;
	pid_t guest;

	pl_break_first();
	plan_read(&plan);
	pl_fault_set("launch", plan.fault);
	rc = descriptors_claim(&plan);
	if (rc < 0)
		fail("claim descriptors", rc);
	rc = plan.readable ? 0 : pl_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (rc == 0)
		rc = pl_sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (rc < 0)
		fail("make init undumpable", rc);
	if (plan.has_mount_namespace) {
		rc = pl_steps_run(pl_root_steps, pl_root_steps_n, &plan, &step);
		if (rc < 0)
			fail(step, rc);
	}
	guest = guest_start(&plan, &pidfd, &gate_fd);
	if (!pl_sabotage("init keeps stream"))
		close(PL_LAUNCH_STREAM_FD);
	close(PL_LAUNCH_IMAGE_FD);
	for (uint32_t i = 0; i < plan.extra_n; i++)
		close(PL_LAUNCH_EXTRA_FD + (int)i);
	rc = pl_steps_run(pl_init_steps, pl_init_steps_n, &plan, &step);
	if (rc < 0)
		fail(step, rc);
	close(gate_fd);
	init_wait(guest, pidfd);
}
