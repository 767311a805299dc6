/* SPDX-License-Identifier: Apache-2.0 */
/* proc: see proc.h. Called by the supervisor only. What /proc says is the kernel's word; only sizes are checked. */
#include "linux/proc.h"

#include "base/digest.h"
#include "base/fd.h"
#include "linux/sys.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most of it is the list of groups: room for some six thousand. */
#define STATUS_MAX 65536

const char *const pl_ns_names[PL_NS_N] = {
	[PL_NS_PID] = "pid", [PL_NS_MNT] = "mnt",   [PL_NS_NET] = "net",       [PL_NS_IPC] = "ipc",
	[PL_NS_UTS] = "uts", [PL_NS_USER] = "user", [PL_NS_CGROUP] = "cgroup", [PL_NS_TIME] = "time",
};

const uint64_t pl_ns_flags[PL_NS_N] = {
	[PL_NS_PID] = CLONE_NEWPID, [PL_NS_MNT] = CLONE_NEWNS,	 [PL_NS_NET] = CLONE_NEWNET,
	[PL_NS_IPC] = CLONE_NEWIPC, [PL_NS_UTS] = CLONE_NEWUTS,	 [PL_NS_USER] = CLONE_NEWUSER,
	[PL_NS_CGROUP] = CLONE_NEWCGROUP, [PL_NS_TIME] = CLONE_NEWTIME,
};

/* Field number 22 of /proc/PID/stat; the second field may hold blanks and brackets, so counting starts at the last ')'. */
static int stat_field(const char *stat, int field, uint64_t *ret)
{
	const char *p = strrchr(stat, ')');

	for (int i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EPROTO;
	*ret = strtoull(p + 1, NULL, 10);
	return 0;
}

int pl_proc_pin(pid_t pid, int pidfd, struct pl_proc *ret)
{
	struct pl_proc p = { .pid = pid, .pidfd = pidfd, .dirfd = -1, .statusfd = -1 };
	char path[32], stat[1024];
	int rc = 0;

	if (p.pidfd < 0)
		rc = p.pidfd = pl_sys_pidfd_open(pid);
	if (rc >= 0) {
		snprintf(path, sizeof path, "/proc/%d", (int)pid);
		rc = p.dirfd = pl_sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
	}
	if (rc >= 0)
		rc = p.statusfd = pl_sys_openat(p.dirfd, "status", O_RDONLY, 0);
	if (rc >= 0)
		rc = (int)pl_proc_file(&p, "stat", stat, sizeof stat);
	if (rc >= 0)
		rc = stat_field(stat, 22, &p.start_time);
	/* Alive after its directory was opened by number: the directory is that of the process behind the pidfd. */
	if (rc >= 0 && !pl_proc_alive(&p))
		rc = -ESRCH;
	if (rc < 0) {
		pl_proc_unpin(&p);
		return rc;
	}
	*ret = p;
	return 0;
}

void pl_proc_unpin(struct pl_proc *proc)
{
	pl_fd_close(&proc->pidfd);
	pl_fd_close(&proc->dirfd);
	pl_fd_close(&proc->statusfd);
	proc->pid = 0;
}

bool pl_proc_alive(const struct pl_proc *proc)
{
	struct pollfd p = { .fd = proc->pidfd, .events = POLLIN };

	return proc->pidfd >= 0 && poll(&p, 1, 0) == 0;
}

ssize_t pl_proc_file(const struct pl_proc *proc, const char *name, char *ret, size_t size)
{
	PL_CLEANUP_FD fd = pl_sys_openat(proc->dirfd, name, O_RDONLY, 0);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while ((n = pl_sys_read(fd, ret + len, size - len)) > 0) {
		len += (size_t)n;
		if (len == size)
			return -E2BIG;
	}
	if (n < 0)
		return n;
	ret[len] = 0;
	return (ssize_t)len;
}

static void status_ids(const char *value, uint32_t ret[4])
{
	char *end = (char *)value;

	for (int i = 0; i < 4; i++)
		ret[i] = (uint32_t)strtoul(end, &end, 10);
}

/* A list that does not fit is stood for by its digest: two lists that differ must not look the same. */
static void status_groups(const char *value, char ret[128])
{
	char hex[PL_SHA256_HEX_SIZE];
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;
	size_t len = strlen(value);

	while (len && value[len - 1] == ' ')
		len--;
	if (len < 128) {
		memcpy(ret, value, len);
		ret[len] = 0;
		return;
	}
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, value, len);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, hex);
	snprintf(ret, 128, "a long list, sha256:%s", hex);
}

static void status_line(const char *key, const char *value, struct pl_proc_status *s)
{
	static const char *const caps[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

	if (strcmp(key, "Name") == 0)
		snprintf(s->name, sizeof s->name, "%s", value);
	else if (strcmp(key, "State") == 0)
		s->state = value[0];
	else if (strcmp(key, "PPid") == 0)
		s->ppid = (pid_t)strtol(value, NULL, 10);
	else if (strcmp(key, "TracerPid") == 0)
		s->tracer = (pid_t)strtol(value, NULL, 10);
	else if (strcmp(key, "Uid") == 0)
		status_ids(value, s->uids);
	else if (strcmp(key, "Gid") == 0)
		status_ids(value, s->gids);
	else if (strcmp(key, "Groups") == 0)
		status_groups(value, s->groups);
	else if (strcmp(key, "NoNewPrivs") == 0)
		s->no_new_privs = value[0] == '1';
	else if (strcmp(key, "Seccomp") == 0)
		s->seccomp_mode = value[0] - '0';
	else if (strcmp(key, "Seccomp_filters") == 0)
		s->seccomp_filters = (int)strtol(value, NULL, 10);
	else if (strcmp(key, "Threads") == 0)
		s->threads = (int)strtol(value, NULL, 10);
	else if (strcmp(key, "VmHWM") == 0)
		s->peak_bytes = strtoull(value, NULL, 10) * 1024;
	for (int i = 0; i < 5; i++)
		if (strcmp(key, caps[i]) == 0)
			s->caps[i] = strtoull(value, NULL, 16);
}

int pl_proc_status(const struct pl_proc *proc, struct pl_proc_status *ret)
{
	static char text[STATUS_MAX]; /* one thread */
	char *line = text;
	ssize_t n = pl_sys_pread(proc->statusfd, text, sizeof text - 1, 0);

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ESRCH;
	if (n == sizeof text - 1)
		return -E2BIG;
	text[n] = 0;
	/* What is not said must not pass for what is wished. */
	memset(ret, 0, sizeof *ret);
	memset(ret->caps, 0xff, sizeof ret->caps);
	memset(ret->uids, 0xff, sizeof ret->uids);
	memset(ret->gids, 0xff, sizeof ret->gids);
	ret->tracer = ret->seccomp_filters = -1;
	while (*line) {
		char *end = strchr(line, '\n'), *colon = strchr(line, ':');

		if (!end || !colon)
			break;
		*end = *colon = 0;
		status_line(line, colon + 1 + strspn(colon + 1, " \t"), ret);
		line = end + 1;
	}
	return 0;
}

int pl_proc_ns(const struct pl_proc *proc, int ns, uint64_t *ret)
{
	char path[32], link[64], *bracket;
	ssize_t n;

	snprintf(path, sizeof path, "ns/%s", pl_ns_names[ns]);
	n = pl_sys_readlinkat(proc->dirfd, path, link, sizeof link - 1);
	if (n < 0)
		return (int)n;
	link[n] = 0;
	bracket = strchr(link, '[');
	if (!bracket)
		return -EPROTO;
	*ret = strtoull(bracket + 1, NULL, 10);
	return 0;
}

int pl_proc_exe(const struct pl_proc *proc, dev_t *ret_dev, ino_t *ret_ino)
{
	PL_CLEANUP_FD fd = pl_sys_openat(proc->dirfd, "exe", O_PATH, 0);
	struct stat st;
	int rc;

	if (fd < 0)
		return fd;
	rc = pl_sys_fstat(fd, &st);
	if (rc < 0)
		return rc;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}

int pl_proc_children(const struct pl_proc *proc, pid_t *ret, size_t max)
{
	char name[48], text[512], *p = text, *end;
	size_t n = 0;
	ssize_t len;

	snprintf(name, sizeof name, "task/%d/children", (int)proc->pid);
	len = pl_proc_file(proc, name, text, sizeof text);
	if (len < 0)
		return (int)len;
	for (;;) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			return (int)n;
		if (n == max)
			return -E2BIG;
		ret[n++] = (pid_t)pid;
		p = end;
	}
}

int pl_proc_fds(const struct pl_proc *proc, int (*each)(void *ctx, int fd, const char *target), void *ctx)
{
	PL_CLEANUP_FD dirfd = pl_sys_openat(proc->dirfd, "fd", O_RDONLY | O_DIRECTORY, 0);
	char entries[2048] __attribute__((aligned(8))), target[256];
	int rc = 0, count = 0;
	long n;

	if (dirfd < 0)
		return dirfd;
	while ((n = PL_SYS("getdents64", syscall(SYS_getdents64, dirfd, entries, sizeof entries))) > 0) {
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(void *)(entries + at);
			ssize_t len;

			at += d->d_reclen;
			if (d->d_name[0] == '.')
				continue;
			len = pl_sys_readlinkat(dirfd, d->d_name, target, sizeof target - 1);
			if (len == -ENOENT)
				continue; /* closed since it was listed: a zygote at work opens and closes streams */
			if (len < 0)
				return (int)len;
			target[len] = 0;
			count++;
			rc = each(ctx, (int)strtol(d->d_name, NULL, 10), target);
			if (rc < 0)
				return rc;
		}
	}
	return n < 0 ? (int)n : count;
}

int64_t pl_proc_cpu_us(const struct pl_proc *proc)
{
	char text[1024];
	uint64_t user, system;
	ssize_t n = pl_proc_file(proc, "schedstat", text, sizeof text);

	if (n > 0)
		return (int64_t)(strtoull(text, NULL, 10) / 1000);
	n = pl_proc_file(proc, "stat", text, sizeof text);
	if (n < 0)
		return n;
	if (stat_field(text, 14, &user) < 0 || stat_field(text, 15, &system) < 0)
		return -EPROTO;
	return (int64_t)((user + system) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}
