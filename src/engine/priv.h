/* SPDX-License-Identifier: Apache-2.0 */
/* priv: what the files of src/engine share with each other and with nobody else. */
#ifndef PL_ENGINE_PRIV_H
#define PL_ENGINE_PRIV_H

#include "engine/alloc.h"
#include "engine/engine.h"

#include "quickjs.h"

/* An unhandled rejection that may still become handled before the queue of jobs is empty. */
struct pl_rejection {
	JSValue promise, reason;
};

struct pl_timer;

/* A function to call later, with its arguments; held by the tick and immediate queues. */
struct pl_callback {
	struct pl_callback *next;
	JSValue function;
	int cleared;
	JSValue handle; /* the Immediate object, or JS_UNDEFINED */
	int args_n;
	JSValue args[];
};

struct pl_callback_queue {
	struct pl_callback *first, **last;
	size_t n;
};

struct pl_engine {
	struct pl_engine_host host;
	struct pl_alloc alloc;
	JSRuntime *rt;
	JSContext *ctx;

	JSValue format_uncaught; /* the bootstrap's function: value -> text for stderr */
	uint64_t random[4];
	int64_t origin_ns; /* monotonic clock at the job's arrival */

	struct pl_rejection *rejections;
	size_t rejections_first, rejections_n, rejections_room; /* those not yet handled are first .. n-1 */
	int rejection_lost; /* no memory to remember one */

	struct pl_callback_queue ticks, immediates;

	struct pl_timer **timers; /* a binary heap by deadline, then by order of start */
	size_t timers_n, timers_room;
	size_t timers_ref_n; /* how many of them keep the run alive */
	uint64_t timer_order;
	int32_t timer_last_id;
	JSClassID timer_class, immediate_class;

	int has_exit_code;
	int32_t exit_code;
};

static inline struct pl_engine *pl_engine_of(JSContext *ctx)
{
	return JS_GetContextOpaque(ctx);
}

/* internals.c: the object that the bootstrap script receives. */
JSValue pl_internals_new(struct pl_engine *engine);
/* Writes a JavaScript string to a stream, lone surrogates as U+FFFD; -1 with an exception pending. */
int pl_write_value(struct pl_engine *engine, enum pl_stream stream, JSValueConst text);

/* random.c */
void pl_random_seed(struct pl_engine *engine, const uint8_t seed[PL_SEED_LEN]);
int pl_random_install(struct pl_engine *engine);

/* callbacks.c: process.nextTick, setImmediate, queueMicrotask. */
int pl_callbacks_install(struct pl_engine *engine, JSValueConst internals);
int pl_callbacks_init(struct pl_engine *engine);
/* Calls everything queued as ticks until none is left; -1 with an exception pending. */
int pl_ticks_run(struct pl_engine *engine);
/* Calls the oldest immediate, of which there is at least one; -1 with an exception pending. */
int pl_immediates_run_one(struct pl_engine *engine);
void pl_callbacks_fini(struct pl_engine *engine);
JSValue pl_throw_not_a_function(JSContext *ctx, JSValueConst value);

/* timers.c: setTimeout, setInterval and their handles. */
int pl_timers_install(struct pl_engine *engine, JSValueConst internals);
int pl_timers_init(struct pl_engine *engine);
/* Fires the first timer if it is due at now_ns: 1 fired, 0 none is due, -1 its function threw. */
int pl_timers_fire_one(struct pl_engine *engine, int64_t now_ns);
/* When the next one is due, in ns of the host's clock, or -1 when none keeps the run alive. */
int64_t pl_timers_next_ns(const struct pl_engine *engine);
void pl_timers_fini(struct pl_engine *engine);

/* rejections.c */
void pl_rejections_install(struct pl_engine *engine);
/* Takes the reason of the oldest unhandled rejection: 1, or 0 when there is none. */
int pl_rejections_take(struct pl_engine *engine, JSValue *ret_reason);
void pl_rejections_fini(struct pl_engine *engine);

#endif
