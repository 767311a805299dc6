/* SPDX-License-Identifier: Apache-2.0 */
/* process: the wall of a language engine compiled to WebAssembly and a process of its own for every run.
 *
 * Theory of operation. One jail holds init and the zygote, a plimsoll-worker that was warmed once and never sees a caller's
 * byte. For each sandbox the zygote gets one end of a fresh stream by SCM_RIGHTS, forks, and closes its copy; the worker
 * answers a challenge of its own and is pinned by the kernel's word on who spoke. The jail is defence in depth: its facts
 * are stated, and the tier stays `process`. When a zygote dies, its workers die with it, and the next sandbox gets a new one. */
#include "wall/process/zygote.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>

struct process_wall {
	struct pl_wall_env *env;
	struct pl_profile profile;
	struct pl_fact_spec specs[PL_FACTS_MAX];
	struct pl_zygote *zygote; /* the one that forks; NULL until the first sandbox */
	struct pl_zygote *ended;  /* a list: dead ones whose workers or jail are not all gone yet */
};

#define REQUIRED(name, expected, after, hidden, reader)                                                                \
	{ { name, PL_FACT_HOST, true, PL_EQUAL, expected, after, hidden }, reader }
#define STATED(name, source, after, hidden, reader)                                                                    \
	{ { name, source, false, PL_STATED, "stated", after, hidden }, reader }

static const struct pl_reader table[] = {
	REQUIRED("host.task", "equals the challenge's first 15 characters", PL_AFTER_TASK, false, pl_read_host_task),
	REQUIRED("descent", "the worker is the zygote's child, the zygote init's only one, each has one task", PL_AFTER_TASK,
		 false, pl_read_descent),
	REQUIRED("guest.image", "equals the digest of the worker recorded at start", PL_AFTER_TASK, false, pl_read_worker_image),
	REQUIRED("launcher.digest", "equals the digest of the launcher recorded at start", PL_AFTER_SAME, false,
		 pl_read_launcher_digest),
	REQUIRED("stream.holders", "the worker holds the stream once, zygote and init do not", PL_AFTER_TASK, false,
		 pl_read_stream_holders),
	REQUIRED("fd.open", "equals the stream alone", PL_AFTER_TASK, false, pl_read_fd_open),
	REQUIRED("limit.memory", "equals the request's memory limit, held by RLIMIT_DATA", PL_AFTER_TASK, false,
		 pl_read_limit_data),
	REQUIRED("limit.pids", "equals 1, held by RLIMIT_NPROC", PL_AFTER_TASK, false, pl_read_limit_nproc),
	REQUIRED("limit.cpu", "equals the request's deadline in whole seconds and two, held by RLIMIT_CPU", PL_AFTER_TASK, false,
		 pl_read_limit_cpu),
	STATED("ns.pid", PL_FACT_HOST, PL_AFTER_SAME, true, pl_read_ns_pid),
	STATED("ns.mnt", PL_FACT_HOST, PL_AFTER_SAME, true, pl_read_ns_mnt),
	STATED("ns.net", PL_FACT_HOST, PL_AFTER_SAME, true, pl_read_ns_net),
	STATED("ns.user", PL_FACT_HOST, PL_AFTER_SAME, true, pl_read_ns_user),
	STATED("cred.uid", PL_FACT_HOST, PL_AFTER_TASK, true, pl_read_cred_uid),
	STATED("cred.caps", PL_FACT_HOST, PL_AFTER_TASK, false, pl_read_cred_caps),
	STATED("cred.no_new_privs", PL_FACT_HOST, PL_AFTER_TASK, false, pl_read_cred_nnp),
	STATED("cred.tracer", PL_FACT_HOST, PL_AFTER_TASK, false, pl_read_cred_tracer),
	STATED("seccomp", PL_FACT_GUEST, PL_AFTER_FIXED, false, pl_read_probes),
	STATED("landlock", PL_FACT_GUEST, PL_AFTER_FIXED, false, pl_read_landlock),
};

static int process_start(struct pl_wall_env *env, void **ret_state, char found[PL_WALL_TEXT_LEN],
			 char remedy[PL_WALL_TEXT_LEN])
{
	struct process_wall *w;
	int rc = pl_zygote_limits_fit(env->settings, found, remedy);

	if (rc < 0)
		return rc;
	w = pl_calloc(1, sizeof *w);
	if (!w)
		return -ENOMEM;
	w->env = env;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		w->specs[i] = table[i].spec;
	w->profile = (struct pl_profile){
		.wall = "process", .tier = PLIMSOLL_TIER_PROCESS, .specs = w->specs, .specs_n = sizeof table / sizeof *table,
	};
	snprintf(found, PL_WALL_TEXT_LEN, "a worker process for each run, memory held by RLIMIT_DATA%s",
		 env->namespaces_error ? "; without namespaces around it, which this tier does not ask for" : "");
	remedy[0] = 0;
	*ret_state = w;
	return 0;
}

/* Never from inside a callback of the loop, where an event of the same round may still point into a zygote. */
static void ended_sweep(struct process_wall *w)
{
	struct pl_zygote **at = &w->ended;

	while (*at) {
		struct pl_zygote *z = *at;

		if (z->workers || !pl_jail_release(&z->jail)) {
			at = &z->next;
			continue;
		}
		*at = z->next;
		pl_zygote_free(z);
	}
}

/* The zygote serves no more: its workers fail (each of their runs decides what that means), the next open makes another. */
static void zygote_ended(struct pl_zygote *z, const struct plimsoll_error *error)
{
	struct process_wall *w = z->owner;
	struct pl_worker *next;

	if (z != w->zygote)
		return;
	w->zygote = NULL;
	z->next = w->ended;
	w->ended = z;
	pl_zygote_kill(z);
	for (struct pl_worker *worker = z->workers; worker; worker = next) {
		next = worker->next;
		w->env->failed(worker->sandbox, error);
	}
}

/* For a zygote without workers, or when all ends. */
static void zygote_retire(struct process_wall *w)
{
	struct pl_zygote *z = w->zygote;

	z->next = w->ended;
	w->ended = z;
	w->zygote = NULL;
	pl_zygote_kill(z);
}

static void process_stop(void *state)
{
	struct process_wall *w = state;

	if (w->zygote)
		zygote_retire(w);
	for (int i = 0; w->ended && i < 1000; i++) {
		ended_sweep(w);
		if (w->ended)
			usleep(1000);
	}
	pl_free(w);
}

static const struct pl_profile *process_profile(const void *state)
{
	return &((const struct process_wall *)state)->profile;
}

static int worker_stream(int ret_pair[2], ino_t *ret_ino)
{
	int one = 1, rc = pl_sys_socketpair(SOCK_STREAM, ret_pair);
	struct stat st;

	if (rc == 0)
		rc = pl_sys_fstat(ret_pair[1], &st);
	if (rc == 0)
		rc = pl_sys_setsockopt(ret_pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	if (rc == 0)
		*ret_ino = st.st_ino;
	return rc;
}

static int process_open(void *state, struct pl_sandbox *sandbox, struct plimsoll_error *error)
{
	struct process_wall *w = state;
	int pair[2] = { -1, -1 }, rc;
	struct pl_worker *worker;

	/* What was wrong with a worker may be wrong with all of its kind; those that still run are left to their end. */
	if (w->zygote && w->zygote->suspect && !w->zygote->workers)
		zygote_retire(w);
	if (!w->zygote) {
		rc = pl_zygote_new(w->env, w, zygote_ended, &w->zygote, error);
		if (rc < 0)
			return rc;
	}
	rc = worker_stream(pair, &sandbox->stream_ino);
	worker = rc == 0 ? pl_calloc(1, sizeof *worker) : NULL;
	if (rc == 0 && !worker)
		rc = -ENOMEM;
	if (rc == 0) {
		*worker = (struct pl_worker){ .zygote = w->zygote, .sandbox = sandbox, .proc = PL_PROC_NONE };
		rc = pl_zygote_fork(w->zygote, worker, pair[1]);
	}
	pl_fd_close(&pair[1]);
	if (rc < 0) {
		pl_fd_close(&pair[0]);
		pl_free(worker);
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open process",
				"a worker could not be asked for: %s", strerror(-rc));
	}
	sandbox->own = worker;
	sandbox->challenge_later = true;
	sandbox->stream_fd = pair[0];
	return 0;
}

static int process_pin(struct pl_sandbox *sandbox, pid_t speaker, struct plimsoll_error *error)
{
	struct pl_worker *worker = sandbox->own;
	int rc;

	pl_zygote_read(worker->zygote); /* READY was sent before any worker could speak */
	rc = worker->zygote->proc.pid ? pl_proc_pin(speaker, -1, &worker->proc) : -ESRCH;
	if (worker->released) /* what was read was the zygote's end, or this worker's: the sandbox has been dealt with */
		rc = -ECANCELED;
	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "pin worker",
				"the worker that answered could not be held: %s", strerror(-rc));
	return 0;
}

static int process_limit(struct pl_sandbox *sandbox)
{
	const struct pl_worker *worker = sandbox->own;
	uint64_t memory = sandbox->limits.memory_bytes, cpu = sandbox->limits.cpu_seconds;
	const struct pl_jail *jail = &worker->zygote->jail;
	int rc = pl_sabotage("limit.memory") ? 0 : pl_jail_limit(jail, &worker->proc, RLIMIT_DATA, memory);

	if (rc == 0 && !pl_sabotage("limit.cpu"))
		rc = pl_jail_limit(jail, &worker->proc, RLIMIT_CPU, cpu);
	return rc;
}

static void process_measure(struct pl_sandbox *sandbox, enum pl_phase phase, bool gone, struct pl_fact *facts)
{
	struct pl_worker *worker = sandbox->own;
	struct process_wall *w = worker->zygote->owner;
	struct pl_verdict verdict;
	struct pl_reading_tables tables;
	struct pl_reading reading = {
		.sandbox = sandbox,
		.jail = &worker->zygote->jail,
		.guest = &worker->proc,
		.parent = &worker->zygote->proc,
		.gone = gone,
		.phase = phase,
	};

	pl_reading_take(&reading, &tables);
	pl_readers_run(table, sizeof table / sizeof *table, &reading, facts);
	if (phase != PL_PHASE_AFTER && pl_derive(&w->profile, facts, &verdict) != w->profile.tier)
		worker->zygote->suspect = true;
}

static bool process_alive(const struct pl_sandbox *sandbox)
{
	const struct pl_worker *worker = sandbox->own;

	return pl_proc_alive(&worker->proc);
}

static int process_halt(struct pl_sandbox *sandbox)
{
	struct pl_worker *worker = sandbox->own;

	return pl_sys_pidfd_send_signal(worker->proc.pidfd, SIGSTOP);
}

static bool process_halted(const struct pl_sandbox *sandbox)
{
	const struct pl_worker *worker = sandbox->own;
	struct pl_proc_status status;

	/* 't': it stands still in the hands of a tracer, of whom the facts will tell. */
	return !pl_proc_alive(&worker->proc) ||
	       (pl_proc_status(&worker->proc, &status) == 0 && (status.state == 'T' || status.state == 't'));
}

static void process_usage(const struct pl_sandbox *sandbox, int64_t *ret_cpu_us, uint64_t *ret_peak_bytes)
{
	const struct pl_worker *worker = sandbox->own;
	struct pl_proc_status status;

	*ret_cpu_us = pl_proc_cpu_us(&worker->proc);
	*ret_peak_bytes = pl_proc_status(&worker->proc, &status) == 0 ? status.peak_bytes : 0;
}

/* No cgroup is involved: a refused allocation is an error inside the engine, which says so itself. */
static bool process_out_of_memory(const struct pl_sandbox *sandbox)
{
	(void)sandbox;
	return false;
}

static void process_kill(struct pl_sandbox *sandbox)
{
	struct pl_worker *worker = sandbox->own;

	worker->released = true;
	/* A worker that never spoke is not held; it ends when its stream does, which the supervisor closes next. */
	if (worker->proc.pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, worker->proc.pidfd, SIGKILL, NULL, 0);
}

static bool process_release(struct pl_sandbox *sandbox)
{
	struct pl_worker *worker = sandbox->own;
	struct process_wall *w = worker->zygote->owner;

	/* A live zygote reaps and reports every worker; a dead one took its workers along. */
	if (worker->zygote == w->zygote ? !sandbox->end.known : pl_proc_alive(&worker->proc))
		return false;
	pl_zygote_forget(worker);
	pl_proc_unpin(&worker->proc);
	pl_free(worker);
	sandbox->own = NULL;
	ended_sweep(w);
	return true;
}

const struct pl_wall pl_wall_process = {
	.name = "process",
	.tier = PLIMSOLL_TIER_PROCESS,
	.start = process_start,
	.stop = process_stop,
	.profile = process_profile,
	.open = process_open,
	.pin = process_pin,
	.limit = process_limit,
	.measure = process_measure,
	.alive = process_alive,
	.halt = process_halt,
	.halted = process_halted,
	.usage = process_usage,
	.out_of_memory = process_out_of_memory,
	.kill = process_kill,
	.release = process_release,
};
