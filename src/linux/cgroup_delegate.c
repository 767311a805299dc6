/* SPDX-License-Identifier: Apache-2.0 */
/* On v2 a group that passes controllers on to groups below it may hold no process itself (the root excepted). So whoever
 * lives in our group has to go into a leaf below it first, and that is done only if the group is ours to write and nobody
 * lives there but us and those that agreed.
 *
 * Several supervisors can share such a group, when their parent has been moved into the leaf of the first. Each holds a shared
 * lock on the group while it lives; the one that can have the lock exclusively at its end is the last, and tidies up. */
#include "linux/cgroup_delegate.h"

#include "base/alloc.h"
#include "linux/cgroup.h"
#include "linux/cgroup_dir.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LIST_MAX 4096
#define OTHERS_MAX 64
#define LOCK_TRIES 100
#define EMPTY_ROUNDS 16

/* The controllers that a file such as cgroup.controllers lists, as bits. */
static unsigned controllers_read(int dir_fd, const char *file)
{
	unsigned bits = 0;
	char *text, *save;

	if (pl_text_read(dir_fd, file, LIST_MAX, &text) < 0)
		return 0;
	save = text;
	while (*save) {
		size_t len = strcspn(save, " \n");

		for (unsigned c = 0; c < PL_CGROUP_FREEZER; c++)
			if (strlen(pl_cgroup_controller_name(c)) == len &&
			    strncmp(save, pl_cgroup_controller_name(c), len) == 0)
				bits |= 1u << c;
		save += len + (save[len] != 0);
	}
	pl_free(text);
	return bits;
}

/* Writes "+NAME" or "-NAME" for each bit. Returns the first failure, but tries all. */
static int controllers_switch(int dir_fd, unsigned bits, char sign)
{
	int result = 0;

	for (unsigned c = 0; c < PL_CGROUP_FREEZER; c++) {
		char text[16];
		int rc;

		if (!(bits & 1u << c))
			continue;
		snprintf(text, sizeof text, "%c%s", sign, pl_cgroup_controller_name(c));
		rc = pl_cgroup_dir_write(dir_fd, "cgroup.subtree_control", text);
		if (rc < 0 && result == 0)
			result = rc;
	}
	return result;
}

static bool still_at(const char *path)
{
	char *text, *cursor, *line;
	bool same = false;

	if (pl_text_read(AT_FDCWD, "/proc/self/cgroup", 64u << 10, &text) < 0)
		return false;
	cursor = text;
	while ((line = pl_text_line(&cursor)))
		if (strncmp(line, "0::", 3) == 0)
			same = strcmp(line + 3, path) == 0;
	pl_free(text);
	return same;
}

/* Waits for a supervisor that is just tidying up; that takes it milliseconds. */
static int lock_shared(int dir_fd)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int rc = -EAGAIN;

	for (int try = 0; try < LOCK_TRIES && rc == -EAGAIN; try++) {
		if (try)
			nanosleep(&pause, NULL);
		rc = pl_sys_flock(dir_fd, LOCK_SH | LOCK_NB);
	}
	return rc;
}

static bool is_leaf(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && strncmp(name + 1, PL_CGROUP_LEAF_PREFIX, strlen(PL_CGROUP_LEAF_PREFIX)) == 0;
}

/* The group above, if it is seen through the same mount. */
static int parent_open(int dir_fd)
{
	int fd = pl_sys_openat(dir_fd, "..", O_RDONLY | O_DIRECTORY, 0);
	struct statfs fs;

	if (fd >= 0 && (pl_sys_fstatfs(fd, &fs) < 0 || (unsigned long)fs.f_type != CGROUP2_SUPER_MAGIC)) {
		close(fd);
		return -EXDEV;
	}
	return fd;
}

static bool is_ours(pid_t pid, const pid_t *ours, size_t ours_n)
{
	for (size_t i = 0; i < ours_n; i++)
		if (ours[i] == pid)
			return true;
	return pid == getpid();
}

/* Whether nobody lives in the group but us and those that agreed, and it is ours to change. */
static bool may_move(const struct pl_cgroup_place *place, const pid_t *ours, size_t ours_n, char *why)
{
	static const char *const advice = "start it by `systemd-run --user --scope -p Delegate=yes COMMAND` (root: without --user)";
	pid_t pids[OTHERS_MAX];
	int n;

	if (pl_sys_faccessat(place->dir_fd, "cgroup.subtree_control", W_OK) < 0 ||
	    pl_sys_faccessat(place->dir_fd, "cgroup.procs", W_OK) < 0) {
		snprintf(why, PL_CGROUP_WHY_LEN, "not delegated to this user; %s", advice);
		return false;
	}
	n = pl_cgroup_dir_ids(place->dir_fd, "cgroup.procs", pids, OTHERS_MAX);
	for (int i = 0; i < n && i < OTHERS_MAX; i++)
		if (!is_ours(pids[i], ours, ours_n)) {
			snprintf(why, PL_CGROUP_WHY_LEN, "not delegated: other processes live in this group too (as %d); %s", pids[i],
				 advice);
			return false;
		}
	if (n >= 0 && n <= OTHERS_MAX)
		return true;
	snprintf(why, PL_CGROUP_WHY_LEN, "not delegated: who lives in this group cannot be told");
	return false;
}

static int pid_move(int dir_fd, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof text, "%d", pid);
	return pl_cgroup_dir_write(dir_fd, "cgroup.procs", text);
}

/* Moves everybody from a leaf to the group above and removes the leaf. */
static int leaf_dissolve(int dir_fd, const char *name, void *data)
{
	int fd = pl_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	(void)data;
	if (fd < 0)
		return 0;
	for (int round = 0; round < EMPTY_ROUNDS; round++) {
		pid_t pids[OTHERS_MAX];
		int n = pl_cgroup_dir_ids(fd, "cgroup.procs", pids, OTHERS_MAX);

		if (n <= 0)
			break;
		for (int i = 0; i < n && i < OTHERS_MAX; i++)
			pid_move(dir_fd, pids[i]);
	}
	close(fd);
	(void)pl_cgroup_dir_remove(dir_fd, name);
	return 0;
}

static int leaf_make(const struct pl_cgroup_place *place, const pid_t *ours, size_t ours_n, char ret_name[PL_CGROUP_NAME_LEN])
{
	uint64_t start;
	int fd, rc;

	rc = pl_cgroup_start_time("self", &start);
	if (rc < 0)
		return rc;
	snprintf(ret_name, PL_CGROUP_NAME_LEN, PL_CGROUP_LEAF_PREFIX "%d.%llu", getpid(), (unsigned long long)start);
	rc = pl_sys_mkdirat(place->dir_fd, ret_name, 0755);
	if (rc < 0)
		return rc;
	fd = pl_sys_openat(place->dir_fd, ret_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	rc = fd < 0 ? fd : pid_move(fd, getpid());
	for (size_t i = 0; i < ours_n && rc == 0; i++)
		rc = pid_move(fd, ours[i]);
	if (fd >= 0)
		close(fd);
	return rc == -ESRCH ? 0 : rc; /* ended meanwhile */
}

/* Enables what is needed; returns whether this process is then in a leaf. */
static bool enable(const struct pl_cgroup_place *place, unsigned need, const pid_t *ours, size_t ours_n, char *why)
{
	char name[PL_CGROUP_NAME_LEN] = "";
	bool root = pl_sys_faccessat(place->dir_fd, "cgroup.type", F_OK) == -ENOENT;
	int rc;

	if (!root && !may_move(place, ours, ours_n, why))
		return false;
	rc = root ? 0 : leaf_make(place, ours, ours_n, name);
	if (rc == 0)
		rc = controllers_switch(place->dir_fd, need, '+');
	if (rc == 0)
		return !root;
	snprintf(why, PL_CGROUP_WHY_LEN, "the controllers cannot be enabled for groups below it: %s", strerror(-rc));
	if (!root && (controllers_read(place->dir_fd, "cgroup.subtree_control") & need) == 0) {
		leaf_dissolve(place->dir_fd, name, NULL);
		return false;
	}
	return !root;
}

int pl_cgroup_delegate(const struct pl_cgroup_place *place, unsigned wanted, const pid_t *ours, size_t ours_n,
		       struct pl_cgroup_delegation *ret, char why[PL_CGROUP_WHY_LEN])
{
	struct pl_cgroup_place group = *place;
	unsigned offered, need;

	*ret = (struct pl_cgroup_delegation){ .dir_fd = place->dir_fd };
	if (!wanted)
		return 0;
	if (is_leaf(place->path)) {
		group.dir_fd = parent_open(place->dir_fd);
		ret->leaf = group.dir_fd >= 0;
		if (!ret->leaf)
			group.dir_fd = place->dir_fd;
		else
			close(place->dir_fd);
		ret->dir_fd = group.dir_fd;
	}
	if (lock_shared(group.dir_fd) < 0) {
		snprintf(why, PL_CGROUP_WHY_LEN, "another supervisor holds its lock");
		return 0;
	}
	if (!still_at(place->path)) {
		close(group.dir_fd);
		ret->dir_fd = -1;
		return -EAGAIN;
	}
	offered = controllers_read(group.dir_fd, "cgroup.controllers");
	need = wanted & offered & ~controllers_read(group.dir_fd, "cgroup.subtree_control");
	ret->missing = wanted & ~offered;
	if (!need)
		return 0;
	if (!ret->leaf)
		ret->leaf = enable(&group, need, ours, ours_n, why);
	else if (controllers_switch(group.dir_fd, need, '+') < 0)
		snprintf(why, PL_CGROUP_WHY_LEN, "not every controller can be enabled for groups below the one above it");
	return 0;
}

void pl_cgroup_undelegate(int dir_fd)
{
	unsigned all = (1u << PL_CGROUP_FREEZER) - 1;

	if (pl_sys_flock(dir_fd, LOCK_EX | LOCK_NB) < 0)
		return; /* another supervisor is here */
	controllers_switch(dir_fd, all & controllers_read(dir_fd, "cgroup.subtree_control"), '-');
	if (controllers_read(dir_fd, "cgroup.subtree_control"))
		return;
	pl_cgroup_dir_each(dir_fd, PL_CGROUP_LEAF_PREFIX, leaf_dissolve, NULL);
}
