/* SPDX-License-Identifier: Apache-2.0 */
/* Groups on the cgroups that this machine has: limits that bind, entering, freezing, killing, and what is left behind. Where no
 * controller is usable (an ordinary user without delegation), that is what is tested: the answer says so and why.
 *
 * As root on cgroup v2 with memory, pids and cpu enabled below the root, the test also puts processes into a group of their
 * own and lets them find out that it is theirs to divide. */
#include "linux/cgroup.h"

#include "linux/cgroup_dir.h"
#include "linux/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MIB (1024u * 1024u)

static struct pl_cgroup_host host;
static const struct pl_cgroup_limits usual = { .memory_bytes = 64 * MIB, .pids = 8, .cpu_us = 50000 };

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_ms(long ms)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static bool usable(enum pl_cgroup_controller controller)
{
	if (host.found[controller].usable)
		return true;
	print_message("SKIPPED: %s: %s\n", pl_cgroup_controller_name(controller), host.found[controller].text);
	return false;
}

#define NEED(controller)                                                                                               \
	if (!usable(controller))                                                                                           \
		skip()

/* A child in the group, that calls run once it is in. */
static pid_t child_in(const struct pl_cgroup *group, void (*run)(void))
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	int fds[PL_CGROUP_TREE_MAX], n = pl_cgroup_join_fds(group, fds);
	pid_t pid;

	if (pl_cgroup_clone_fd(group) >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)pl_cgroup_clone_fd(group);
	}
	pid = pl_sys_clone3(&args);
	if (pid == 0) {
		for (int sig = 1; sig < SIGRTMIN; sig++)
			signal(sig, SIG_DFL);
		if (pl_cgroup_join_self(fds, n) < 0)
			_exit(99);
		run();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void close_group(struct pl_cgroup *group)
{
	int rc = -EBUSY;

	for (int i = 0; i < 200 && rc == -EBUSY; i++) {
		rc = pl_cgroup_close(group);
		if (rc == -EBUSY)
			sleep_ms(1);
	}
	assert_int_equal(rc, 0);
}

/* How many directories of this process's making are there. */
static int count_one(int dir_fd, const char *name, void *data)
{
	(void)dir_fd;
	*(int *)data += strncmp(name, host.prefix, strlen(host.prefix)) == 0;
	return 0;
}

static int left_behind(void)
{
	int n = 0;

	for (unsigned i = 0; i < host.trees_n; i++)
		assert_int_equal(pl_cgroup_dir_each(host.trees[i].dir_fd, PL_CGROUP_GROUP_PREFIX, count_one, &n), 0);
	return n;
}

static void run_wait(void)
{
	for (;;)
		pause();
}

static void every_controller_has_a_text(void **state)
{
	(void)state;
	for (unsigned c = 0; c < PL_CGROUP_CONTROLLER_N; c++) {
		const struct pl_cgroup_found *found = &host.found[c];

		print_message("%s: %s: %s\n", pl_cgroup_controller_name(c), found->usable ? "usable" : "not usable", found->text);
		assert_true(strlen(found->text) > 10);
		assert_true(!found->usable || (found->version && found->tree < host.trees_n));
	}
	assert_string_equal(pl_cgroup_controller_name(PL_CGROUP_CONTROLLER_N), "?");
	assert_int_equal(left_behind(), 0);
}

static void a_group_without_trees_is_empty(void **state)
{
	struct pl_cgroup_host none = { .trees_n = 0 };
	struct pl_cgroup group;
	uint64_t value;
	int fds[PL_CGROUP_TREE_MAX];

	(void)state;
	assert_int_equal(pl_cgroup_new(&none, &usual, &group), 0);
	assert_int_equal(group.held, 0);
	assert_int_equal(pl_cgroup_clone_fd(&group), -1);
	assert_int_equal(pl_cgroup_join_fds(&group, fds), 0);
	assert_int_equal(pl_cgroup_get_memory(&group, &value), -EOPNOTSUPP);
	assert_int_equal(pl_cgroup_set_pids(&group, 3), -EOPNOTSUPP);
	assert_int_equal(pl_cgroup_freeze(&group, true), -EOPNOTSUPP);
	assert_int_equal(pl_cgroup_kill(&group), -EOPNOTSUPP);
	assert_int_equal(pl_cgroup_close(&group), 0);
}

static void limits_are_read_back(void **state)
{
	struct pl_cgroup group;
	uint64_t value;

	(void)state;
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	for (unsigned c = 0; c < PL_CGROUP_FREEZER; c++)
		assert_int_equal(!!(group.held & 1u << c), host.found[c].usable);
	if (host.found[PL_CGROUP_MEMORY].usable) {
		static const uint64_t sizes[] = { 16 * MIB, 512 * MIB, PL_CGROUP_UNLIMITED, 32 * MIB };

		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			assert_int_equal(pl_cgroup_set_memory(&group, sizes[i]), 0);
			assert_int_equal(pl_cgroup_get_memory(&group, &value), 0);
			assert_true(value == sizes[i]);
		}
		assert_int_equal(pl_cgroup_set_memory(&group, 32 * MIB + 1), 0);
		assert_int_equal(pl_cgroup_get_memory(&group, &value), 0);
		assert_int_equal(value, 32 * MIB);
		if (group.swap_held) {
			assert_int_equal(pl_cgroup_get_swap(&group, &value), 0);
			assert_int_equal(value, 0);
		}
	}
	if (host.found[PL_CGROUP_PIDS].usable) {
		assert_int_equal(pl_cgroup_get_pids(&group, &value), 0);
		assert_int_equal(value, usual.pids);
		assert_int_equal(pl_cgroup_set_pids(&group, PL_CGROUP_UNLIMITED), 0);
	}
	if (host.found[PL_CGROUP_CPU].usable) {
		assert_int_equal(pl_cgroup_get_cpu(&group, &value), 0);
		assert_int_equal(value, usual.cpu_us);
		assert_int_equal(pl_cgroup_set_cpu(&group, 200000), 0);
		assert_int_equal(pl_cgroup_set_cpu(&group, PL_CGROUP_UNLIMITED), 0);
		assert_int_equal(pl_cgroup_set_cpu(&group, 10), -EINVAL); /* the kernel's least is 1 ms */
	}
	close_group(&group);
	assert_int_equal(left_behind(), 0);
}

static void a_member_is_in_every_tree(void **state)
{
	struct pl_cgroup group;
	pid_t pid, tids[4];

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	for (unsigned c = 0; c < PL_CGROUP_CONTROLLER_N; c++)
		assert_int_equal(pl_cgroup_tasks(&group, c, tids, 4), host.found[c].usable ? 0 : -EOPNOTSUPP);
	pid = child_in(&group, run_wait);
	sleep_ms(20);
	for (unsigned c = 0; c < PL_CGROUP_CONTROLLER_N; c++)
		if (host.found[c].usable) {
			assert_int_equal(pl_cgroup_tasks(&group, c, tids, 4), 1);
			assert_int_equal(tids[0], pid);
			assert_int_equal(pl_cgroup_tasks(&group, c, tids, 0), 1);
		}
	kill(pid, SIGKILL);
	status_of(pid);
	close_group(&group);
}

static void run_hog(void)
{
	for (;;) {
		volatile char *block = malloc(MIB);

		for (size_t i = 0; block && i < MIB; i += 4096)
			block[i] = 1;
	}
}

static void memory_binds(void **state)
{
	struct pl_cgroup group;
	uint64_t value;
	int status;

	(void)state;
	NEED(PL_CGROUP_MEMORY);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	assert_int_equal(pl_cgroup_oom_kills(&group, &value), 0);
	assert_int_equal(value, 0);
	status = status_of(child_in(&group, run_hog));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(pl_cgroup_oom_kills(&group, &value), 0);
	assert_int_equal(value, 1);
	if (pl_cgroup_memory_peak(&group, &value) == 0)
		assert_true(value > 60 * MIB && value <= 64 * MIB);
	else
		print_message("the kernel has no memory.peak\n");
	close_group(&group);
}

static void run_forks(void)
{
	for (int i = 1; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0)
			run_wait();
		if (pid < 0)
			_exit(errno == EAGAIN ? i : 99);
	}
	_exit(0);
}

static void pids_bind(void **state)
{
	struct pl_cgroup group;
	int status;

	(void)state;
	NEED(PL_CGROUP_PIDS);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	status = status_of(child_in(&group, run_forks));
	assert_int_equal(WEXITSTATUS(status), usual.pids); /* itself and seven more; the eighth is refused */
	assert_int_equal(pl_cgroup_close(&group), -EBUSY);
	assert_int_equal(pl_cgroup_kill(&group), 0); /* also when it is half closed */
	close_group(&group);
}

static void run_spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void cpu_binds(void **state)
{
	struct pl_cgroup group;
	struct rusage usage;
	int64_t used;
	pid_t pid;
	int status;

	(void)state;
	NEED(PL_CGROUP_CPU);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	assert_int_equal(pl_cgroup_set_cpu(&group, 10000), 0);
	pid = child_in(&group, run_spin);
	sleep_ms(1000);
	kill(pid, SIGKILL);
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	used = usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
	print_message("a tenth of a processor for 1 s: %ld us used\n", (long)used);
	assert_true(used < 250000);
	close_group(&group);
}

static bool frozen_becomes(struct pl_cgroup *group, int wanted)
{
	for (int i = 0; i < 500; i++) {
		if (pl_cgroup_frozen(group) == wanted)
			return true;
		sleep_ms(1);
	}
	return false;
}

static int *counter;

static void run_count(void)
{
	for (;;)
		++*(volatile int *)counter;
}

static void freezing_stops_and_continues(void **state)
{
	struct pl_cgroup group;
	int seen;
	pid_t pid;

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	pid = child_in(&group, run_count);
	sleep_ms(20);
	assert_int_equal(pl_cgroup_frozen(&group), 0);
	assert_int_equal(pl_cgroup_freeze(&group, true), 0);
	assert_true(frozen_becomes(&group, 1));
	seen = *(volatile int *)counter;
	assert_true(seen > 0);
	sleep_ms(50);
	assert_int_equal(*(volatile int *)counter, seen);
	assert_int_equal(pl_cgroup_freeze(&group, false), 0);
	assert_true(frozen_becomes(&group, 0));
	sleep_ms(50);
	assert_int_not_equal(*(volatile int *)counter, seen);
	/* And killing works on a frozen group. */
	assert_int_equal(pl_cgroup_freeze(&group, true), 0);
	assert_true(frozen_becomes(&group, 1));
	assert_int_equal(pl_cgroup_kill(&group), 0);
	assert_int_equal(WTERMSIG(status_of(pid)), SIGKILL);
	close_group(&group);
	munmap(counter, 4096);
}

static void run_family(void)
{
	for (int i = 0; i < 6; i++)
		if (fork() == 0)
			run_wait();
	run_wait();
}

static void killing_takes_all(void **state)
{
	struct pl_cgroup group;
	pid_t pid, tids[16];
	int n;

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
	pid = child_in(&group, run_family);
	sleep_ms(50);
	assert_int_equal(pl_cgroup_tasks(&group, PL_CGROUP_FREEZER, tids, 16), 7);
	assert_int_equal(pl_cgroup_kill(&group), 0);
	assert_int_equal(WTERMSIG(status_of(pid)), SIGKILL);
	for (int i = 0; i < 100 && (n = pl_cgroup_tasks(&group, PL_CGROUP_FREEZER, tids, 16)) != 0; i++)
		sleep_ms(2);
	assert_int_equal(n, 0);
	close_group(&group);
	assert_int_equal(left_behind(), 0);
}

/* A supervisor that is killed, with a group in which somebody lives on. */
static pid_t victim_start(pid_t *ret_orphan, char ret_prefix[PL_CGROUP_NAME_LEN])
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct pl_cgroup_host own;
		struct pl_cgroup group;
		pid_t orphan;

		if (pl_cgroup_find(&own, NULL, 0) || pl_cgroup_new(&own, &usual, &group))
			_exit(1);
		orphan = child_in(&group, run_wait);
		if (write(fds[1], &orphan, sizeof orphan) < 0 || write(fds[1], own.prefix, sizeof own.prefix) < 0)
			_exit(1);
		run_wait();
	}
	assert_int_equal(read(fds[0], ret_orphan, sizeof *ret_orphan), sizeof *ret_orphan);
	memset(ret_prefix, 0, PL_CGROUP_NAME_LEN);
	assert_int_equal(read(fds[0], ret_prefix, sizeof host.prefix), sizeof host.prefix);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

static int count_prefix(int dir_fd, const char *name, void *data)
{
	(void)dir_fd, (void)name;
	++*(int *)data;
	return 0;
}

static int groups_of(const char *prefix)
{
	int n = 0;

	for (unsigned i = 0; i < host.trees_n; i++)
		pl_cgroup_dir_each(host.trees[i].dir_fd, prefix, count_prefix, &n);
	return n;
}

static void a_killed_supervisor_is_swept_up(void **state)
{
	char prefix[PL_CGROUP_NAME_LEN];
	struct pl_cgroup group;
	pid_t victim, orphan;

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	pl_sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0); /* ours, which must stay */
	victim = victim_start(&orphan, prefix);
	sleep_ms(20);
	assert_int_equal(groups_of(prefix), host.trees_n);
	assert_int_equal(pl_cgroup_sweep(&host, 500), 0);
	assert_int_equal(groups_of(prefix), host.trees_n); /* it is alive */
	assert_int_equal(kill(orphan, 0), 0);
	kill(victim, SIGKILL);
	waitid(P_PID, (id_t)victim, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	/* The orphan was forked, not executed, so it still has the locks; like every program in a jail it lets go by exec. */
	assert_int_equal(pl_cgroup_sweep(&host, 20), 0);
	assert_int_equal(groups_of(prefix), host.trees_n);
	kill(orphan, SIGKILL);
	status_of(victim);
	status_of(orphan);
	assert_int_equal(pl_cgroup_sweep(&host, 500), 0);
	assert_int_equal(groups_of(prefix), 0);
	assert_int_equal(left_behind(), host.trees_n);
	close_group(&group);
	pl_sys_prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

static void run_sleep_program(void)
{
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(98);
}

/* The same as it is in earnest: what lives on was executed. */
static void what_lives_on_is_killed(void **state)
{
	int fds[2];
	pid_t victim, orphan;
	int status;

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	pl_sys_prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	victim = fork();
	if (victim == 0) {
		struct pl_cgroup_host own;
		struct pl_cgroup group;

		if (pl_cgroup_find(&own, NULL, 0) || pl_cgroup_new(&own, &usual, &group))
			_exit(1);
		orphan = child_in(&group, run_sleep_program);
		if (write(fds[1], &orphan, sizeof orphan) < 0)
			_exit(1);
		run_wait();
	}
	assert_int_equal(read(fds[0], &orphan, sizeof orphan), sizeof orphan);
	sleep_ms(100);
	kill(victim, SIGKILL);
	status_of(victim);
	assert_int_equal(pl_cgroup_sweep(&host, 1000), 0);
	status = status_of(orphan);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	pl_sys_prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	close(fds[0]);
	close(fds[1]);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void what_it_costs(void **state)
{
	enum { N = 200 };
	static int64_t made[N], closed[N];

	(void)state;
	NEED(PL_CGROUP_FREEZER);
	for (int i = 0; i < N; i++) {
		struct pl_cgroup group;
		int64_t at = now_us();

		assert_int_equal(pl_cgroup_new(&host, &usual, &group), 0);
		made[i] = now_us() - at;
		at = now_us();
		assert_int_equal(pl_cgroup_close(&group), 0);
		closed[i] = now_us() - at;
	}
	qsort(made, N, sizeof *made, compare);
	qsort(closed, N, sizeof *closed, compare);
	print_message("%u trees: new %ld us, close %ld us (medians of %d)\n", host.trees_n, (long)made[N / 2], (long)closed[N / 2], N);
	assert_int_equal(left_behind(), 0);
}

/* --- cgroup v2, a group of one's own ---------------------------------------------------------------------------------- */

#define V2_ROOT "/sys/fs/cgroup"

static int v2_fd = -1; /* the group that the test made */
static char v2_name[64];

/* Whether this machine lets the test divide a group of its own on v2. */
static bool v2_make(void)
{
	int root = pl_sys_openat(AT_FDCWD, V2_ROOT, O_RDONLY | O_DIRECTORY, 0);

	snprintf(v2_name, sizeof v2_name, "plimsoll-test-%d", getpid());
	if (root >= 0 && pl_sys_faccessat(root, "cgroup.controllers", R_OK) == 0 && pl_sys_mkdirat(root, v2_name, 0755) == 0)
		v2_fd = pl_sys_openat(root, v2_name, O_RDONLY | O_DIRECTORY, 0);
	if (root >= 0)
		close(root);
	if (v2_fd >= 0 && pl_sys_faccessat(v2_fd, "memory.max", W_OK) == 0)
		return true;
	print_message("SKIPPED: needs root, and cgroup v2 with the memory controller at " V2_ROOT "\n");
	return false;
}

static void v2_remove(void)
{
	int root = pl_sys_openat(AT_FDCWD, V2_ROOT, O_RDONLY | O_DIRECTORY, 0);

	if (v2_fd >= 0) {
		close(v2_fd);
		v2_fd = -1;
		assert_int_equal(pl_sys_unlinkat(root, v2_name, AT_REMOVEDIR), 0);
	}
	if (root >= 0)
		close(root);
}

#define EXPECT(condition)                                                                                              \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			_exit(__LINE__ % 250 + 1);                                                                                 \
	} while (0)

static pid_t in_v2_group(void (*run)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int sig = 1; sig < SIGRTMIN; sig++)
			signal(sig, SIG_DFL);
		EXPECT(pl_cgroup_dir_write(v2_fd, "cgroup.procs", "0") == 0);
		run();
		_exit(0);
	}
	return pid;
}

static void v2_one(void)
{
	struct pl_cgroup_host own;
	struct pl_cgroup group;
	uint64_t value;
	int fds[PL_CGROUP_TREE_MAX];
	pid_t ids[4];

	EXPECT(pl_cgroup_find(&own, NULL, 0) == 0);
	EXPECT(own.trees_n == 1 && own.trees[0].version == 2 && own.trees[0].leaf);
	for (unsigned c = 0; c < PL_CGROUP_CONTROLLER_N; c++)
		EXPECT(own.found[c].usable && own.found[c].version == 2);
	EXPECT(pl_cgroup_new(&own, &usual, &group) == 0);
	EXPECT(pl_cgroup_join_fds(&group, fds) == 0 && pl_cgroup_clone_fd(&group) >= 0);
	EXPECT(pl_cgroup_get_memory(&group, &value) == 0 && value == usual.memory_bytes);
	EXPECT(pl_cgroup_get_cpu(&group, &value) == 0 && value == usual.cpu_us);
	EXPECT(pl_cgroup_close(&group) == 0);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 0);
	pl_cgroup_host_close(&own);
	/* Back, and the leaf is gone. */
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 1 && ids[0] == getpid());
}

/* Another process lives here and did not agree; then it did. */
static void v2_two(void)
{
	struct pl_cgroup_host own;
	pid_t other = fork(), ids[4];

	if (other == 0)
		run_wait();
	EXPECT(pl_cgroup_find(&own, NULL, 0) == 0);
	EXPECT(!own.found[PL_CGROUP_MEMORY].usable && own.found[PL_CGROUP_FREEZER].usable);
	EXPECT(strstr(own.found[PL_CGROUP_MEMORY].text, "not delegated") && strstr(own.found[PL_CGROUP_MEMORY].text, "Delegate=yes"));
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 2);
	pl_cgroup_host_close(&own);
	EXPECT(pl_cgroup_find(&own, &other, 1) == 0);
	EXPECT(own.found[PL_CGROUP_MEMORY].usable && own.trees[0].leaf);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 0);
	pl_cgroup_host_close(&own);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 2);
	kill(other, SIGKILL);
	EXPECT(waitpid(other, NULL, 0) == other);
}

/* Two supervisors of one parent, the second started in the first one's leaf; the last to go tidies up. */
static void v2_share(void)
{
	struct pl_cgroup_host first, second;
	struct pl_cgroup group;
	pid_t child, ids[4], parent = getpid();
	int down[2], status;
	uint64_t value;
	char byte;

	EXPECT(pipe2(down, O_CLOEXEC) == 0);
	EXPECT(pl_cgroup_find(&first, NULL, 0) == 0 && first.trees[0].leaf);
	child = fork();
	if (child == 0) {
		pl_cgroup_host_close(&(struct pl_cgroup_host){ .trees_n = 0 });
		for (unsigned i = 0; i < first.trees_n; i++)
			close(first.trees[i].dir_fd); /* as exec would */
		EXPECT(pl_cgroup_find(&second, NULL, 0) == 0);
		EXPECT(second.trees_n == 1 && second.trees[0].leaf && second.found[PL_CGROUP_MEMORY].usable);
		EXPECT(pl_cgroup_new(&second, &usual, &group) == 0);
		EXPECT(read(down[0], &byte, 1) == 1);
		/* The first is gone; our limits must still be there. */
		EXPECT(pl_cgroup_get_memory(&group, &value) == 0 && value == usual.memory_bytes);
		EXPECT(pl_cgroup_close(&group) == 0);
		pl_cgroup_host_close(&second);
		EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 2);
		_exit(0);
	}
	sleep_ms(100);
	pl_cgroup_host_close(&first);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 0);
	EXPECT(write(down[1], "x", 1) == 1);
	EXPECT(waitpid(child, &status, 0) == child);
	EXPECT(status == 0);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 1 && ids[0] == parent);
}

/* A killed one leaves its leaf and its group; the next one there removes both. */
static void v2_killed(void)
{
	struct pl_cgroup_host own;
	pid_t child = fork(), ids[4];

	if (child == 0) {
		struct pl_cgroup group;

		EXPECT(pl_cgroup_find(&own, &(pid_t){ getppid() }, 1) == 0 && own.trees[0].leaf);
		EXPECT(pl_cgroup_new(&own, &usual, &group) == 0);
		kill(getpid(), SIGKILL);
	}
	EXPECT(waitpid(child, NULL, 0) == child);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 0); /* we are in its leaf */
	EXPECT(pl_cgroup_find(&own, NULL, 0) == 0 && own.trees[0].leaf && own.found[PL_CGROUP_CPU].usable);
	EXPECT(pl_cgroup_sweep(&own, 500) == 0);
	pl_cgroup_host_close(&own);
	EXPECT(pl_cgroup_dir_ids(v2_fd, "cgroup.procs", ids, 4) == 1);
}

static void v2_delegation(void **state)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "alone", v2_one }, { "with another", v2_two }, { "two supervisors", v2_share }, { "killed", v2_killed } };

	(void)state;
	if (host.found[PL_CGROUP_MEMORY].version == 1) {
		print_message("NOT TRIED HERE: this machine's memory controller is on cgroup v1, and so cannot be on v2\n");
		return;
	}
	if (!v2_make()) {
		v2_remove();
		skip();
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status = status_of(in_v2_group(cases[i].run));

		if (status)
			fail_msg("%s: status %#x, line %% 250 = %d", cases[i].name, status, WEXITSTATUS(status) - 1);
	}
	v2_remove(); /* fails if a directory was left in it */
}

static int set_up(void **state)
{
	(void)state;
	return pl_cgroup_find(&host, NULL, 0);
}

static int tear_down(void **state)
{
	(void)state;
	pl_cgroup_host_close(&host);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_controller_has_a_text),
		cmocka_unit_test(a_group_without_trees_is_empty),
		cmocka_unit_test(limits_are_read_back),
		cmocka_unit_test(a_member_is_in_every_tree),
		cmocka_unit_test(memory_binds),
		cmocka_unit_test(pids_bind),
		cmocka_unit_test(cpu_binds),
		cmocka_unit_test(freezing_stops_and_continues),
		cmocka_unit_test(killing_takes_all),
		cmocka_unit_test(a_killed_supervisor_is_swept_up),
		cmocka_unit_test(what_lives_on_is_killed),
		cmocka_unit_test(what_it_costs),
		cmocka_unit_test(v2_delegation),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
