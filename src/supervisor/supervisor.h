/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor: the program that owns the walls. One a context, one thread, one event loop.
 *
 * Theory of operation. The library is at the other end of the lifeline (descriptor 3). It asks; a request that passes its
 * checks becomes a struct request, gets a box (one from the pool, or a new one), passes the gate in it, and is answered once.
 * A box is one sandbox on its way through opening, waiting, running, halting and leaving; it serves at most one request. When
 * the lifeline ends, every box is killed and released, and the program exits. What a killed supervisor leaves behind ends by
 * itself (init sees its control socket end) but for cgroup directories, which the next start sweeps. */
#ifndef PL_SUPERVISOR_SUPERVISOR_H
#define PL_SUPERVISOR_SUPERVISOR_H

#include "base/buf.h"
#include "contract/evidence.h"
#include "wall/wall.h"
#include "wire/msg.h"

#define PL_LIFELINE_FD 3
#define PL_WALLS_N 3
#define HOST_WHY_LEN 256

struct supervisor;
struct box;

/* A wall as this context uses it. Strongest first. */
struct slot {
	const struct pl_wall *wall;
	void *state;
	bool configured, available;
	char found[PL_WALL_TEXT_LEN], remedy[PL_WALL_TEXT_LEN];
	char policy[PL_POLICY_SIZE];
	unsigned waiting, filling; /* boxes of the pool: at the gate, on their way there */
	/* A fact was contradicted: no run until a spare sandbox passes. */
	bool out_of_service;
	char out_fact[32]; /* that fact, or the one for want of which the wall is not available */
	int64_t probe_us, probe_wait_us; /* when the next spare is opened; how long after a failed one */
	bool probing;
};

/* A call of the library that needs a sandbox: a run, or a measurement. On the heap, owned by its box, or by nobody for as long
 * as the function that makes it runs. */
struct request {
	struct pl_run run;
	bool measure_only;
	struct pl_buf out, err;
	uint64_t out_total, err_total;
	uint64_t out_dropped, err_dropped; /* how often the guest has said what it counted instead of sending */
	bool has_result;
	struct pl_guest_result result;
};

enum box_state {
	BOX_OPENING, /* until HELLO was right and the facts were met; bound by the gate's deadline */
	BOX_WAITING, /* in the pool */
	BOX_RUNNING, /* dispatched */
	BOX_HALTING, /* at its deadline: told to stand still */
	BOX_DYING,   /* its stream has ended; init's report is awaited */
	BOX_LEAVING, /* killed; waits to be released */
};

struct box {
	struct pl_sandbox sandbox; /* first: walls know a box by this */
	struct box *next, *previous;
	struct supervisor *supervisor;
	struct slot *slot;
	enum box_state state;
	struct request *request; /* NULL: none yet, or answered */
	bool for_pool, spare;    /* why it was opened when not for a request */
	int64_t cpu_before_us;   /* what the guest had used when the run was dispatched: its start-up */
	bool job_lost;           /* it could not be written whole */
	bool past_deadline;      /* halted because its time was up */
	struct pl_source stream;
	struct pl_buf in, out;
	int64_t until_us;        /* when the present state's patience ends; INT64_MAX: never */
	uint8_t salt[PL_SALT_LEN];
	bool evidence_taken;
	char instance[PL_INSTANCE_SIZE];
	uint64_t released_round;
};

struct lifeline {
	struct supervisor *supervisor;
	struct pl_source source;
	struct pl_source caller; /* pidfd of the process that made the socket */
	struct pl_buf in, out;
	bool opened;
};

struct supervisor {
	struct pl_loop loop;
	struct lifeline line;
	struct pl_settings settings;
	struct pl_wall_env env;
	struct pl_cgroup_host cgroups;
	struct pl_jail_filters *filters;
	struct slot slots[PL_WALLS_N];
	unsigned slots_configured;
	uint8_t image_id[PL_IMAGE_ID_LEN];
	struct box *boxes;   /* all but the waiting ones: every round looks at each */
	struct box *pool;    /* the waiting ones: no round does */
	unsigned runs;       /* requests in flight */
	int helpers_fd;      /* the folder of the helper programs */
	struct pl_source signals;
	bool ending;
};

/* lifeline.c */
int lifeline_open(struct supervisor *s);
void lifeline_close(struct supervisor *s);
void lifeline_answer_error(struct supervisor *s, uint64_t id, const struct plimsoll_error *error);
/* Sends what was printed to line.out. */
void lifeline_flush(struct supervisor *s);

/* start.c: what OPEN asks for. 0, or *error. */
int supervisor_start(struct supervisor *s, const struct pl_msg_open *open, struct plimsoll_error *error);
void supervisor_stop(struct supervisor *s);

/* images.c */
int image_load(int dirfd, const char *name, struct pl_image *ret);

/* host.c: what can be seen from here. 0, or -errno with the cause and what to do in why. */
int host_look(struct pl_wall_env *env, char why[HOST_WHY_LEN]);
/* Raises our own limits as far as they go, and sees whether that is enough: 0, or -errno with why. */
int host_limits(char why[HOST_WHY_LEN]);

/* namespaces.c: whether a jail's namespaces can be had here. Fills env->namespaces_*. */
void namespaces_look(struct pl_wall_env *env);
/* The first line of a small file of the kernel's, or "" when it is not there. */
void setting_read(const char *path, char *ret, size_t size);

/* request.c */
void request_run(struct supervisor *s, uint64_t id, const struct pl_msg_run *msg);
void request_measure(struct supervisor *s, uint64_t id, const struct pl_msg_measure *msg);
void request_cancel(struct supervisor *s, uint64_t id);
void request_free(struct request *request);
/* Answers a box's request with an error and takes it off the box; the one way out for errors, where the mark is decided. */
void request_refuse(struct box *box, const struct plimsoll_error *error);
/* Answers it with its result, or with evidence. changes: what became of the facts; NULL: no run. */
void request_answer(struct box *box, int exit_code, bool timed_out, bool oom, int64_t cpu_us, uint64_t peak_bytes,
		    const enum pl_change *changes);

/* box.c */
/* Opens a sandbox of slot for request (NULL: for the pool, or a spare). On failure the request is still the caller's. */
int box_open(struct supervisor *s, struct slot *slot, struct request *request, bool spare, struct plimsoll_error *error);
/* Gives a waiting box to a request and lets it pass the gate. */
void box_pass(struct box *box, struct request *request);
void box_kill(struct box *box);
/* Looks at deadlines, leavers, pools and probes; returns when it wants to be called again, INT64_MAX for never. */
int64_t boxes_tend(struct supervisor *s, int64_t now_us);
void box_challenge(struct pl_sandbox *sandbox);
void box_failed(struct pl_sandbox *sandbox, const struct plimsoll_error *error);
void box_ended(struct pl_sandbox *sandbox);

/* doctor.c */
void doctor_answer(struct supervisor *s, uint64_t id);

#endif
