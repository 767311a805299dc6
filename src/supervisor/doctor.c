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

/* Looked at again: what was missing at start may be allowed by now, and would be used after the next start. */
static void user_namespaces_row(struct supervisor *s, struct report *report)
{
	struct pl_wall_env now = s->env;

	namespaces_look(&now);
	row_add(report, "host", "user namespaces", now.namespaces_error ? "unavailable" : "ok", now.namespaces_remedy, "%s",
		now.namespaces_found);
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
		nested ? "facts of the container wall are read from the initial pid namespace: start plimsoll outside, or in the "
			 "host's (docker run --pid=host)" :
			 "",
		nested ? "plimsoll runs in a pid namespace of its own" : "plimsoll runs in the initial pid namespace");
	setting_read("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	row_add(report, "host", "ptrace scope", s->env.can_dump ? "ok" : "limited",
		s->env.can_dump ? "" : "nothing needs to be done: the filter is proved by probes instead", "%s%s; filters are %s",
		scope[0] ? "Yama's scope is " : "no Yama", scope,
		s->env.can_dump ? "dumped and compared" : "proved by denied calls, which the guest tries before it has a job");
}

static void privilege_row(const struct supervisor *s, struct report *report)
{
	const struct pl_wall_env *env = &s->env;

	if (env->root)
		row_add(report, "host", "privilege", "ok", "", "root: each sandbox gets a user id of its own");
	else if (env->host_root)
		row_add(report, "host", "privilege", "limited", "give it these, or start plimsoll as an ordinary user",
			"the host's uid 0, without %s: a sandbox could only have this id too, which the container wall refuses",
			env->missing_caps);
	else
		row_add(report, "host", "privilege", "limited",
			"nothing needs to be done; as root each sandbox has a user id of its own",
			"an ordinary user: sandboxes have its user id");
	if (env->own_filters)
		row_add(report, "host", "seccomp", "limited",
			"nothing needs to be done as long as the walls are there; where a filter denies one, its row says so",
			"plimsoll itself runs under system-call filters (%d)", env->own_filters);
	else
		row_add(report, "host", "seccomp", "ok", "", "plimsoll itself runs under no system-call filter");
}

void doctor_answer(struct supervisor *s, uint64_t id)
{
	static struct report report;

	report.rows.rows_n = 0;
	walls_rows(s, &report);
	user_namespaces_row(s, &report);
	cgroup_rows(s, &report);
	view_rows(s, &report);
	privilege_row(s, &report);
	if (pl_msg_rows_print(&s->line.out, id, &report.rows) < 0)
		s->ending = true;
}
