/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces: whether a jail's namespaces can be had here and, if not, why and what to do, in words for a person. What decides
 * is an attempt; the settings and our own filters are only asked for the likely cause. Called at start and by doctor. */
#include "supervisor/supervisor.h"

#include "linux/sys.h"
#include "wall/jail/jail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void setting_read(const char *path, char *ret, size_t size)
{
	int fd = pl_sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : pl_sys_read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = 0;
	ret[strcspn(ret, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

static void texts_set(struct pl_wall_env *env, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void texts_set(struct pl_wall_env *env, const char *remedy, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(env->namespaces_found, sizeof env->namespaces_found, format, args);
	va_end(args);
	snprintf(env->namespaces_remedy, sizeof env->namespaces_remedy, "%s", remedy);
}

/* A setting of the whole machine that denies them: true when one does. */
static bool setting_denies(struct pl_wall_env *env)
{
	char restricted[32], allowed[32], max[32];

	setting_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", restricted, sizeof restricted);
	setting_read("/proc/sys/kernel/unprivileged_userns_clone", allowed, sizeof allowed);
	setting_read("/proc/sys/user/max_user_namespaces", max, sizeof max);
	if (restricted[0] == '1' && !env->root)
		texts_set(env, "add an AppArmor profile with the rule `userns,` for plimsoll-supervisor (narrow), or run it as root",
			  "AppArmor takes the powers of user namespaces away (kernel.apparmor_restrict_unprivileged_userns = 1)");
	else if (allowed[0] == '0' && !env->root)
		texts_set(env, "set kernel.unprivileged_userns_clone to 1, or run plimsoll as root",
			  "user namespaces are denied to ordinary users (kernel.unprivileged_userns_clone = 0)");
	else if (max[0] && strtoul(max, NULL, 10) == 0)
		texts_set(env, "set user.max_user_namespaces above 0", "no user namespace may be made (user.max_user_namespaces = 0)");
	else
		return false;
	return true;
}

void namespaces_look(struct pl_wall_env *env)
{
	const char *step;
	int rc = env->namespaces_error = pl_jail_probe(env, PL_JAIL_NAMESPACES, &step);

	if (rc == 0)
		texts_set(env, "", "allowed");
	else if (rc == -EAGAIN)
		texts_set(env, "raise the limit on processes where plimsoll is started (ulimit -u)", "%s: %s", step, strerror(-rc));
	else if (setting_denies(env))
		return;
	else if (rc == -ENOSPC || rc == -EUSERS)
		texts_set(env, "raise it; where a sandbox has set it to 0 on purpose, start plimsoll outside of that",
			  "%s: a limit on namespaces is reached (one of user.max_*_namespaces)", step);
	else if (rc == -ENOSYS || env->own_filters)
		texts_set(env, "let that filter pass clone3, mount calls and pivot_root (Docker: --security-opt seccomp=), or start "
			       "plimsoll outside",
			  "%s: %s; plimsoll runs under a system-call filter, as in Docker", step, strerror(-rc));
	else if (env->host_root)
		texts_set(env, "give it these, or start plimsoll as an ordinary user", "%s: %s; plimsoll is a root without %s", step,
			  strerror(-rc), env->missing_caps);
	else
		texts_set(env, "start plimsoll outside the chroot, container or sandbox that it runs in",
			  "%s: %s, as in a chroot, with ids that are not mapped, or by a security module", step, strerror(-rc));
}
