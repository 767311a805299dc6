/* SPDX-License-Identifier: Apache-2.0 */
/* confine: what the guest's process and init do to themselves before untrusted code can come near: ids, capabilities, resource
 * limits, Landlock, filter. Everything here is inherited over exec and cannot be taken back. */
#include "launch/steps.h"
#include "linux/landlock.h"
#include "linux/sys.h"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <unistd.h>

static int limits_set(const struct pl_jail_plan *plan)
{
	for (uint32_t i = 0; i < plan->rlimit_n; i++) {
		struct rlimit limit = { .rlim_cur = plan->rlimits[i].soft, .rlim_max = plan->rlimits[i].hard };
		int rc = pl_sys_prlimit(0, plan->rlimits[i].resource, &limit, NULL);

		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Until the kernel says that there is no such capability, so that one which is newer than this program goes too. */
static int bounding_drop(const struct pl_jail_plan *plan)
{
	int rc;

	(void)plan;
	for (unsigned long cap = 0; cap < 64; cap++) {
		rc = pl_sys_prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (rc == -EINVAL && cap > CAP_AUDIT_READ)
			return 0;
		/* Without a user namespace an ordinary user has no capability to lose, and may not say so. */
		if (rc == -EPERM && !plan->has_mount_namespace)
			return 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int ids_set(const struct pl_jail_plan *plan)
{
	int rc = 0;

	if (plan->guest_gid != UINT32_MAX)
		rc = (int)PL_SYS("setresgid", syscall(SYS_setresgid, plan->guest_gid, plan->guest_gid, plan->guest_gid));
	if (rc == 0 && plan->guest_uid != UINT32_MAX)
		rc = (int)PL_SYS("setresuid", syscall(SYS_setresuid, plan->guest_uid, plan->guest_uid, plan->guest_uid));
	return rc;
}

static int capabilities_drop(const struct pl_jail_plan *plan)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	int rc = pl_sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

	(void)plan;
	return rc < 0 ? rc : (int)PL_SYS("capset", syscall(SYS_capset, &header, none));
}

static int new_privileges_forbid(const struct pl_jail_plan *plan)
{
	(void)plan;
	return pl_sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* A second wall where the kernel has it; the fact is stated, never required, so a kernel without it is no failure. */
static int landlock_forbid(const struct pl_jail_plan *plan)
{
	int rc = plan->landlock ? pl_landlock_forbid_all() : 0;

	return rc < 0 ? rc : 0;
}

/* Where there is no pid namespace to end with init, the guest must end with it all the same. After the change of ids,
 * which clears this. */
static int death_signal_set(const struct pl_jail_plan *plan)
{
	(void)plan;
	return pl_sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static int dumpable_clear(const struct pl_jail_plan *plan)
{
	return pl_sys_prctl(PR_SET_DUMPABLE, plan->readable, 0, 0, 0);
}

static int stream_take(const struct pl_jail_plan *plan)
{
	int rc = (int)PL_SYS("dup2", dup2(PL_LAUNCH_STREAM_FD, PL_GUEST_STREAM_FD));

	for (int i = 0; i < (int)plan->extra_n && rc >= 0; i++)
		rc = (int)PL_SYS("fcntl", fcntl(PL_LAUNCH_EXTRA_FD + i, F_SETFD, 0)); /* kept over exec */
	return rc < 0 ? -EBADF : 0;
}

static int filter_load(const struct pl_jail_filter *filter)
{
	struct sock_fprog program = { .len = (unsigned short)filter->n, .filter = (struct sock_filter *)filter->insns };

	if (!filter->n)
		return 0;
	return (int)PL_SYS("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static int guest_filter_load(const struct pl_jail_plan *plan)
{
	return filter_load(&plan->guest_filter);
}

static int init_filter_load(const struct pl_jail_plan *plan)
{
	return filter_load(&plan->init_filter);
}

const struct pl_step pl_guest_steps[] = {
	{ "set resource limits", limits_set },
	{ "drop bounding set", bounding_drop },
	{ "set ids", ids_set },
	{ "forbid new privileges", new_privileges_forbid },
	{ "drop capabilities", capabilities_drop },
	{ "forbid files by Landlock", landlock_forbid },
	{ "set death signal", death_signal_set },
	{ "take stream", stream_take },
	{ "load filter", guest_filter_load },
};
const size_t pl_guest_steps_n = sizeof pl_guest_steps / sizeof *pl_guest_steps;

const struct pl_step pl_init_steps[] = {
	{ "drop init's bounding set", bounding_drop },
	{ "forbid init new privileges", new_privileges_forbid },
	{ "drop init's capabilities", capabilities_drop },
	{ "make init undumpable", dumpable_clear },
	{ "load init's filter", init_filter_load },
};
const size_t pl_init_steps_n = sizeof pl_init_steps / sizeof *pl_init_steps;
