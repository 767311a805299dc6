/* SPDX-License-Identifier: Apache-2.0 */
/* on_privileges: ids, capabilities, what a task may ask about itself, and keys. */
#include "escape/hostile.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROBE(name)                                                                                                    \
	static long name(int argc, char **argv)                                                                            \
	{                                                                                                                  \
		(void)argc, (void)argv;
#define END }

PROBE(setuid_0)
	return SYS(SYS_setuid, 0);
END

PROBE(setresuid_0)
	return SYS(SYS_setresuid, 0, 0, 0);
END

PROBE(setreuid_own)
	return SYS(SYS_setreuid, getuid(), geteuid());
END

PROBE(setgid_0)
	return SYS(SYS_setgid, 0);
END

PROBE(setfsuid_)
	return SYS(SYS_setfsuid, 0);
END

PROBE(setgroups_)
	return SYS(SYS_setgroups, 0, NULL);
END

PROBE(capset_)
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	long r = SYS(SYS_capget, &header, caps);

	if (r < 0)
		return r;
	caps[0].inheritable |= caps[0].permitted & 1u << CAP_NET_RAW;
	return SYS(SYS_capset, &header, caps);
END

PROBE(keepcaps)
	return SYS(SYS_prctl, PR_SET_KEEPCAPS, 1, 0, 0, 0);
END

PROBE(securebits)
	return SYS(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0);
END

PROBE(ambient)
	return SYS(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
END

PROBE(dumpable)
	return SYS(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
END

PROBE(death_signal)
	return SYS(SYS_prctl, PR_SET_PDEATHSIG, 0, 0, 0, 0);
END

PROBE(subreaper)
	return SYS(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
END

PROBE(no_new_privs)
	return SYS(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
END

/* A filter that allows everything, in the hope that it counts. Filters only add up, but none may be added here. */
PROBE(seccomp_allow)
	static struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	(void)SYS(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return SYS(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
END

PROBE(prctl_seccomp)
	static struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	(void)SYS(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return SYS(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
END

PROBE(seccomp_ask)
	unsigned action = SECCOMP_RET_ALLOW;

	return SYS(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
END

PROBE(personality_)
	return SYS(SYS_personality, 0x0040000 /* ADDR_NO_RANDOMIZE */);
END

PROBE(add_key_)
	return SYS(SYS_add_key, "user", "plimsoll-canary", "x", 1, KEY_SPEC_PROCESS_KEYRING);
END

/* The key that the probe itself has made, where it may. */
PROBE(request_key_)
	(void)SYS(SYS_add_key, "user", "plimsoll-canary", "x", 1, KEY_SPEC_PROCESS_KEYRING);
	return SYS(SYS_request_key, "user", "plimsoll-canary", NULL, 0);
END

PROBE(keyctl_)
	return SYS(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_PROCESS_KEYRING, 1);
END

PROBE(landlock)
	return SYS(SYS_landlock_create_ruleset, NULL, 0, 1);
END

const struct probe privilege_probes[] = {
	{ "setuid", setuid_0 },		{ "setresuid", setresuid_0 },	{ "setreuid", setreuid_own },
	{ "setgid", setgid_0 },		{ "setfsuid", setfsuid_ },	{ "setgroups", setgroups_ },
	{ "capset", capset_ },		{ "prctl-keepcaps", keepcaps },	{ "prctl-securebits", securebits },
	{ "prctl-ambient", ambient },	{ "prctl-dumpable", dumpable }, { "prctl-pdeathsig", death_signal },
	{ "prctl-subreaper", subreaper }, { "prctl-no_new_privs", no_new_privs },
	{ "seccomp-allow", seccomp_allow }, { "prctl-seccomp", prctl_seccomp }, { "seccomp-ask", seccomp_ask },
	{ "personality", personality_ }, { "add_key", add_key_ },	{ "request_key", request_key_ },
	{ "keyctl", keyctl_ },		{ "landlock", landlock },	{ NULL, NULL },
};
