/* SPDX-License-Identifier: Apache-2.0 */
/* zygote: the standing process of the process wall and the workers that it forked. Used by process.c only. */
#ifndef PL_WALL_PROCESS_ZYGOTE_H
#define PL_WALL_PROCESS_ZYGOTE_H

#include "wall/jail/measure.h"

struct pl_zygote;

/* One worker; a sandbox's own part. In its zygote's list from the request until it is forgotten. */
struct pl_worker {
	struct pl_worker *next;
	struct pl_zygote *zygote;
	struct pl_sandbox *sandbox;
	struct pl_proc proc;  /* pinned at HELLO */
	pid_t inner_pid;      /* as the zygote's pid namespace counts; 0 until FORKED */
	bool released;        /* killed by us: its end is nobody's news */
};

struct pl_zygote {
	struct pl_zygote *next;
	void *owner;
	void (*ended)(struct pl_zygote *zygote, const struct plimsoll_error *error);
	struct pl_wall_env *env;
	struct pl_jail jail;
	struct pl_source control; /* SOCK_SEQPACKET to the zygote */
	struct pl_proc proc;      /* pinned at READY; pid 0 before */
	struct pl_worker *workers;
	bool suspect;             /* a worker of it did not measure right: it gets no more of them */
};

/* Whether the limits that plimsoll itself runs under leave room for workers: 0, or -ERANGE with texts for a person. */
int pl_zygote_limits_fit(const struct pl_settings *settings, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN]);

int pl_zygote_new(struct pl_wall_env *env, void *owner,
		  void (*ended)(struct pl_zygote *zygote, const struct plimsoll_error *error), struct pl_zygote **ret,
		  struct plimsoll_error *error);
/* Asks for a worker that gets stream_fd; the worker joins the list. */
int pl_zygote_fork(struct pl_zygote *zygote, struct pl_worker *worker, int stream_fd);
/* Reads what the zygote has said so far. */
void pl_zygote_read(struct pl_zygote *zygote);
/* Takes a worker off the list. */
void pl_zygote_forget(struct pl_worker *worker);
/* Ends zygote and workers. */
void pl_zygote_kill(struct pl_zygote *zygote);
/* After its jail was released. */
void pl_zygote_free(struct pl_zygote *zygote);

/* The fact `seccomp` of this wall: what the worker saw denied. */
void pl_read_probes(const struct pl_reading *r, struct pl_fact *f);

#endif
