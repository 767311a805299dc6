/* SPDX-License-Identifier: Apache-2.0 */
/* break: the table of what each sabotage does; see break.h. A name that starts with "+" adds tasks, for which the
 * supervisor leaves room while the sandbox is built (pl_sabotage_room); the limit is right again when it is measured. */
#include "break.h"

#include "launch/break/on/parts.h"
#include "linux/sys.h"

#include <stddef.h>
#include <string.h>

struct action {
	const char *name, *after;
	int (*run)(const struct pl_jail_plan *plan);
};

static const struct action actions[] = {
	{ "wrong uid", "drop bounding set", pl_break_keep_capabilities },
	{ "wrong uid", "set ids", pl_break_wrong_uid },
	{ "wrong gid", "drop bounding set", pl_break_keep_capabilities },
	{ "wrong gid", "set ids", pl_break_wrong_gid },
	{ "kept capability", "set resource limits", pl_break_inherit_capability },
	{ "kept capability", "drop bounding set", pl_break_keep_capabilities },
	{ "kept capability", "set ids", pl_break_raise_ambient },
	{ "new privileges", "drop bounding set", pl_break_keep_capabilities },
	{ "new privileges", "set ids", pl_break_regain_capabilities },
	{ "allow-all filter", "load filter", pl_break_allow_all },
	{ "one call more", "load filter", pl_break_one_call_more },
	{ "second filter", "drop capabilities", pl_break_allow_all },
	{ "copied image", "enter root", pl_break_copied_image },
	{ "another descriptor", "take stream", pl_break_another_descriptor },
	{ "control socket", "take stream", pl_break_control_socket },
	{ "second stream", "take stream", pl_break_second_stream },
	{ "guest ns.mnt", "set resource limits", pl_break_own_mnt },
	{ "guest ns.net", "set resource limits", pl_break_own_net },
	{ "guest ns.ipc", "set resource limits", pl_break_own_ipc },
	{ "guest ns.uts", "set resource limits", pl_break_own_uts },
	{ "guest ns.cgroup", "set resource limits", pl_break_own_cgroup },
	{ "guest ns.user", "drop capabilities", pl_break_own_user },
	{ "guest ns.pid", "enter root", pl_break_children_pid },
	{ "guest ns.time", "enter root", pl_break_children_time },
	{ "another mount", "mount /tmp", pl_break_another_mount },
	{ "exec /tmp", "mount /tmp", pl_break_exec_tmp },
	{ "another link", "enter root", pl_break_another_link },
	{ "tracer", "drop init's bounding set", pl_break_tracer },
	{ "+init thread", "drop init's bounding set", pl_break_thread },
	{ "+second child", "drop init's bounding set", pl_break_second_child },
	{ "+middle", "enter root", pl_break_middle },
	{ "+speaking child", "enter root", pl_break_speaking_child },
	{ "+guest's child", "set resource limits", pl_break_guests_child },
	{ "+relay", "set resource limits", pl_break_relay },
};

static const struct {
	const char *name, *step;
} skips[] = {
	{ "kept capability", "drop capabilities" },
	{ "new privileges", "forbid new privileges" },
	{ "new privileges", "drop capabilities" },
	{ "allow-all filter", "load filter" },
	{ "one call more", "load filter" },
	/* The number of processes is among them, and these make one more first. */
	{ "+guest's child", "set resource limits" },
	{ "+relay", "set resource limits" },
};

void pl_break_first(void)
{
	pl_break_copied_launcher();
}

bool pl_break_skips(const char *step)
{
	for (size_t i = 0; i < sizeof skips / sizeof *skips; i++)
		if (pl_sabotage(skips[i].name) && strcmp(skips[i].step, step) == 0)
			return true;
	return false;
}

int pl_break_after(const char *step, const struct pl_jail_plan *plan)
{
	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
		if (pl_sabotage(actions[i].name) && strcmp(actions[i].after, step) == 0)
			return actions[i].run(plan);
	return 0;
}
