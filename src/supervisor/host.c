/* SPDX-License-Identifier: Apache-2.0 */
/* host: from where the supervisor looks. Whether it stands in the initial pid and user namespaces, whether /proc shows
 * everything, which namespaces and groups are its own. Read once at start: these do not change for a process that does not
 * change them itself, and /proc is read through what was open then. */
#include "supervisor/supervisor.h"

#include "linux/sys.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

/* The kernel's fixed inode numbers of the initial namespaces (include/linux/proc_ns.h). */
#define INITIAL_USER_NS 0xeffffffdu
#define INITIAL_PID_NS 0xeffffffcu

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

int host_look(struct pl_wall_env *env)
{
	struct pl_proc self;
	struct pl_proc_status status;
	int rc = pl_proc_pin(getpid(), -1, &self);

	if (rc < 0)
		return rc;
	rc = pl_proc_status(&self, &status);
	for (int i = 0; rc == 0 && i < PL_NS_N; i++)
		rc = pl_proc_ns(&self, i, &env->own_ns[i]);
	if (rc == 0) {
		snprintf(env->own_groups, sizeof env->own_groups, "%s", status.groups);
		env->root = geteuid() == 0 && env->own_ns[PL_NS_USER] == INITIAL_USER_NS &&
			    (status.caps[2] >> CAP_SYS_ADMIN & 1) && (status.caps[2] >> CAP_SYS_PTRACE & 1);
		env->can_dump = env->root && !yama_forbids();
		rc = view_look(env, &self, &status);
	}
	pl_proc_unpin(&self);
	return rc;
}
