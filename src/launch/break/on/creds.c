/* SPDX-License-Identifier: Apache-2.0 */
/* creds: ids, capabilities and filters that are not as they should be. A change of ids takes the capabilities away, so what
 * comes after it has to keep them first; what the program that is executed next must not have goes with the execution. */
#include "launch/break/on/parts.h"
#include "linux/sys.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

static int caps_get(struct __user_cap_data_struct ret[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)PL_SYS("capget", syscall(SYS_capget, &header, ret));
}

static int caps_set(const struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return (int)PL_SYS("capset", syscall(SYS_capset, &header, caps));
}

int pl_break_inherit_capability(const struct pl_jail_plan *plan)
{
	struct __user_cap_data_struct caps[2] = { { 0 } };
	int rc = caps_get(caps);

	(void)plan;
	if (rc < 0)
		return rc;
	caps[0].inheritable |= 1u << CAP_NET_RAW;
	return caps_set(caps);
}

int pl_break_keep_capabilities(const struct pl_jail_plan *plan)
{
	(void)plan;
	return pl_sys_prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
}

int pl_break_regain_capabilities(const struct pl_jail_plan *plan)
{
	struct __user_cap_data_struct caps[2] = { { 0 } };
	int rc = caps_get(caps);

	(void)plan;
	if (rc < 0)
		return rc;
	caps[0].effective = caps[0].permitted;
	caps[1].effective = caps[1].permitted;
	return caps_set(caps);
}

int pl_break_raise_ambient(const struct pl_jail_plan *plan)
{
	int rc = pl_break_regain_capabilities(plan);

	return rc < 0 ? rc : pl_sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0);
}

/* Inside 0 is init's own host id. */
static int ids_change(long call, const struct pl_jail_plan *plan)
{
	int rc = pl_break_regain_capabilities(plan);

	return rc < 0 ? rc : (int)PL_SYS("setres", syscall(call, 0, 0, 0));
}

int pl_break_wrong_uid(const struct pl_jail_plan *plan)
{
	return ids_change(SYS_setresuid, plan);
}

int pl_break_wrong_gid(const struct pl_jail_plan *plan)
{
	return ids_change(SYS_setresgid, plan);
}

static int filter_load(const struct sock_filter *insns, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = (struct sock_filter *)insns };

	return (int)PL_SYS("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

int pl_break_allow_all(const struct pl_jail_plan *plan)
{
	static const struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	(void)plan;
	return filter_load(allow, 1);
}

/* The real filter with one call in front of it that it does not have. */
int pl_break_one_call_more(const struct pl_jail_plan *plan)
{
	static struct sock_filter insns[PL_JAIL_FILTER_MAX + 3];
	const struct sock_filter front[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(insns, front, sizeof front);
	memcpy(insns + 3, plan->guest_filter.insns, plan->guest_filter.n * sizeof *insns);
	return filter_load(insns, plan->guest_filter.n + 3);
}
