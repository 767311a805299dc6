/* SPDX-License-Identifier: Apache-2.0 */
/* container: the wall of namespaces, a default-deny filter, no capabilities and limits. One jail a sandbox, one sandbox a
 * run. The facts that carry the tier stand in one table below, each beside its reader. */
#include "base/alloc.h"
#include "base/fd.h"
#include "contract/error.h"
#include "linux/sys.h"
#include "wall/jail/measure.h"

#include <stdio.h>
#include <string.h>

struct container_wall {
	struct pl_wall_env *env;
	struct pl_profile profile;
	struct pl_reader readers[PL_FACTS_MAX];
	struct pl_fact_spec specs[PL_FACTS_MAX];
	bool cgroup_memory, cgroup_pids; /* which limits a cgroup holds; the others are resource limits */
};

struct container {
	struct container_wall *wall;
	struct pl_sandbox *sandbox;
	struct pl_jail jail;
	struct pl_proc guest;
};

#define HOST(name, predicate, expected, after, hidden, reader)                                                         \
	{ { name, PL_FACT_HOST, true, predicate, expected, after, hidden }, reader }
#define GUEST_STATED(name, expected, reader)                                                                           \
	{ { name, PL_FACT_GUEST, false, PL_STATED, expected, PL_AFTER_FIXED, false }, reader }

#define PRIVATE_TEXT "made by our own clone, the same for init and guest, not the supervisor's, no other sandbox's"

static const struct pl_reader table[] = {
	HOST("host.view", PL_EQUAL, "equals the initial pid namespace with an unmasked /proc", PL_AFTER_FIXED, false,
	     pl_read_host_view),
	HOST("host.task", PL_EQUAL, "equals the challenge's first 15 characters", PL_AFTER_TASK, false, pl_read_host_task),
	HOST("descent", PL_EQUAL, "the guest is init's only child, init is the supervisor's, each has one task", PL_AFTER_TASK,
	     false, pl_read_descent),
	HOST("guest.image", PL_EQUAL, "equals the digest of the guest recorded at start", PL_AFTER_TASK, false,
	     pl_read_guest_image),
	HOST("launcher.digest", PL_EQUAL, "equals the digest of the launcher recorded at start", PL_AFTER_SAME, false,
	     pl_read_launcher_digest),
	HOST("ns.pid", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_pid),
	HOST("ns.mnt", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_mnt),
	HOST("ns.net", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_net),
	HOST("ns.ipc", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_ipc),
	HOST("ns.uts", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_uts),
	HOST("ns.user", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_user),
	HOST("ns.cgroup", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_cgroup),
	HOST("ns.time", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_time),
	HOST("cred.uid", PL_EQUAL, "equals the host id that was reserved for this sandbox, in all four places", PL_AFTER_TASK,
	     true, pl_read_cred_uid),
	HOST("cred.gid", PL_EQUAL, "equals the host id that was reserved for this sandbox, in all four places", PL_AFTER_TASK,
	     true, pl_read_cred_gid),
	HOST("cred.groups", PL_EQUAL, "no supplementary group", PL_AFTER_TASK, true, pl_read_cred_groups),
	HOST("cred.caps", PL_EQUAL, "all five capability sets are empty", PL_AFTER_TASK, false, pl_read_cred_caps),
	HOST("cred.no_new_privs", PL_EQUAL, "equals 1", PL_AFTER_TASK, false, pl_read_cred_nnp),
	HOST("cred.tracer", PL_EQUAL, "nobody traces the guest", PL_AFTER_TASK, false, pl_read_cred_tracer),
	HOST("cred.init", PL_EQUAL, "init has no capability, no_new_privs, a filter and one task", PL_AFTER_SAME, false,
	     pl_read_cred_init),
	HOST("seccomp", PL_EQUAL, "the loaded filter equals the compiled one, and is the only one", PL_AFTER_FIXED, false,
	     pl_read_seccomp),
	HOST("limit.memory", PL_EQUAL, "equals the request's memory limit, without swap, held by a cgroup that init and guest are in",
	     PL_AFTER_SAME, false, pl_read_limit_cgroup_memory),
	HOST("limit.pids", PL_EQUAL, "equals 2, held by a cgroup that init and guest, and nobody else, are in", PL_AFTER_SAME,
	     false, pl_read_limit_cgroup_pids),
	HOST("limit.cpu", PL_EQUAL, "equals the request's deadline in whole seconds and two, held by RLIMIT_CPU", PL_AFTER_TASK,
	     false, pl_read_limit_cpu),
	HOST("fs.root", PL_EQUAL, "equals an empty read-only root and /tmp, and no other mount", PL_AFTER_SAME, false,
	     pl_read_fs_root),
	HOST("fs.writable", PL_EQUAL, "equals /tmp alone, 16 MiB", PL_AFTER_SAME, false, pl_read_fs_writable),
	HOST("net.links", PL_EQUAL, "equals the loopback link alone", PL_AFTER_SAME, false, pl_read_net_links),
	HOST("fd.open", PL_EQUAL, "equals the stream alone", PL_AFTER_TASK, false, pl_read_fd_open),
	HOST("stream.holders", PL_EQUAL, "the guest holds the stream once, init does not", PL_AFTER_TASK, false,
	     pl_read_stream_holders),
	GUEST_STATED("landlock", "stated: the guest saw a file denied", pl_read_landlock),
	GUEST_STATED("guest.dumpable", "stated: 0", pl_read_dumpable),
};

static struct pl_reader *reader_find(struct container_wall *w, const char *name)
{
	for (size_t i = 0; i < w->profile.specs_n; i++)
		if (strcmp(w->readers[i].spec.name, name) == 0)
			return &w->readers[i];
	return NULL;
}

static void reader_change(struct container_wall *w, const char *name, const char *expected, enum pl_after after,
			  void (*read)(const struct pl_reading *, struct pl_fact *))
{
	struct pl_reader *reader = reader_find(w, name);

	reader->spec.expected = expected;
	reader->spec.after = after;
	if (read)
		reader->read = read;
}

/* The predicates of this configuration, settled once, before anything is measured. */
static void profile_make(struct container_wall *w)
{
	memcpy(w->readers, table, sizeof table);
	w->profile = (struct pl_profile){
		.wall = "container", .tier = PLIMSOLL_TIER_CONTAINER, .specs = w->specs, .specs_n = sizeof table / sizeof *table,
	};
	if (!w->cgroup_memory)
		reader_change(w, "limit.memory", "equals the request's memory limit, held by RLIMIT_AS", PL_AFTER_TASK,
			      pl_read_limit_as);
	if (!w->cgroup_pids)
		reader_change(w, "limit.pids", "equals 1 (the guest) in its user namespace, held by RLIMIT_NPROC", PL_AFTER_TASK,
			      pl_read_limit_nproc);
	if (!w->env->root) {
		reader_change(w, "cred.uid", "equals the caller's own id (without subordinate ids it can map no other)",
			      PL_AFTER_TASK, NULL);
		reader_change(w, "cred.gid", "equals the caller's own id (without subordinate ids it can map no other)",
			      PL_AFTER_TASK, NULL);
		reader_change(w, "cred.groups", "equals the caller's own groups, which an ordinary user cannot drop", PL_AFTER_TASK,
			      NULL);
	}
	if (!w->env->can_dump)
		reader_change(w, "seccomp", "one filter more than ours is loaded, and the guest saw each of at least 12 calls denied",
			      PL_AFTER_FIXED, NULL);
	for (size_t i = 0; i < w->profile.specs_n; i++)
		w->specs[i] = w->readers[i].spec;
}

/* What cannot be had here, whoever asks: in the order in which it would be met. */
static int container_missing(struct pl_wall_env *env, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN])
{
	if (env->host_view_error) {
		env->missing_fact = "host.view";
		snprintf(found, PL_WALL_TEXT_LEN, "fact host.view, from where facts are read: %s", env->host_view);
		snprintf(remedy, PL_WALL_TEXT_LEN,
			 "start plimsoll in the host's pid namespace (docker run --pid=host), with an unmasked /proc");
		return env->host_view_error;
	}
	if (env->host_root) {
		env->missing_fact = "cred.uid";
		snprintf(found, PL_WALL_TEXT_LEN,
			 "fact cred.uid: a sandbox would have the host's uid 0, since plimsoll is a root without %s",
			 env->missing_caps);
		snprintf(remedy, PL_WALL_TEXT_LEN, "give it these, or start it as an ordinary user");
		return -EPERM;
	}
	if (env->namespaces_error) {
		snprintf(found, PL_WALL_TEXT_LEN, "namespaces cannot be had: %s", env->namespaces_found);
		snprintf(remedy, PL_WALL_TEXT_LEN, "%s", env->namespaces_remedy);
		return env->namespaces_error;
	}
	return 0;
}

static uint32_t rlimits_fill(const struct container_wall *w, struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX]);

static int limits_missing(const struct container_wall *w, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN])
{
	struct pl_jail_rlimit limits[PL_JAIL_RLIMIT_MAX + 1];
	uint32_t n = rlimits_fill(w, limits);

	limits[n++] = pl_jail_rlimit_cpu(w->env->settings);
	return pl_jail_rlimits_fit(limits, n, found, remedy);
}

static int container_start(struct pl_wall_env *env, void **ret_state, char found[PL_WALL_TEXT_LEN],
			   char remedy[PL_WALL_TEXT_LEN])
{
	struct container_wall *w;
	int rc = container_missing(env, found, remedy);

	if (rc < 0)
		return rc;
	w = pl_calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->env = env;
	w->cgroup_memory = env->cgroups && env->cgroups->found[PL_CGROUP_MEMORY].usable;
	w->cgroup_pids = env->cgroups && env->cgroups->found[PL_CGROUP_PIDS].usable;
	rc = limits_missing(w, found, remedy);
	if (rc < 0) {
		pl_free(w);
		return rc;
	}
	profile_make(w);
	snprintf(found, PL_WALL_TEXT_LEN, "namespaces, filter and limits can be had; memory is held by %s, tasks by %s",
		 w->cgroup_memory ? "a cgroup" : "RLIMIT_AS", w->cgroup_pids ? "a cgroup" : "RLIMIT_NPROC");
	remedy[0] = 0;
	*ret_state = w;
	return 0;
}

static void container_stop(void *state)
{
	pl_free(state);
}

static const struct pl_profile *container_profile(const void *state)
{
	return &((const struct container_wall *)state)->profile;
}

static void container_report(struct pl_jail *jail, const struct pl_jail_report *report)
{
	struct container *c = jail->owner;
	struct plimsoll_error error;

	if (report && report->kind == PL_JAIL_ENDED) {
		c->sandbox->end = (struct pl_end){
			.known = true,
			.wait_status = report->wait_status,
			.cpu_us = report->cpu_us,
			.peak_bytes = report->peak_bytes,
		};
		c->wall->env->ended(c->sandbox);
		return;
	}
	if (report)
		pl_jail_error("container", report, &error);
	else
		pl_error(&error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "container",
			 "the sandbox's init ended by itself");
	c->wall->env->failed(c->sandbox, &error);
}

/* Resource limits are set high by the launcher, since an ordinary user may only lower them, and to the request's values at
 * the gate. */
static uint32_t rlimits_fill(const struct container_wall *w, struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX])
{
	uint64_t memory_max = w->env->settings->memory_max_bytes;
	uint32_t n = 0;

	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_CORE, 0, 0 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_NPROC, 1, 1 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_NOFILE, 16, 16 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_FSIZE, PL_TMP_BYTES, PL_TMP_BYTES };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_MEMLOCK, 0, 0 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_STACK, 8ull << 20, 8ull << 20 };
	if (!w->cgroup_memory)
		rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_AS, memory_max, memory_max };
	return n;
}

static int container_jail_open(struct container *c, int far_fd, struct plimsoll_error *error)
{
	struct container_wall *w = c->wall;
	struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX];
	struct pl_cgroup_limits limits = { .memory_bytes = c->sandbox->limits.memory_bytes, .pids = pl_sabotage_room(2) };
	struct pl_jail_spec spec = {
		.image = &w->env->guest,
		.argv0 = "plimsoll-guest",
		.stream_fd = far_fd,
		.namespaces = PL_JAIL_NAMESPACES,
		.tmp_bytes = pl_sabotage("fs.writable") ? PL_TMP_BYTES * 2 : PL_TMP_BYTES,
		.guest_filter = w->env->guest_filter,
		.init_filter = w->env->init_filter,
		.rlimits = rlimits,
		.rlimit_n = rlimits_fill(w, rlimits),
		.cgroup_limits = w->cgroup_memory || w->cgroup_pids ? &limits : NULL,
	};
	int rc = pl_jail_open(w->env, &spec, &c->jail, error);

	c->jail.owner = c;
	c->jail.report = container_report;
	return rc;
}

static int container_open(void *state, struct pl_sandbox *sandbox, struct plimsoll_error *error)
{
	struct container *c = pl_calloc(1, sizeof *c);
	int pair[2] = { -1, -1 }, one = 1, rc = c ? pl_sys_socketpair(SOCK_STREAM, pair) : -ENOMEM;
	struct stat st;

	if (rc == 0)
		rc = pl_sys_fstat(pair[1], &st);
	if (rc == 0)
		rc = pl_sys_setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	if (rc < 0) {
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open container",
			 "the stream could not be made: %s", strerror(-rc));
	} else {
		*c = (struct container){ .wall = state, .sandbox = sandbox, .guest = PL_PROC_NONE };
		rc = container_jail_open(c, pair[1], error);
	}
	pl_fd_close(&pair[1]);
	if (rc < 0) {
		pl_fd_close(&pair[0]);
		pl_free(c);
		return rc;
	}
	sandbox->own = c;
	sandbox->stream_fd = pair[0];
	sandbox->stream_ino = st.st_ino;
	return 0;
}

static int container_pin(struct pl_sandbox *sandbox, pid_t speaker, struct plimsoll_error *error)
{
	struct container *c = sandbox->own;
	int rc = pl_proc_pin(speaker, -1, &c->guest);

	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "pin guest",
				"the guest that answered could not be held: %s", strerror(-rc));
	return 0;
}

static int container_limit(struct pl_sandbox *sandbox)
{
	struct container *c = sandbox->own;
	uint64_t memory = sandbox->limits.memory_bytes * (pl_sabotage("limit.memory") ? 2 : 1);
	uint64_t pids = pl_sabotage("limit.pids") ? 64 : 2;
	int rc;

	if (c->wall->cgroup_memory)
		rc = pl_cgroup_set_memory(&c->jail.cgroup, memory);
	else
		rc = pl_jail_limit(&c->jail, &c->guest, RLIMIT_AS, memory);
	/* It was set when the cgroup was made, to this or, in test builds, to more. */
	if (rc == 0 && c->wall->cgroup_pids && (pids != 2 || pl_sabotage_room(2) != 2))
		rc = pl_cgroup_set_pids(&c->jail.cgroup, pids);
	/* In our own user namespace a limit takes CAP_SYS_RESOURCE, which a root may lack; that sabotage is not about limits. */
	if (rc == 0 && !pl_sabotage("limit.cpu") && !pl_sabotage("ns.user"))
		rc = pl_jail_limit(&c->jail, &c->guest, RLIMIT_CPU, sandbox->limits.cpu_seconds);
	return rc;
}

static void container_measure(struct pl_sandbox *sandbox, enum pl_phase phase, bool gone, struct pl_fact *facts)
{
	struct container *c = sandbox->own;
	struct pl_reading_tables tables;
	struct pl_reading reading = {
		.sandbox = sandbox, .jail = &c->jail, .guest = &c->guest, .parent = &c->jail.init, .gone = gone, .phase = phase,
	};

	pl_reading_take(&reading, &tables);
	pl_readers_run(c->wall->readers, c->wall->profile.specs_n, &reading, facts);
}

static bool container_alive(const struct pl_sandbox *sandbox)
{
	const struct container *c = sandbox->own;

	return pl_proc_alive(&c->guest);
}

static int container_halt(struct pl_sandbox *sandbox)
{
	struct container *c = sandbox->own;

	return pl_sys_pidfd_send_signal(c->guest.pidfd, SIGSTOP);
}

static bool container_halted(const struct pl_sandbox *sandbox)
{
	const struct container *c = sandbox->own;
	struct pl_proc_status status;

	/* 't': it stands still in the hands of a tracer, of whom the facts will tell. */
	return !pl_proc_alive(&c->guest) ||
	       (pl_proc_status(&c->guest, &status) == 0 && (status.state == 'T' || status.state == 't'));
}

static void container_usage(const struct pl_sandbox *sandbox, int64_t *ret_cpu_us, uint64_t *ret_peak_bytes)
{
	const struct container *c = sandbox->own;
	struct pl_proc_status status;

	*ret_cpu_us = pl_proc_cpu_us(&c->guest);
	*ret_peak_bytes = pl_proc_status(&c->guest, &status) == 0 ? status.peak_bytes : 0;
}

static bool container_out_of_memory(const struct pl_sandbox *sandbox)
{
	const struct container *c = sandbox->own;
	uint64_t kills = 0;

	return c->jail.has_cgroup && pl_cgroup_oom_kills(&c->jail.cgroup, &kills) == 0 && kills > 0;
}

static void container_kill(struct pl_sandbox *sandbox)
{
	struct container *c = sandbox->own;

	c->jail.report = NULL; /* what happens from now on is our doing */
	pl_jail_kill(&c->jail);
}

static bool container_release(struct pl_sandbox *sandbox)
{
	struct container *c = sandbox->own;

	if (!pl_jail_release(&c->jail))
		return false;
	pl_proc_unpin(&c->guest);
	pl_free(c);
	sandbox->own = NULL;
	return true;
}

const struct pl_wall pl_wall_container = {
	.name = "container",
	.tier = PLIMSOLL_TIER_CONTAINER,
	.start = container_start,
	.stop = container_stop,
	.profile = container_profile,
	.open = container_open,
	.pin = container_pin,
	.limit = container_limit,
	.measure = container_measure,
	.alive = container_alive,
	.halt = container_halt,
	.halted = container_halted,
	.usage = container_usage,
	.out_of_memory = container_out_of_memory,
	.kill = container_kill,
	.release = container_release,
};
