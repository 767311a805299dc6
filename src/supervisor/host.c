/* SPDX-License-Identifier: Apache-2.0 */
/* host: from where the supervisor looks. Whether it stands in the initial pid and user namespaces, whether /proc shows
 * everything, which namespaces and groups are its own. Read once at start: these do not change for a process that does not
 * change them itself, and /proc is read through what was open then. */
#include "supervisor/supervisor.h"

#include "base/text.h"
#include "linux/sys.h"

#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The kernel's fixed inode numbers of the initial namespaces (include/linux/proc_ns.h). */
#define INITIAL_USER_NS 0xeffffffdu
#define INITIAL_PID_NS 0xeffffffcu

/* Below this many descriptors not even one sandbox can be made, and below this size of a file no helper be copied. */
#define DESCRIPTORS_MIN 128
#define FILE_BYTES_MIN (64u << 20)

int host_limits(char why[HOST_WHY_LEN])
{
	static const struct {
		int resource;
		const char *name;
		uint64_t least;
	} limits[] = {
		{ RLIMIT_NOFILE, "RLIMIT_NOFILE (ulimit -n)", DESCRIPTORS_MIN },
		{ RLIMIT_FSIZE, "RLIMIT_FSIZE (ulimit -f)", FILE_BYTES_MIN },
		{ RLIMIT_NPROC, "RLIMIT_NPROC (ulimit -u)", 0 },
		{ RLIMIT_AS, "RLIMIT_AS (ulimit -v)", 0 },
		{ RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)", 0 },
		{ RLIMIT_CPU, "RLIMIT_CPU (ulimit -t)", 0 },
	};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit limit;
		int rc = pl_sys_prlimit(0, limits[i].resource, NULL, &limit);

		if (rc == 0 && limit.rlim_cur != limit.rlim_max) {
			limit.rlim_cur = limit.rlim_max;
			rc = pl_sys_prlimit(0, limits[i].resource, &limit, NULL);
		}
		if (rc < 0 || limit.rlim_max < limits[i].least) {
			snprintf(why, HOST_WHY_LEN, "%s is %llu%s%s, and %llu are needed; raise that limit where plimsoll is started",
				 limits[i].name, (unsigned long long)limit.rlim_max, rc < 0 ? ", not to be had: " : "",
				 rc < 0 ? strerror(-rc) : "", (unsigned long long)limits[i].least);
			return rc < 0 ? rc : -ERANGE;
		}
	}
	return 0;
}

static bool number_is(const char *text, pid_t want)
{
	char *end;
	long number = strtol(text, &end, 10);

	return end != text && (*end == 0 || *end == '\n') && number == want;
}

/* Pids are numbers of our own pid namespace; so must those in /proc be, or one process would be taken for another. */
static int proc_check(char why[HOST_WHY_LEN])
{
	char link[32] = "", status[4096], *line;
	struct pl_proc self = { .dirfd = -1 };
	struct statfs fs;
	ssize_t n;

	if (statfs("/proc", &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC) {
		snprintf(why, HOST_WHY_LEN, "/proc is not mounted here, and facts are read from it; mount it (mount -t proc proc /proc)");
		return -ENOENT;
	}
	n = pl_sys_readlinkat(AT_FDCWD, "/proc/self", link, sizeof link - 1);
	self.dirfd = n < 0 ? (int)n : pl_sys_openat(AT_FDCWD, "/proc/self", O_PATH | O_DIRECTORY, 0);
	n = self.dirfd < 0 ? self.dirfd : pl_proc_file(&self, "status", status, sizeof status);
	if (self.dirfd >= 0)
		close(self.dirfd);
	line = n < 0 ? NULL : strstr(status, "\nNSpid:\t");
	/* One number: none for a namespace above ours, from which this /proc would be. */
	if (line && number_is(line + strlen("\nNSpid:\t"), getpid()) && number_is(link, getpid()))
		return 0;
	snprintf(why, HOST_WHY_LEN,
		 "/proc shows the processes of another pid namespace than ours; mount one of our own (bwrap --proc /proc, "
		 "unshare --mount-proc), or start plimsoll outside");
	return -EXDEV;
}

/* Whether our own id is the host's 0. In another user namespace than the initial one the kernel shows process 1's map in
 * numbers of ours: where it says that the host's 0 is. */
static int host_root_look(bool initial, bool *ret)
{
	unsigned long inside, outside;
	char text[128];
	int fd, rc;

	*ret = geteuid() == 0;
	if (initial)
		return 0;
	fd = pl_sys_openat(AT_FDCWD, "/proc/1/uid_map", O_RDONLY, 0);
	rc = fd < 0 ? fd : (int)pl_sys_read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (rc < 0)
		return rc;
	text[rc] = 0;
	if (sscanf(text, "%lu %lu", &inside, &outside) != 2)
		return -EPROTO;
	*ret = outside == geteuid();
	return 0;
}

static bool option_has(const char *options, const char *word)
{
	const char *at = strstr(options, word);

	return at && (at[strlen(word)] == 0 || strchr(",\n", at[strlen(word)]));
}

/* The options of what is mounted on /proc last, in the table of our mounts. -ENOENT: nothing is. */
static int proc_options(const struct pl_proc *self, char ret[256])
{
	static char table[256 * 1024];
	char *rest = table, *line;
	int found = -ENOENT;
	ssize_t n = pl_proc_file(self, "mountinfo", table, sizeof table);

	if (n < 0)
		return (int)n;
	while ((line = strsep(&rest, "\n")) && *line) {
		const char *dash = strstr(line, " - proc ");

		if (!strstr(line, " /proc ") || !dash)
			continue;
		snprintf(ret, 256, "%s", strrchr(dash, ' ') + 1);
		found = 0;
	}
	return found;
}

static int view_look(struct pl_wall_env *env, const struct pl_proc *self, const struct pl_proc_status *status)
{
	bool may_ptrace = status->caps[2] >> CAP_SYS_PTRACE & 1;
	char options[256] = "";
	const char *proc = "unmasked";
	int rc = proc_options(self, options);

	if (rc < 0)
		proc = "not found mounted";
	else if (option_has(options, "subset=pid"))
		proc = "masked by subset=pid", rc = -EPERM;
	else if (strstr(options, "hidepid=") && !option_has(options, "hidepid=0") && !option_has(options, "hidepid=off") &&
		 !may_ptrace)
		proc = "masked by hidepid", rc = -EPERM;
	if (env->own_ns[PL_NS_PID] != INITIAL_PID_NS)
		rc = -EPERM;
	snprintf(env->host_view, sizeof env->host_view, "%s pid namespace, /proc %s",
		 env->own_ns[PL_NS_PID] == INITIAL_PID_NS ? "initial" : "nested", proc);
	env->host_view_error = rc;
	return 0;
}

static bool yama_forbids(void)
{
	int fd = pl_sys_openat(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", O_RDONLY, 0);
	char scope = '0';

	if (fd < 0)
		return false;
	(void)pl_sys_read(fd, &scope, 1);
	close(fd);
	return scope == '3';
}

/* What root needs: the first three to look, the others to map ids that are not its own. */
static void root_look(struct pl_wall_env *env, const struct pl_proc_status *status)
{
	static const struct {
		int cap, or_cap;
		const char *name;
	} caps[] = {
		{ CAP_SYS_ADMIN, CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
		{ CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH" },
		{ CAP_SETUID, CAP_SETUID, "CAP_SETUID" },
		{ CAP_SETGID, CAP_SETGID, "CAP_SETGID" },
	};
	uint64_t have = status->caps[2];
	struct pl_text missing = PL_TEXT(env->missing_caps);
	bool initial = env->own_ns[PL_NS_USER] == INITIAL_USER_NS;

	for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
		if (!initial || !((have >> caps[i].cap | have >> caps[i].or_cap) & 1))
			pl_text_add(&missing, "%s%s", missing.len ? ", " : "", caps[i].name);
	if (!initial)
		snprintf(env->missing_caps, sizeof env->missing_caps, "CAP_SYS_ADMIN and the like in the host's user namespace");
	env->root = geteuid() == 0 && !missing.len;
	env->own_filters = status->seccomp_filters > 0 ? status->seccomp_filters : 0;
	/* Who runs under a filter himself is shown none (PTRACE_SECCOMP_GET_FILTER). */
	env->can_dump = env->root && status->seccomp_mode == 0 && !yama_forbids();
}

int host_look(struct pl_wall_env *env, char why[HOST_WHY_LEN])
{
	struct pl_proc self;
	struct pl_proc_status status;
	int rc = proc_check(why);

	if (rc < 0)
		return rc;
	rc = pl_proc_pin(getpid(), -1, &self);
	if (rc == 0)
		rc = pl_proc_status(&self, &status);
	for (int i = 0; rc == 0 && i < PL_NS_N; i++)
		rc = pl_proc_ns(&self, i, &env->own_ns[i]);
	if (rc == 0) {
		snprintf(env->own_groups, sizeof env->own_groups, "%s", status.groups);
		root_look(env, &status);
		rc = view_look(env, &self, &status);
	}
	if (rc == 0 && !env->root && !env->host_view_error)
		rc = host_root_look(env->own_ns[PL_NS_USER] == INITIAL_USER_NS, &env->host_root);
	pl_proc_unpin(&self);
	if (rc < 0)
		snprintf(why, HOST_WHY_LEN, "/proc could not be read: %s", strerror(-rc));
	return rc;
}
