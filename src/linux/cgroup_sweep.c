/* SPDX-License-Identifier: Apache-2.0 */
/* pl_cgroup_sweep: what supervisors that were killed left below our own group.
 *
 * A group is abandoned if its lock is free and the process its name tells of has ended. Either alone is not enough: the lock is
 * missing for a moment after a group was made, and a number tells nothing where the other supervisor lives in another pid
 * namespace. */
#include "linux/cgroup.h"

#include "linux/cgroup_dir.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 2000000

/* "PID.START" at the start of text. */
static bool owner_alive(const char *text)
{
	uint64_t pid, start, now;
	const char *rest;
	char number[24];

	if (pl_text_number(text, &pid, &rest) < 0 || *rest != '.' || pl_text_number(rest + 1, &start, &rest) < 0 ||
	    (*rest != '.' && *rest != 0))
		return true; /* not a name that we give: not ours to remove */
	snprintf(number, sizeof number, "%llu", (unsigned long long)pid);
	switch (pl_cgroup_start_time(number, &now)) {
	case 0:
		return now == start;
	case -ENOENT:
	case -ESRCH:
		return false;
	default:
		return true; /* it cannot be told */
	}
}

static int group_sweep(int dir_fd, const char *name, void *data)
{
	unsigned *left = data;
	int fd;

	if (owner_alive(name + strlen(PL_CGROUP_GROUP_PREFIX)))
		return 0;
	fd = pl_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0)
		return 0;
	if (pl_sys_flock(fd, LOCK_EX | LOCK_NB) == 0) {
		if (pl_cgroup_dir_kill(fd) < 0 || pl_cgroup_dir_remove(dir_fd, name) < 0)
			++*left;
	}
	close(fd);
	return 0;
}

/* Others may live in a leaf: it goes only when it is empty. */
static int leaf_sweep(int dir_fd, const char *name, void *data)
{
	(void)data;
	if (!owner_alive(name + strlen(PL_CGROUP_LEAF_PREFIX)))
		(void)pl_cgroup_dir_remove(dir_fd, name);
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int pl_cgroup_sweep(struct pl_cgroup_host *host, unsigned budget_ms)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int64_t deadline = now_ms() + budget_ms;
	unsigned left;

	for (;;) {
		left = 0;
		for (unsigned i = 0; i < host->trees_n; i++) {
			int rc = pl_cgroup_dir_each(host->trees[i].dir_fd, PL_CGROUP_GROUP_PREFIX, group_sweep, &left);

			if (rc == 0 && host->trees[i].version == 2)
				rc = pl_cgroup_dir_each(host->trees[i].dir_fd, PL_CGROUP_LEAF_PREFIX, leaf_sweep, NULL);
			if (rc < 0)
				return rc;
		}
		if (!left || now_ms() >= deadline)
			return (int)left;
		nanosleep(&pause, NULL);
	}
}
