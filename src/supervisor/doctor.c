/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: a row for each wall and for each property of the host that decides what can be had, with what to do. Looks again
 * each time it is asked; changes nothing. */
#include "supervisor/supervisor.h"

#include "linux/sys.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report {
	struct pl_msg_rows rows;
	char texts[PL_MSG_ROWS_MAX][2][PL_CGROUP_TEXT_LEN];
};

__attribute__((format(printf, 6, 7))) static void row_add(struct report *report, const char *kind, const char *name,
							  const char *state, const char *remedy, const char *format, ...)
{
	uint32_t i = report->rows.rows_n;
	va_list args;

	if (i == PL_MSG_ROWS_MAX)
		return;
	va_start(args, format);
	vsnprintf(report->texts[i][0], sizeof report->texts[i][0], format, args);
	va_end(args);
	snprintf(report->texts[i][1], sizeof report->texts[i][1], "%s", remedy);
	report->rows.rows[i] = (struct plimsoll_doctor_row){
		.kind = kind, .name = name, .state = state, .found = report->texts[i][0], .remedy = report->texts[i][1],
	};
	report->rows.rows_n++;
}

/* The first line of a small file of the kernel's, or "" when it is not there. */
static void setting_read(const char *path, char *ret, size_t size)
{
	int fd = pl_sys_openat(AT_FDCWD, path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : pl_sys_read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = 0;
	ret[strcspn(ret, "\n")] = 0;
	if (fd >= 0)
		close(fd);
}

static void walls_rows(struct supervisor *s, struct report *report)
{
	for (size_t i = 0; i < PL_WALLS_N; i++) {
		const struct slot *slot = &s->slots[i];

		if (!slot->available)
			row_add(report, "wall", slot->wall->name, "unavailable", slot->remedy, "%s", slot->found);
		else if (slot->out_of_service)
			row_add(report, "wall", slot->wall->name, "unavailable", "it returns when a spare sandbox measures right",
				"out of service: fact %s was contradicted", slot->out_fact);
		else
			row_add(report, "wall", slot->wall->name, "ok", slot->configured ? "" : "name it in walls to use it", "%s",
				slot->found);
	}
	row_add(report, "wall", "gvisor", "unavailable", "", "this version has no wall of the tier kernel yet");
}

static void user_namespaces_row(const struct supervisor *s, struct report *report)
{
	char restricted[32], allowed[32], max[32];
	const struct slot *container = s->slots;

	while (container->wall != &pl_wall_container)
		container++;

	setting_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", restricted, sizeof restricted);
	setting_read("/proc/sys/kernel/unprivileged_userns_clone", allowed, sizeof allowed);
	setting_read("/proc/sys/user/max_user_namespaces", max, sizeof max);
	if (container->available)
		row_add(report, "host", "user namespaces", "ok", "", "allowed");
	else if (restricted[0] == '1' && !s->env.root)
		row_add(report, "host", "user namespaces", "unavailable",
			"add an AppArmor profile with the rule `userns,` for plimsoll-supervisor (narrow), or run it as root",
			"AppArmor takes their powers away (kernel.apparmor_restrict_unprivileged_userns = 1)");
	else if (allowed[0] == '0' && !s->env.root)
		row_add(report, "host", "user namespaces", "unavailable",
			"set kernel.unprivileged_userns_clone to 1, or run plimsoll as root",
			"denied to ordinary users (kernel.unprivileged_userns_clone = 0)");
	else if (max[0] && strtoul(max, NULL, 10) == 0)
		row_add(report, "host", "user namespaces", "unavailable", "set user.max_user_namespaces above 0",
			"none may be made (user.max_user_namespaces = 0)");
	else
		row_add(report, "host", "user namespaces", "unavailable",
			"leave the sandbox, container or chroot that plimsoll is started in, or allow clone with new namespaces there",
			"denied by what plimsoll runs in: %s", container->found);
}

static void cgroup_rows(const struct supervisor *s, struct report *report)
{
	static const struct {
		enum pl_cgroup_controller controller;
		const char *name;
	} rows[] = { { PL_CGROUP_MEMORY, "cgroup memory" }, { PL_CGROUP_PIDS, "cgroup pids" } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct pl_cgroup_found *found = &s->cgroups.found[rows[i].controller];

		row_add(report, "host", rows[i].name, found->usable ? "ok" : "limited",
			found->usable ? "" : "not needed for snippets: resource limits hold them instead", "%s", found->text);
	}
}

static void view_rows(const struct supervisor *s, struct report *report)
{
	bool masked = strstr(s->env.host_view, "masked by") != NULL;
	bool nested = strncmp(s->env.host_view, "nested", 6) == 0;
	char scope[8];

	row_add(report, "host", "hidepid", masked ? "unavailable" : "ok",
		masked ? "mount /proc without hidepid and subset, or run plimsoll as root" : "", "%s", s->env.host_view);
	row_add(report, "host", "container", nested ? "limited" : "ok",
		nested ? "facts are read from the initial pid namespace; start plimsoll outside, or with the host's" : "",
		nested ? "plimsoll runs in a pid namespace of its own" : "plimsoll runs in the initial pid namespace");
	setting_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	row_add(report, "host", "ptrace scope", s->env.can_dump ? "ok" : "limited",
		s->env.can_dump ? "" : "nothing needs to be done: the filter is proved by probes instead", "%s%s; filters are %s",
		scope[0] ? "Yama's scope is " : "no Yama", scope,
		s->env.can_dump ? "dumped and compared" : "proved by denied calls, which the guest tries before it has a job");
	row_add(report, "host", "privilege", s->env.root ? "ok" : "limited",
		s->env.root ? "" : "nothing needs to be done; as root each sandbox has a user id of its own",
		s->env.root ? "root: each sandbox gets a user id of its own" : "an ordinary user: sandboxes have its user id");
}

void doctor_answer(struct supervisor *s, uint64_t id)
{
	static struct report report;

	report.rows.rows_n = 0;
	walls_rows(s, &report);
	user_namespaces_row(s, &report);
	cgroup_rows(s, &report);
	view_rows(s, &report);
	if (pl_msg_rows_print(&s->line.out, id, &report.rows) < 0)
		s->ending = true;
}
