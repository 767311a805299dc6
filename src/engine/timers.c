/* SPDX-License-Identifier: Apache-2.0 */
/* timers: setTimeout and setInterval: a heap of timers ordered by deadline and then by start.
 *
 * A handle (the Timeout object of the program) owns its timer; the heap holds a reference to the handle while the timer runs. So
 * a handle can be refreshed after it has fired, and a forgotten one is freed. The loop in engine.c fires them. */
#include "engine/priv.h"

#include <math.h>

#define DELAY_MAX_MS 2147483647.0
#define NOT_IN_HEAP SIZE_MAX
#define NS_PER_MS 1000000

struct pl_timer {
	JSValue handle; /* a reference while the timer runs, else JS_UNDEFINED */
	JSValue function;
	size_t heap_index;
	int64_t deadline_ns; /* exact, so that none fires early and those of one delay fire in order */
	int64_t delay_ms;
	uint64_t order;
	int32_t id;
	int repeats, unreferenced;
	int args_n;
	JSValue args[];
};

static int timer_before(const struct pl_timer *a, const struct pl_timer *b)
{
	return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns : a->order < b->order;
}

static void heap_put(struct pl_engine *engine, size_t i, struct pl_timer *timer)
{
	engine->timers[i] = timer;
	timer->heap_index = i;
}

static void heap_sift_up(struct pl_engine *engine, size_t i, struct pl_timer *timer)
{
	while (i > 0 && timer_before(timer, engine->timers[(i - 1) / 2])) {
		heap_put(engine, i, engine->timers[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_put(engine, i, timer);
}

static void heap_sift_down(struct pl_engine *engine, size_t i, struct pl_timer *timer)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < engine->timers_n && timer_before(engine->timers[child + 1], engine->timers[child]))
			child++;
		if (child >= engine->timers_n || !timer_before(engine->timers[child], timer))
			break;
		heap_put(engine, i, engine->timers[child]);
		i = child;
	}
	heap_put(engine, i, timer);
}

static int heap_reserve(struct pl_engine *engine)
{
	size_t room = engine->timers_room ? engine->timers_room * 2 : 16;
	struct pl_timer **more;

	if (engine->timers_n < engine->timers_room)
		return 0;
	more = js_realloc(engine->ctx, engine->timers, room * sizeof(struct pl_timer *));
	if (!more)
		return -1;
	engine->timers = more;
	engine->timers_room = room;
	return 0;
}

/* Takes the timer out of the heap; the heap's reference to its handle goes to the caller. */
static JSValue timer_stop(struct pl_engine *engine, struct pl_timer *timer)
{
	size_t i = timer->heap_index;
	struct pl_timer *last = engine->timers[--engine->timers_n];
	JSValue handle = timer->handle;

	if (last != timer) {
		heap_sift_up(engine, i, last);
		heap_sift_down(engine, last->heap_index, last);
	}
	timer->heap_index = NOT_IN_HEAP;
	timer->handle = JS_UNDEFINED;
	engine->timers_ref_n -= !timer->unreferenced;
	return handle;
}

static int timer_start(struct pl_engine *engine, struct pl_timer *timer, JSValueConst handle)
{
	if (timer->heap_index != NOT_IN_HEAP)
		JS_FreeValue(engine->ctx, timer_stop(engine, timer));
	if (heap_reserve(engine) < 0)
		return -1;
	timer->deadline_ns = engine->host.monotonic_ns(engine->host.opaque) + timer->delay_ms * NS_PER_MS;
	timer->order = engine->timer_order++;
	timer->handle = JS_DupValue(engine->ctx, handle);
	engine->timers_ref_n += !timer->unreferenced;
	heap_sift_up(engine, engine->timers_n++, timer);
	return 0;
}

int64_t pl_timers_next_ns(const struct pl_engine *engine)
{
	if (!engine->timers_ref_n)
		return -1;
	return engine->timers[0]->deadline_ns;
}

int pl_timers_fire_one(struct pl_engine *engine, int64_t now_ns)
{
	struct pl_timer *timer = engine->timers_n ? engine->timers[0] : NULL;
	JSValue handle, value;
	int r;

	if (!timer || timer->deadline_ns > now_ns)
		return 0;
	handle = timer_stop(engine, timer);
	value = JS_Call(engine->ctx, timer->function, handle, timer->args_n, timer->args);
	r = JS_IsException(value) ? -1 : 1;
	JS_FreeValue(engine->ctx, value);
	if (r > 0 && timer->repeats && timer->heap_index == NOT_IN_HEAP && timer_start(engine, timer, handle) < 0)
		r = -1;
	JS_FreeValue(engine->ctx, handle);
	return r;
}

static int delay_parse(JSContext *ctx, JSValueConst value, int64_t *ret_ms)
{
	double ms;

	if (JS_IsUndefined(value)) {
		*ret_ms = 1;
		return 0;
	}
	if (JS_ToFloat64(ctx, &ms, value) < 0)
		return -1;
	/* Written so that NaN gives 1 as well. */
	*ret_ms = ms >= 1 && ms <= DELAY_MAX_MS ? (int64_t)trunc(ms) : 1;
	return 0;
}

static struct pl_timer *timer_new(JSContext *ctx, int argc, JSValueConst *argv)
{
	int args_n = argc > 2 ? argc - 2 : 0;
	struct pl_timer *timer;
	int64_t delay_ms;

	if (argc < 1 || !JS_IsFunction(ctx, argv[0])) {
		pl_throw_not_a_function(ctx, argc ? argv[0] : JS_UNDEFINED);
		return NULL;
	}
	if (delay_parse(ctx, argc > 1 ? argv[1] : JS_UNDEFINED, &delay_ms) < 0)
		return NULL;
	timer = js_mallocz(ctx, sizeof *timer + (size_t)args_n * sizeof timer->args[0]);
	if (!timer)
		return NULL;
	timer->handle = JS_UNDEFINED;
	timer->function = JS_DupValue(ctx, argv[0]);
	timer->heap_index = NOT_IN_HEAP;
	timer->delay_ms = delay_ms;
	timer->id = ++pl_engine_of(ctx)->timer_last_id;
	timer->args_n = args_n;
	for (int i = 0; i < args_n; i++)
		timer->args[i] = JS_DupValue(ctx, argv[i + 2]);
	return timer;
}

static void timer_free(JSRuntime *rt, struct pl_timer *timer)
{
	JS_FreeValueRT(rt, timer->function);
	for (int i = 0; i < timer->args_n; i++)
		JS_FreeValueRT(rt, timer->args[i]);
	js_free_rt(rt, timer);
}

/* setTimeout and, with magic 1, setInterval. */
static JSValue set_timer(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv, int magic)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	struct pl_timer *timer = timer_new(ctx, argc, argv);
	JSValue handle;

	(void)this_val;
	if (!timer)
		return JS_EXCEPTION;
	timer->repeats = magic;
	handle = JS_NewObjectClass(ctx, (int)engine->timer_class);
	if (JS_IsException(handle)) {
		timer_free(engine->rt, timer);
		return JS_EXCEPTION;
	}
	JS_SetOpaque(handle, timer);
	if (timer_start(engine, timer, handle) < 0) {
		JS_FreeValue(ctx, handle);
		return JS_EXCEPTION;
	}
	return handle;
}

static struct pl_timer *timer_by_id(struct pl_engine *engine, JSValueConst value)
{
	double id;

	if (!JS_IsNumber(value) && !JS_IsString(value))
		return NULL;
	if (JS_ToFloat64(engine->ctx, &id, value) < 0)
		return NULL;
	for (size_t i = 0; i < engine->timers_n; i++) {
		if (engine->timers[i]->id == id)
			return engine->timers[i];
	}
	return NULL;
}

static JSValue clear_timer(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	struct pl_timer *timer;

	(void)this_val;
	if (argc < 1)
		return JS_UNDEFINED;
	timer = JS_GetOpaque(argv[0], engine->timer_class);
	if (!timer)
		timer = timer_by_id(engine, argv[0]);
	if (timer) {
		timer->repeats = 0;
		if (timer->heap_index != NOT_IN_HEAP)
			JS_FreeValue(ctx, timer_stop(engine, timer));
	}
	return JS_UNDEFINED;
}

static struct pl_timer *timer_of(JSContext *ctx, JSValueConst handle)
{
	return JS_GetOpaque2(ctx, handle, pl_engine_of(ctx)->timer_class);
}

/* ref and, with magic 1, unref. */
static JSValue handle_ref(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv, int magic)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	struct pl_timer *timer = timer_of(ctx, this_val);

	(void)argc, (void)argv;
	if (!timer)
		return JS_EXCEPTION;
	if (timer->heap_index != NOT_IN_HEAP)
		engine->timers_ref_n += (size_t)(timer->unreferenced - magic);
	timer->unreferenced = magic;
	return JS_DupValue(ctx, this_val);
}

static JSValue handle_has_ref(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_timer *timer = timer_of(ctx, this_val);

	(void)argc, (void)argv;
	return timer ? JS_NewBool(ctx, !timer->unreferenced) : JS_EXCEPTION;
}

static JSValue handle_refresh(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_timer *timer = timer_of(ctx, this_val);

	(void)argc, (void)argv;
	if (!timer || timer_start(pl_engine_of(ctx), timer, this_val) < 0)
		return JS_EXCEPTION;
	return JS_DupValue(ctx, this_val);
}

static JSValue handle_close(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	JS_FreeValue(ctx, clear_timer(ctx, JS_UNDEFINED, 1, &this_val));
	return JS_DupValue(ctx, this_val);
}

static JSValue handle_to_primitive(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_timer *timer = timer_of(ctx, this_val);

	(void)argc, (void)argv;
	return timer ? JS_NewInt32(ctx, timer->id) : JS_EXCEPTION;
}

static void handle_finalize(JSRuntime *rt, JSValue handle)
{
	JSClassID class_id;
	struct pl_timer *timer = JS_GetAnyOpaque(handle, &class_id);

	if (timer)
		timer_free(rt, timer);
}

static void handle_mark(JSRuntime *rt, JSValueConst handle, JS_MarkFunc *mark)
{
	JSClassID class_id;
	struct pl_timer *timer = JS_GetAnyOpaque(handle, &class_id);

	if (!timer)
		return;
	JS_MarkValue(rt, timer->function, mark);
	for (int i = 0; i < timer->args_n; i++)
		JS_MarkValue(rt, timer->args[i], mark);
}

static const JSCFunctionListEntry functions[] = {
	JS_CFUNC_MAGIC_DEF("setTimeout", 2, set_timer, 0),
	JS_CFUNC_MAGIC_DEF("setInterval", 2, set_timer, 1),
	JS_CFUNC_DEF("clearTimeout", 1, clear_timer),
	JS_CFUNC_DEF("clearInterval", 1, clear_timer),
};

static const JSCFunctionListEntry handle_functions[] = {
	JS_CFUNC_MAGIC_DEF("ref", 0, handle_ref, 0),
	JS_CFUNC_MAGIC_DEF("unref", 0, handle_ref, 1),
	JS_CFUNC_DEF("hasRef", 0, handle_has_ref),
	JS_CFUNC_DEF("refresh", 0, handle_refresh),
	JS_CFUNC_DEF("close", 0, handle_close),
	JS_CFUNC_DEF("[Symbol.toPrimitive]", 0, handle_to_primitive),
};

int pl_timers_init(struct pl_engine *engine)
{
	static const JSClassDef handle = { .class_name = "Timeout", .finalizer = handle_finalize, .gc_mark = handle_mark };

	JS_NewClassID(&engine->timer_class);
	return JS_NewClass(engine->rt, engine->timer_class, &handle);
}

int pl_timers_install(struct pl_engine *engine, JSValueConst internals)
{
	JSValue proto = JS_NewObject(engine->ctx);

	if (JS_IsException(proto))
		return -1;
	JS_SetPropertyFunctionList(engine->ctx, proto, handle_functions, sizeof handle_functions / sizeof handle_functions[0]);
	JS_SetPropertyStr(engine->ctx, internals, "timeoutPrototype", JS_DupValue(engine->ctx, proto));
	JS_SetClassProto(engine->ctx, engine->timer_class, proto);
	JS_SetPropertyFunctionList(engine->ctx, internals, functions, sizeof functions / sizeof functions[0]);
	return 0;
}

void pl_timers_fini(struct pl_engine *engine)
{
	while (engine->timers_n)
		JS_FreeValue(engine->ctx, timer_stop(engine, engine->timers[engine->timers_n - 1]));
	js_free_rt(engine->rt, engine->timers);
	engine->timers = NULL;
}
