/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/cgroup.h"

#include "linux/cgroup_dir.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <stdio.h>
#include <string.h>

#define VALUE_LEN 256 /* the longest file read here is memory.events, some ten short lines */

/* The files of a group that stay open, and what they are called on v1 and v2. NULL: there is none on that version. */
struct group_file {
	size_t member;
	enum pl_cgroup_controller controller;
	const char *names[2];
	int flags;
	bool required;
};

#define FILE_OF(member) offsetof(struct pl_cgroup, member)

static const struct group_file group_files[] = {
	{ FILE_OF(memory), PL_CGROUP_MEMORY, { "memory.limit_in_bytes", "memory.max" }, O_RDWR, true },
	{ FILE_OF(swap), PL_CGROUP_MEMORY, { "memory.memsw.limit_in_bytes", "memory.swap.max" }, O_RDWR, false },
	{ FILE_OF(peak), PL_CGROUP_MEMORY, { "memory.max_usage_in_bytes", "memory.peak" }, O_RDONLY, false },
	{ FILE_OF(events), PL_CGROUP_MEMORY, { "memory.oom_control", "memory.events" }, O_RDONLY, true },
	{ FILE_OF(pids), PL_CGROUP_PIDS, { "pids.max", "pids.max" }, O_RDWR, true },
	{ FILE_OF(cpu), PL_CGROUP_CPU, { "cpu.cfs_quota_us", "cpu.max" }, O_RDWR, true },
	{ FILE_OF(cpu_period), PL_CGROUP_CPU, { "cpu.cfs_period_us", NULL }, O_RDWR, true },
	{ FILE_OF(freeze), PL_CGROUP_FREEZER, { "freezer.state", "cgroup.freeze" }, O_RDWR, true },
	{ FILE_OF(frozen), PL_CGROUP_FREEZER, { NULL, "cgroup.events" }, O_RDONLY, true },
	{ FILE_OF(kill), PL_CGROUP_FREEZER, { NULL, "cgroup.kill" }, O_WRONLY, false },
};

#define GROUP_FILES_N (sizeof group_files / sizeof group_files[0])

static int *group_file_fd(struct pl_cgroup *group, size_t i)
{
	return (int *)((char *)group + group_files[i].member);
}

static bool on_v1(const struct pl_cgroup *group, enum pl_cgroup_controller controller)
{
	return group->host->found[controller].version == 1;
}

const char *pl_cgroup_controller_name(enum pl_cgroup_controller controller)
{
	static const char *const names[] = {
#define X(name, text) text,
		PL_CGROUP_CONTROLLER_LIST(X)
#undef X
	};

	return (unsigned)controller < PL_CGROUP_CONTROLLER_N ? names[controller] : "?";
}

static int value_read(int fd, char ret_text[VALUE_LEN])
{
	ssize_t n;

	if (fd < 0)
		return -EOPNOTSUPP;
	n = pl_sys_pread(fd, ret_text, VALUE_LEN - 1, 0);
	if (n < 0)
		return (int)n;
	ret_text[n] = 0;
	return 0;
}

/* A limit: a number, or v2's "max", or v1's "-1" (cpu) or largest number of pages (memory). */
static int limit_read(int fd, uint64_t *ret_limit, const char **ret_rest, char text[VALUE_LEN])
{
	int rc = value_read(fd, text);

	if (rc < 0)
		return rc;
	if (strncmp(text, "max", 3) == 0 || strncmp(text, "-1", 2) == 0) {
		*ret_limit = PL_CGROUP_UNLIMITED;
		*ret_rest = text + (text[0] == 'm' ? 3 : 2);
		return 0;
	}
	rc = pl_text_number(text, ret_limit, ret_rest);
	if (rc == 0 && *ret_limit >= (uint64_t)INT64_MAX - UINT16_MAX)
		*ret_limit = PL_CGROUP_UNLIMITED;
	return rc;
}

static int limit_get(int fd, uint64_t *ret_limit)
{
	char text[VALUE_LEN];
	const char *rest;

	return limit_read(fd, ret_limit, &rest, text);
}

static int limit_write(int fd, uint64_t limit, const char *unlimited, const char *suffix)
{
	char text[64];
	ssize_t rc;
	int len;

	if (fd < 0)
		return -EOPNOTSUPP;
	if (limit == PL_CGROUP_UNLIMITED)
		len = snprintf(text, sizeof text, "%s%s", unlimited, suffix);
	else
		len = snprintf(text, sizeof text, "%llu%s", (unsigned long long)limit, suffix);
	rc = pl_sys_write(fd, text, (size_t)len);
	return rc < 0 ? (int)rc : 0;
}

static int tree_dir_new(struct pl_cgroup *group, unsigned i)
{
	const struct pl_cgroup_tree *tree = &group->host->trees[i];
	int rc;

	rc = pl_sys_mkdirat(tree->dir_fd, group->name, 0755);
	if (rc < 0)
		return rc;
	rc = pl_sys_openat(tree->dir_fd, group->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (rc < 0) {
		unlinkat(tree->dir_fd, group->name, AT_REMOVEDIR);
		return rc;
	}
	group->dirs[i] = rc;
	rc = pl_sys_flock(group->dirs[i], LOCK_EX | LOCK_NB); /* says to a sweep: in use */
	if (rc < 0 || tree->version == 2)
		return rc;
	rc = pl_sys_openat(group->dirs[i], "tasks", O_WRONLY, 0);
	if (rc >= 0)
		group->tasks[i] = rc;
	return rc;
}

static int files_open(struct pl_cgroup *group)
{
	for (size_t i = 0; i < GROUP_FILES_N; i++) {
		const struct group_file *file = &group_files[i];
		const struct pl_cgroup_found *found = &group->host->found[file->controller];
		int rc;

		if (!found->usable || !file->names[found->version - 1])
			continue;
		rc = pl_sys_openat(group->dirs[found->tree], file->names[found->version - 1], file->flags, 0);
		if (rc >= 0)
			*group_file_fd(group, i) = rc;
		else if (rc != -ENOENT || file->required)
			return rc;
	}
	return 0;
}

static int swap_limit(struct pl_cgroup *group)
{
	uint64_t swap;
	int rc;

	if (group->swap < 0) {
		/* No account is kept of swap. On v1 the group can at least be told to leave anonymous memory where it is. */
		if (on_v1(group, PL_CGROUP_MEMORY))
			pl_cgroup_dir_write(group->dirs[group->host->found[PL_CGROUP_MEMORY].tree], "memory.swappiness", "0");
		return 0;
	}
	rc = on_v1(group, PL_CGROUP_MEMORY) ? 0 : limit_write(group->swap, 0, "max", "");
	if (rc == 0)
		rc = pl_cgroup_get_swap(group, &swap);
	if (rc < 0)
		return rc;
	group->swap_held = swap == 0;
	return group->swap_held ? 0 : -EIO;
}

static int limits_set(struct pl_cgroup *group, const struct pl_cgroup_limits *limits)
{
	int rc = 0;

	if (limits->memory_bytes && group->memory >= 0) {
		rc = pl_cgroup_set_memory(group, limits->memory_bytes);
		if (rc == 0)
			rc = swap_limit(group);
		group->held |= 1u << PL_CGROUP_MEMORY;
	}
	if (rc == 0 && limits->pids && group->pids >= 0) {
		rc = pl_cgroup_set_pids(group, limits->pids);
		group->held |= 1u << PL_CGROUP_PIDS;
	}
	if (rc == 0 && limits->cpu_us && group->cpu >= 0) {
		rc = pl_cgroup_set_cpu(group, limits->cpu_us);
		group->held |= 1u << PL_CGROUP_CPU;
	}
	return rc;
}

int pl_cgroup_new(struct pl_cgroup_host *host, const struct pl_cgroup_limits *limits, struct pl_cgroup *ret)
{
	struct pl_cgroup group = { .host = host };
	int rc = 0;

	for (unsigned i = 0; i < PL_CGROUP_TREE_MAX; i++)
		group.dirs[i] = group.tasks[i] = -1;
	for (size_t i = 0; i < GROUP_FILES_N; i++)
		*group_file_fd(&group, i) = -1;
	snprintf(group.name, sizeof group.name, "%s%llu", host->prefix, (unsigned long long)host->serial++);
	for (unsigned i = 0; i < host->trees_n && rc >= 0; i++)
		rc = tree_dir_new(&group, i);
	if (rc >= 0)
		rc = files_open(&group);
	if (rc >= 0)
		rc = limits_set(&group, limits);
	if (rc < 0) {
		pl_cgroup_close(&group); /* nobody has entered it */
		return rc;
	}
	*ret = group;
	return 0;
}

int pl_cgroup_close(struct pl_cgroup *group)
{
	int left = 0;

	for (size_t i = 0; i < GROUP_FILES_N; i++) {
		int *fd = group_file_fd(group, i);

		if (*fd >= 0)
			close(*fd);
		*fd = -1;
	}
	for (unsigned i = 0; i < PL_CGROUP_TREE_MAX; i++) {
		int rc;

		if (group->tasks[i] >= 0)
			close(group->tasks[i]);
		group->tasks[i] = -1;
		if (group->dirs[i] < 0)
			continue;
		rc = pl_cgroup_dir_remove(group->host->trees[i].dir_fd, group->name);
		if (rc < 0 && left != -EBUSY)
			left = rc;
		if (rc == -EBUSY)
			continue;
		close(group->dirs[i]);
		group->dirs[i] = -1;
	}
	return left;
}

int pl_cgroup_clone_fd(const struct pl_cgroup *group)
{
	for (unsigned i = 0; i < group->host->trees_n; i++)
		if (group->host->trees[i].version == 2)
			return group->dirs[i];
	return -1;
}

int pl_cgroup_join_fds(const struct pl_cgroup *group, int ret_fds[PL_CGROUP_TREE_MAX])
{
	int n = 0;

	for (unsigned i = 0; i < group->host->trees_n; i++)
		if (group->tasks[i] >= 0)
			ret_fds[n++] = group->tasks[i];
	return n;
}

int pl_cgroup_join_self(const int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		ssize_t rc = pl_sys_write(fds[i], "0", 1); /* 0: the caller */

		if (rc != 1)
			return rc < 0 ? (int)rc : -EIO;
	}
	return 0;
}

int pl_cgroup_set_memory(struct pl_cgroup *group, uint64_t bytes)
{
	const char *unlimited = on_v1(group, PL_CGROUP_MEMORY) ? "-1" : "max";
	bool with_swap = on_v1(group, PL_CGROUP_MEMORY) && group->swap >= 0;
	uint64_t now;
	int rc;

	if (bytes != PL_CGROUP_UNLIMITED)
		bytes -= bytes % (uint64_t)sysconf(_SC_PAGESIZE);
	rc = limit_write(group->memory, bytes, unlimited, "");
	if (rc == -EINVAL && with_swap) {
		/* v1's other limit is of memory and swap together and never the smaller one, so it goes first on the way up. */
		rc = limit_write(group->swap, bytes, unlimited, "");
		if (rc == 0)
			rc = limit_write(group->memory, bytes, unlimited, "");
	} else if (rc == 0 && with_swap) {
		rc = limit_write(group->swap, bytes, unlimited, "");
	}
	if (rc == 0)
		rc = pl_cgroup_get_memory(group, &now);
	if (rc < 0)
		return rc;
	return now == bytes ? 0 : -EIO;
}

int pl_cgroup_set_pids(struct pl_cgroup *group, uint64_t n)
{
	uint64_t now;
	int rc;

	rc = limit_write(group->pids, n, "max", "");
	if (rc == 0)
		rc = pl_cgroup_get_pids(group, &now);
	if (rc < 0)
		return rc;
	return now == n ? 0 : -EIO;
}

#define PERIOD_TEXT "100000"
_Static_assert(PL_CGROUP_CPU_PERIOD_US == 100000u, "PERIOD_TEXT says the same");

int pl_cgroup_set_cpu(struct pl_cgroup *group, uint64_t us)
{
	uint64_t now;
	int rc;

	if (on_v1(group, PL_CGROUP_CPU)) {
		rc = limit_get(group->cpu_period, &now);
		if (rc == 0 && now != PL_CGROUP_CPU_PERIOD_US)
			rc = limit_write(group->cpu_period, PL_CGROUP_CPU_PERIOD_US, "", "");
		if (rc == 0)
			rc = limit_write(group->cpu, us, "-1", "");
	} else {
		rc = limit_write(group->cpu, us, "max", " " PERIOD_TEXT);
	}
	if (rc == 0)
		rc = pl_cgroup_get_cpu(group, &now);
	if (rc < 0)
		return rc;
	return now == us ? 0 : -EIO;
}

int pl_cgroup_get_memory(const struct pl_cgroup *group, uint64_t *ret_bytes)
{
	return limit_get(group->memory, ret_bytes);
}

int pl_cgroup_get_swap(const struct pl_cgroup *group, uint64_t *ret_bytes)
{
	uint64_t memory = 0, both = 0;
	int rc;

	if (!on_v1(group, PL_CGROUP_MEMORY))
		return limit_get(group->swap, ret_bytes);
	rc = limit_get(group->swap, &both);
	if (rc == 0)
		rc = limit_get(group->memory, &memory);
	if (rc < 0)
		return rc;
	if (both == PL_CGROUP_UNLIMITED)
		*ret_bytes = PL_CGROUP_UNLIMITED;
	else
		*ret_bytes = both > memory ? both - memory : 0;
	return 0;
}

int pl_cgroup_get_pids(const struct pl_cgroup *group, uint64_t *ret_n)
{
	return limit_get(group->pids, ret_n);
}

int pl_cgroup_get_cpu(const struct pl_cgroup *group, uint64_t *ret_us)
{
	uint64_t quota, period = 0;
	char text[VALUE_LEN];
	const char *rest;
	int rc;

	rc = limit_read(group->cpu, &quota, &rest, text);
	if (rc == 0 && on_v1(group, PL_CGROUP_CPU))
		rc = limit_get(group->cpu_period, &period);
	else if (rc == 0)
		rc = *rest == ' ' ? pl_text_number(rest + 1, &period, NULL) : -EPROTO;
	if (rc < 0)
		return rc;
	if (period == 0)
		return -EPROTO;
	if (quota == PL_CGROUP_UNLIMITED)
		*ret_us = quota;
	else if (__builtin_mul_overflow(quota, (uint64_t)PL_CGROUP_CPU_PERIOD_US, ret_us))
		return -ERANGE;
	else
		*ret_us /= period;
	return 0;
}

int pl_cgroup_memory_peak(const struct pl_cgroup *group, uint64_t *ret_bytes)
{
	return limit_get(group->peak, ret_bytes);
}

int pl_cgroup_oom_kills(const struct pl_cgroup *group, uint64_t *ret_n)
{
	char text[VALUE_LEN];
	int rc = value_read(group->events, text);

	return rc < 0 ? rc : pl_text_keyed(text, "oom_kill", ret_n);
}

int pl_cgroup_tasks(const struct pl_cgroup *group, enum pl_cgroup_controller controller, pid_t *ret_tids, int max)
{
	const struct pl_cgroup_found *found = &group->host->found[controller];

	if (!found->usable)
		return -EOPNOTSUPP;
	return pl_cgroup_dir_ids(group->dirs[found->tree], found->version == 1 ? "tasks" : "cgroup.threads", ret_tids, max);
}

int pl_cgroup_freeze(struct pl_cgroup *group, bool frozen)
{
	const char *text;
	ssize_t rc;

	if (group->freeze < 0)
		return -EOPNOTSUPP;
	if (on_v1(group, PL_CGROUP_FREEZER))
		text = frozen ? "FROZEN" : "THAWED";
	else
		text = frozen ? "1" : "0";
	rc = pl_sys_write(group->freeze, text, strlen(text));
	return rc < 0 ? (int)rc : 0;
}

int pl_cgroup_frozen(const struct pl_cgroup *group)
{
	char text[VALUE_LEN];
	uint64_t frozen;
	int rc;

	if (on_v1(group, PL_CGROUP_FREEZER)) {
		rc = value_read(group->freeze, text);
		return rc < 0 ? rc : strncmp(text, "FROZEN", 6) == 0;
	}
	rc = value_read(group->frozen, text);
	if (rc == 0)
		rc = pl_text_keyed(text, "frozen", &frozen);
	return rc < 0 ? rc : frozen == 1;
}

int pl_cgroup_kill(struct pl_cgroup *group)
{
	const struct pl_cgroup_found *freezer = &group->host->found[PL_CGROUP_FREEZER];
	ssize_t rc;

	if (group->kill >= 0) {
		rc = pl_sys_write(group->kill, "1", 1);
		return rc < 0 ? (int)rc : pl_cgroup_freeze(group, false);
	}
	if (group->host->trees_n == 0)
		return -EOPNOTSUPP;
	return pl_cgroup_dir_kill(group->dirs[freezer->usable ? freezer->tree : 0]);
}
