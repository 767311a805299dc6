/* SPDX-License-Identifier: Apache-2.0 */
/* rejections: promises that were rejected with nobody listening. Kept until the queue of jobs is empty, as in Node: a handler
 * attached before that counts. Called by the engine loop; the values are the program's. */
#include "engine/priv.h"

static int remember(struct pl_engine *engine, JSValueConst promise, JSValueConst reason)
{
	if (engine->rejections_n == engine->rejections_room) {
		size_t room = engine->rejections_room ? engine->rejections_room * 2 : 8;
		struct pl_rejection *more = js_realloc_rt(engine->rt, engine->rejections, room * sizeof *more);

		if (!more)
			return -1;
		engine->rejections = more;
		engine->rejections_room = room;
	}
	engine->rejections[engine->rejections_n++] = (struct pl_rejection){
		.promise = JS_DupValue(engine->ctx, promise),
		.reason = JS_DupValue(engine->ctx, reason),
	};
	return 0;
}

/* Takes out entry i, which is most often the oldest or the newest. */
static struct pl_rejection take_at(struct pl_engine *engine, size_t i)
{
	struct pl_rejection *all = engine->rejections, taken = all[i];

	if (i == engine->rejections_first) {
		engine->rejections_first++;
	} else {
		engine->rejections_n--;
		for (; i < engine->rejections_n; i++)
			all[i] = all[i + 1];
	}
	if (engine->rejections_first == engine->rejections_n)
		engine->rejections_first = engine->rejections_n = 0;
	return taken;
}

static void forget(struct pl_engine *engine, JSValueConst promise)
{
	size_t low = engine->rejections_first, high = engine->rejections_n;
	void *wanted = JS_VALUE_GET_PTR(promise);

	/* From both ends: handlers come in the order of the rejections or in the opposite one, and there may be very many. */
	for (; low < high; low++) {
		size_t i;

		high--;
		if (JS_VALUE_GET_PTR(engine->rejections[low].promise) == wanted)
			i = low;
		else if (JS_VALUE_GET_PTR(engine->rejections[high].promise) == wanted)
			i = high;
		else
			continue;
		struct pl_rejection taken = take_at(engine, i);

		JS_FreeValue(engine->ctx, taken.promise);
		JS_FreeValue(engine->ctx, taken.reason);
		return;
	}
}

static void track(JSContext *ctx, JSValueConst promise, JSValueConst reason, JS_BOOL is_handled, void *opaque)
{
	struct pl_engine *engine = opaque;

	(void)ctx;
	if (is_handled)
		forget(engine, promise);
	else if (remember(engine, promise, reason) < 0)
		engine->rejection_lost = 1;
}

void pl_rejections_install(struct pl_engine *engine)
{
	JS_SetHostPromiseRejectionTracker(engine->rt, track, engine);
}

int pl_rejections_take(struct pl_engine *engine, JSValue *ret_reason)
{
	struct pl_rejection taken;

	if (engine->rejections_first == engine->rejections_n) {
		*ret_reason = JS_NULL;
		return engine->rejection_lost;
	}
	taken = take_at(engine, engine->rejections_first);
	JS_FreeValue(engine->ctx, taken.promise);
	*ret_reason = taken.reason;
	return 1;
}

void pl_rejections_fini(struct pl_engine *engine)
{
	JSValue reason;

	engine->rejection_lost = 0;
	while (pl_rejections_take(engine, &reason))
		JS_FreeValue(engine->ctx, reason);
	js_free_rt(engine->rt, engine->rejections);
	engine->rejections = NULL;
}
