/* SPDX-License-Identifier: Apache-2.0 */
/* watch: see watch.h. */
#include "support/watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void watch_init(void)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		perror("become a subreaper");
		exit(2);
	}
}

int watch_sleep_us(long us)
{
	const struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	return nanosleep(&t, NULL);
}

double watch_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static ssize_t file_read(const char *path, char *ret, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1, len = 0;

	if (fd < 0)
		return -1;
	while ((n = read(fd, ret + len, size - 1 - (size_t)len)) > 0)
		len += n;
	close(fd);
	ret[len] = 0;
	return n < 0 ? -1 : len;
}

size_t watch_children(pid_t pid, pid_t *ret, size_t max)
{
	char path[64], text[8192], *p = text, *end;
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	if (file_read(path, text, sizeof text) < 0)
		return 0;
	while (n < max) {
		long child = strtol(p, &end, 10);

		if (end == p)
			break;
		ret[n++] = (pid_t)child;
		p = end;
	}
	return n;
}

size_t watch_tree(pid_t pid, pid_t *ret, size_t max)
{
	size_t n = watch_children(pid, ret, max);

	for (size_t i = 0; i < n; i++)
		n += watch_children(ret[i], ret + n, max - n);
	return n;
}

/* The numbered field of /proc/PID/stat as text, from field 3 on. */
static const char *stat_field(pid_t pid, int field, char *text, size_t size)
{
	char path[48];
	const char *p;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_read(path, text, size) < 0)
		return NULL;
	p = strrchr(text, ')');
	for (int i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	return p ? p + 1 : NULL;
}

char watch_state(pid_t pid)
{
	char text[1024];
	const char *state = stat_field(pid, 3, text, sizeof text);

	return state ? *state : 0;
}

/* The library gives it a session of its own; what it leaves behind when it dies is in that session too. */
pid_t watch_supervisor(void)
{
	pid_t children[WATCH_TREE_MAX], found = 0;
	size_t n = watch_children(getpid(), children, WATCH_TREE_MAX);
	char text[1024];

	for (size_t i = 0; i < n; i++) {
		const char *session = stat_field(children[i], 6, text, sizeof text);

		if (!session || strtol(session, NULL, 10) != children[i])
			continue;
		if (found)
			return 0;
		found = children[i];
	}
	return found;
}

long watch_cpu_ticks(pid_t pid)
{
	char text[1024], *end;
	const char *user = stat_field(pid, 14, text, sizeof text);
	long ticks;

	if (!user)
		return -1;
	ticks = strtol(user, &end, 10);
	return ticks + strtol(end, NULL, 10);
}

long watch_rss_kib(pid_t pid)
{
	char text[1024];
	const char *pages = stat_field(pid, 24, text, sizeof text);

	return pages ? strtol(pages, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

int watch_fds(pid_t pid)
{
	char path[48];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return pid == getpid() ? n - 1 : n; /* less the one that looks */
}

static unsigned groups_in(const char *folder, pid_t supervisor)
{
	char a[48], b[48];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir = opendir(folder);

	if (!dir)
		return 0;
	snprintf(a, sizeof a, "plimsoll.%d.", (int)supervisor);
	snprintf(b, sizeof b, "plimsoll-supervisor.%d.", (int)supervisor);
	while ((entry = readdir(dir)))
		n += strncmp(entry->d_name, a, strlen(a)) == 0 || strncmp(entry->d_name, b, strlen(b)) == 0;
	closedir(dir);
	return n;
}

unsigned watch_cgroups(pid_t supervisor)
{
	char text[8192], *rest = text, *line, folder[1024];
	unsigned n = 0;

	if (file_read("/proc/self/cgroup", text, sizeof text) < 0)
		return 0;
	while ((line = strsep(&rest, "\n")) && *line) {
		char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		name++;
		if (!*name) { /* version 2: mounted by itself, or beside version 1 */
			snprintf(folder, sizeof folder, "/sys/fs/cgroup/unified%s", path);
			n += groups_in(folder, supervisor);
			snprintf(folder, sizeof folder, "/sys/fs/cgroup%s", path);
		} else {
			snprintf(folder, sizeof folder, "/sys/fs/cgroup/%s%s", name, path);
		}
		n += groups_in(folder, supervisor);
	}
	return n;
}

unsigned watch_mounts(void)
{
	static char text[512 * 1024];
	char *rest = text, *line;
	unsigned n = 0;

	if (file_read("/proc/self/mountinfo", text, sizeof text) < 0)
		return 0;
	while ((line = strsep(&rest, "\n")))
		n += strstr(line, " tmpfs ") && (strstr(line, "size=64k") || strstr(line, "size=16384k"));
	return n;
}

int watch_end(pid_t pid, int within_ms)
{
	double until = watch_now_s() + within_ms / 1e3;
	int status;

	for (;;) {
		pid_t rc = waitpid(pid, &status, WNOHANG);

		if (rc == pid)
			return status;
		if (rc < 0 || watch_now_s() >= until)
			return -1;
		watch_sleep_us(200);
	}
}

size_t watch_nobody(int within_ms)
{
	double until = watch_now_s() + within_ms / 1e3;
	pid_t children[WATCH_TREE_MAX];
	size_t n;

	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		n = watch_children(getpid(), children, WATCH_TREE_MAX);
		if (!n || watch_now_s() >= until)
			return n;
		watch_sleep_us(200);
	}
}
