/* SPDX-License-Identifier: Apache-2.0 */
/* callbacks: functions to be called later without a clock: process.nextTick, setImmediate, queueMicrotask.
 *
 * They are C so that no frame of ours stands between the engine and the program's function in a stack trace. The queues belong to
 * struct pl_engine and are emptied by its loop; the functions are the program's. */
#include "engine/priv.h"

static const char *type_name(JSContext *ctx, JSValueConst value)
{
	if (JS_IsUndefined(value))
		return "undefined";
	if (JS_IsNull(value))
		return "null";
	if (JS_IsString(value))
		return "type string";
	if (JS_IsNumber(value))
		return "type number";
	if (JS_IsBool(value))
		return "type boolean";
	if (JS_IsSymbol(value))
		return "type symbol";
	if (JS_IsBigInt(ctx, value))
		return "type bigint";
	return "an object";
}

JSValue pl_throw_not_a_function(JSContext *ctx, JSValueConst value)
{
	JSValue error;

	JS_ThrowTypeError(ctx, "The \"callback\" argument must be of type function. Received %s", type_name(ctx, value));
	error = JS_GetException(ctx);
	JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, "ERR_INVALID_ARG_TYPE"), JS_PROP_C_W_E);
	return JS_Throw(ctx, error);
}

static struct pl_callback *callback_new(JSContext *ctx, int argc, JSValueConst *argv)
{
	int args_n = argc > 1 ? argc - 1 : 0;
	struct pl_callback *callback;

	if (argc < 1 || !JS_IsFunction(ctx, argv[0])) {
		pl_throw_not_a_function(ctx, argc ? argv[0] : JS_UNDEFINED);
		return NULL;
	}
	callback = js_mallocz(ctx, sizeof *callback + (size_t)args_n * sizeof callback->args[0]);
	if (!callback)
		return NULL;
	callback->function = JS_DupValue(ctx, argv[0]);
	callback->handle = JS_UNDEFINED;
	callback->args_n = args_n;
	for (int i = 0; i < args_n; i++)
		callback->args[i] = JS_DupValue(ctx, argv[i + 1]);
	return callback;
}

static void callback_free(struct pl_engine *engine, struct pl_callback *callback)
{
	if (JS_IsObject(callback->handle))
		JS_SetOpaque(callback->handle, NULL);
	JS_FreeValue(engine->ctx, callback->handle);
	JS_FreeValue(engine->ctx, callback->function);
	for (int i = 0; i < callback->args_n; i++)
		JS_FreeValue(engine->ctx, callback->args[i]);
	js_free(engine->ctx, callback);
}

static void queue_push(struct pl_callback_queue *queue, struct pl_callback *callback)
{
	*queue->last = callback;
	queue->last = &callback->next;
	queue->n++;
}

static struct pl_callback *queue_take(struct pl_callback_queue *queue)
{
	struct pl_callback *callback = queue->first;

	if (!callback)
		return NULL;
	queue->n--;
	queue->first = callback->next;
	if (!queue->first)
		queue->last = &queue->first;
	return callback;
}

static int callback_call_free(struct pl_engine *engine, struct pl_callback *callback)
{
	JSValue value = JS_UNDEFINED;

	if (!callback->cleared)
		value = JS_Call(engine->ctx, callback->function, callback->handle, callback->args_n, callback->args);
	callback_free(engine, callback);
	JS_FreeValue(engine->ctx, value);
	return JS_IsException(value) ? -1 : 0;
}

int pl_ticks_run(struct pl_engine *engine)
{
	struct pl_callback *callback;

	while ((callback = queue_take(&engine->ticks))) {
		if (callback_call_free(engine, callback) < 0)
			return -1;
	}
	return 0;
}

int pl_immediates_run_one(struct pl_engine *engine)
{
	return callback_call_free(engine, queue_take(&engine->immediates));
}

static JSValue next_tick(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_callback *callback = callback_new(ctx, argc, argv);

	(void)this_val;
	if (!callback)
		return JS_EXCEPTION;
	queue_push(&pl_engine_of(ctx)->ticks, callback);
	return JS_UNDEFINED;
}

static JSValue set_immediate(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	struct pl_callback *callback = callback_new(ctx, argc, argv);
	JSValue handle;

	(void)this_val;
	if (!callback)
		return JS_EXCEPTION;
	handle = JS_NewObjectClass(ctx, (int)engine->immediate_class);
	if (JS_IsException(handle)) {
		callback_free(engine, callback);
		return JS_EXCEPTION;
	}
	JS_SetOpaque(handle, callback);
	callback->handle = JS_DupValue(ctx, handle);
	queue_push(&engine->immediates, callback);
	return handle;
}

static JSValue clear_immediate(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_callback *callback = argc ? JS_GetOpaque(argv[0], pl_engine_of(ctx)->immediate_class) : NULL;

	(void)this_val;
	if (callback)
		callback->cleared = 1; /* stays queued, is not called */
	return JS_UNDEFINED;
}

static JSValue microtask(JSContext *ctx, int argc, JSValueConst *argv)
{
	(void)argc;
	return JS_Call(ctx, argv[0], JS_UNDEFINED, 0, NULL);
}

static JSValue queue_microtask(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val;
	if (argc < 1 || !JS_IsFunction(ctx, argv[0]))
		return pl_throw_not_a_function(ctx, argc ? argv[0] : JS_UNDEFINED);
	if (JS_EnqueueJob(ctx, microtask, 1, argv) < 0)
		return JS_EXCEPTION;
	return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
	JS_CFUNC_DEF("nextTick", 1, next_tick),
	JS_CFUNC_DEF("setImmediate", 1, set_immediate),
	JS_CFUNC_DEF("clearImmediate", 1, clear_immediate),
	JS_CFUNC_DEF("queueMicrotask", 1, queue_microtask),
};

int pl_callbacks_init(struct pl_engine *engine)
{
	static const JSClassDef immediate = { .class_name = "Immediate" };

	engine->ticks.last = &engine->ticks.first;
	engine->immediates.last = &engine->immediates.first;
	JS_NewClassID(&engine->immediate_class);
	return JS_NewClass(engine->rt, engine->immediate_class, &immediate);
}

int pl_callbacks_install(struct pl_engine *engine, JSValueConst internals)
{
	JSValue proto = JS_NewObject(engine->ctx);

	if (JS_IsException(proto))
		return -1;
	JS_SetPropertyStr(engine->ctx, internals, "immediatePrototype", JS_DupValue(engine->ctx, proto));
	JS_SetClassProto(engine->ctx, engine->immediate_class, proto);
	JS_SetPropertyFunctionList(engine->ctx, internals, functions, sizeof functions / sizeof functions[0]);
	return 0;
}

void pl_callbacks_fini(struct pl_engine *engine)
{
	struct pl_callback *callback;

	while ((callback = queue_take(&engine->ticks)) || (callback = queue_take(&engine->immediates)))
		callback_free(engine, callback);
}
