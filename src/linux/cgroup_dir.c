/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/cgroup_dir.h"

#include "base/alloc.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX (4u << 20) /* bytes of a list of ids; the kernel's largest pid has seven digits */
#define KILL_MAX 1024 /* processes looked at in a round; our own groups hold a few */
#define KILL_BATCH 64 /* pidfds open at a time */
#define KILL_ROUNDS 3

int pl_cgroup_dir_write(int dir_fd, const char *file, const char *text)
{
	ssize_t rc;
	int fd;

	fd = pl_sys_openat(dir_fd, file, O_WRONLY, 0);
	if (fd < 0)
		return fd;
	rc = pl_sys_write(fd, text, strlen(text));
	close(fd);
	return rc < 0 ? (int)rc : 0;
}

int pl_cgroup_dir_ids(int dir_fd, const char *file, pid_t *ret_ids, int max)
{
	char *text, *cursor, *line;
	uint64_t id;
	int n = 0, rc;

	rc = pl_text_read(dir_fd, file, LIST_MAX, &text);
	if (rc < 0)
		return rc;
	cursor = text;
	while ((line = pl_text_line(&cursor))) {
		if (pl_text_number(line, &id, NULL) < 0 || id == 0 || id > INT32_MAX)
			continue;
		if (n < max)
			ret_ids[n] = (pid_t)id;
		n++;
	}
	pl_free(text);
	return n;
}

static bool listed(const pid_t *pids, int n, pid_t pid)
{
	for (int i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Signals pids[0..n). A number is only sent to if it is still listed after a pidfd for it was had: then the pidfd is of the
 * process that is in the group, not of one that took over the number. */
static int kill_batch(int dir_fd, const pid_t *pids, int n)
{
	pid_t again[KILL_MAX];
	int pidfds[KILL_BATCH];
	int again_n;

	for (int i = 0; i < n; i++)
		pidfds[i] = pl_sys_pidfd_open(pids[i]);
	again_n = pl_cgroup_dir_ids(dir_fd, "cgroup.procs", again, KILL_MAX);
	for (int i = 0; i < n; i++) {
		if (pidfds[i] < 0)
			continue;
		if (listed(again, again_n < KILL_MAX ? again_n : KILL_MAX, pids[i]))
			pl_sys_pidfd_send_signal(pidfds[i], SIGKILL);
		close(pidfds[i]);
	}
	return again_n < 0 ? again_n : 0;
}

/* Returns how many there were. */
static int kill_listed(int dir_fd)
{
	pid_t pids[KILL_MAX];
	int n, rc = 0;

	n = pl_cgroup_dir_ids(dir_fd, "cgroup.procs", pids, KILL_MAX);
	if (n > KILL_MAX)
		n = KILL_MAX;
	for (int at = 0; at < n && rc == 0; at += KILL_BATCH)
		rc = kill_batch(dir_fd, pids + at, n - at < KILL_BATCH ? n - at : KILL_BATCH);
	return rc < 0 ? rc : n;
}

int pl_cgroup_dir_kill(int dir_fd)
{
	bool freezer;
	int n = 1, rc;

	rc = pl_cgroup_dir_write(dir_fd, "cgroup.kill", "1");
	if (rc != -ENOENT)
		return rc;
	/* Frozen processes do not fork away from under the list; and on v1 they die only when thawed. */
	freezer = pl_cgroup_dir_write(dir_fd, "freezer.state", "FROZEN") == 0;
	for (int round = 0; round < KILL_ROUNDS && n > 0; round++)
		n = kill_listed(dir_fd);
	rc = freezer ? pl_cgroup_dir_write(dir_fd, "freezer.state", "THAWED") : 0;
	return n < 0 ? n : rc;
}

int pl_cgroup_dir_remove(int parent_fd, const char *name)
{
	int rc = pl_sys_unlinkat(parent_fd, name, AT_REMOVEDIR);

	if (rc < 0 && rc != -EBUSY && rc != -ENOENT) /* nothing that waiting would mend; one more try costs little */
		rc = pl_sys_unlinkat(parent_fd, name, AT_REMOVEDIR);
	return rc == -ENOENT ? 0 : rc;
}

int pl_cgroup_dir_each(int dir_fd, const char *prefix, int (*visit)(int dir_fd, const char *name, void *data), void *data)
{
	_Alignas(struct dirent64) char entries[8192];
	ssize_t n;
	int fd, rc = 0;

	fd = pl_sys_openat(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0); /* a reading position of its own */
	if (fd < 0)
		return fd;
	while (rc == 0 && (n = pl_sys_getdents(fd, entries, sizeof entries)) != 0) {
		if (n < 0)
			rc = (int)n;
		for (ssize_t at = 0; at < n && rc == 0;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);

			at += entry->d_reclen;
			if (entry->d_type == DT_DIR && strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
				rc = visit(dir_fd, entry->d_name, data);
		}
	}
	close(fd);
	return rc;
}

int pl_cgroup_start_time(const char *pid, uint64_t *ret_ticks)
{
	char path[48], *text, *p;
	int rc;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	rc = pl_text_read(AT_FDCWD, path, 4096, &text);
	if (rc < 0)
		return rc;
	/* The name in field 2 may hold anything; it ends at the last parenthesis. 20 blanks later is field 22. */
	p = strrchr(text, ')');
	if (p && (strncmp(p, ") Z", 3) == 0 || strncmp(p, ") X", 3) == 0)) {
		pl_free(text);
		return -ESRCH;
	}
	for (int i = 0; i < 20 && p; i++)
		p = strchr(p + 1, ' ');
	rc = p ? pl_text_number(p + 1, ret_ticks, NULL) : -EPROTO;
	pl_free(text);
	return rc;
}
