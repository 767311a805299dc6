/* SPDX-License-Identifier: Apache-2.0 */
/* engine: life of an engine, how code of each kind is read, and the loop that runs a program to its end; see engine.h. */
#include "engine/engine.h"

#include "engine/bootstrap.h"
#include "engine/priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 255u
#define EXIT_UNCAUGHT 1
#define EXIT_UNSETTLED 13 /* Node's: a top-level await that nothing can settle */
#define EXIT_OUT_OF_MEMORY 137
#define OUT_OF_MEMORY_TEXT "Uncaught InternalError: out of memory\n"

/* No collection before a small program has made this much: one would write to every object, and so copy every page of a
 * forked worker. */
#define COLLECT_FIRST_BYTES (4u * 1024u * 1024u)

/* What the report of an uncaught error may allocate beyond the program's limit. */
#define REPORT_RESERVE_BYTES (1024u * 1024u)

static int interrupt(JSRuntime *rt, void *opaque)
{
	struct pl_engine *engine = opaque;

	(void)rt;
	return engine->host.interrupt(engine->host.opaque);
}

/* Nothing can be imported: a snippet is one file. */
static char *refuse_import(JSContext *ctx, const char *base, const char *name, void *opaque)
{
	JSValue error = JS_NewError(ctx);
	char text[2 * NAME_MAX_LEN];
	int len;

	(void)opaque;
	len = snprintf(text, sizeof text, "Cannot find module '%.200s' imported from %.200s", name, base);
	if (JS_IsException(error) || len < 0)
		return NULL;
	JS_DefinePropertyValueStr(ctx, error, "message", JS_NewString(ctx, text), JS_PROP_CONFIGURABLE | JS_PROP_WRITABLE);
	JS_DefinePropertyValueStr(ctx, error, "code", JS_NewString(ctx, "ERR_MODULE_NOT_FOUND"), JS_PROP_C_W_E);
	JS_Throw(ctx, error);
	return NULL;
}

/* Runs the bootstrap script: a function that takes the internals, fills the global object, and returns the function that prints an
 * uncaught value. It comes as bytecode (scripts/embed-bytecode.c). */
static int bootstrap(struct pl_engine *engine)
{
	JSValue script = JS_ReadObject(engine->ctx, pl_bootstrap_bytecode, pl_bootstrap_bytecode_len, JS_READ_OBJ_BYTECODE);
	JSValue function = JS_IsException(script) ? script : JS_EvalFunction(engine->ctx, script), internals;

	internals = pl_internals_new(engine);
	if (!JS_IsException(function) && !JS_IsException(internals))
		engine->format_uncaught = JS_Call(engine->ctx, function, JS_UNDEFINED, 1, &internals);
	JS_FreeValue(engine->ctx, function);
	JS_FreeValue(engine->ctx, internals);
	return JS_IsFunction(engine->ctx, engine->format_uncaught) ? 0 : -1;
}

static int warm(struct pl_engine *engine, size_t stack_bytes)
{
	engine->rt = JS_NewRuntime2(&pl_alloc_functions, &engine->alloc);
	if (!engine->rt)
		return -1;
	engine->alloc.rt = engine->rt;
	JS_SetRuntimeOpaque(engine->rt, engine);
	JS_SetMaxStackSize(engine->rt, stack_bytes);
	JS_SetInterruptHandler(engine->rt, interrupt, engine);
	JS_SetModuleLoaderFunc(engine->rt, refuse_import, NULL, NULL);
	pl_rejections_install(engine);
	engine->ctx = JS_NewContext(engine->rt);
	if (!engine->ctx)
		return -1;
	JS_SetContextOpaque(engine->ctx, engine);
	if (pl_callbacks_init(engine) < 0 || pl_timers_init(engine) < 0 || pl_random_install(engine) < 0)
		return -1;
	if (bootstrap(engine) < 0)
		return -1;
	JS_RunGC(engine->rt);
	return 0;
}

struct pl_engine *pl_engine_new(const struct pl_engine_host *host, size_t stack_bytes)
{
	struct pl_engine *engine = calloc(1, sizeof *engine);

	if (!engine)
		return NULL;
	engine->host = *host;
	engine->format_uncaught = JS_UNDEFINED;
	pl_alloc_init(&engine->alloc);
	if (warm(engine, stack_bytes) < 0) {
		pl_engine_free(engine);
		return NULL;
	}
	return engine;
}

void pl_engine_free(struct pl_engine *engine)
{
	if (!engine)
		return;
	if (engine->ctx) {
		JS_FreeValue(engine->ctx, JS_GetException(engine->ctx));
		JS_FreeValue(engine->ctx, engine->format_uncaught);
		pl_callbacks_fini(engine);
		pl_timers_fini(engine);
		pl_rejections_fini(engine);
		JS_FreeContext(engine->ctx);
	}
	if (engine->rt)
		JS_FreeRuntime(engine->rt);
	free(engine);
}

uint64_t pl_engine_used_bytes(const struct pl_engine *engine)
{
	return engine->alloc.used_bytes;
}

static void write_text(struct pl_engine *engine, const char *text)
{
	engine->host.write(engine->host.opaque, PL_STREAM_STDERR, (const uint8_t *)text, strlen(text));
}

/* Is this what the engine throws when memory is refused? Sometimes it then says "exception" and throws nothing at all, which shows
 * as null or as the mark of an uninitialised value; no program can throw that mark by itself. */
static int is_out_of_memory(struct pl_engine *engine, JSValueConst reason)
{
	JSValue message;
	const char *text;
	int is;

	if (!engine->alloc.refused)
		return 0;
	if (JS_IsNull(reason) || JS_IsUninitialized(reason))
		return 1;
	if (!JS_IsError(engine->ctx, reason))
		return 0;
	message = JS_GetPropertyStr(engine->ctx, reason, "message");
	text = JS_ToCString(engine->ctx, message);
	is = text && !strcmp(text, "out of memory");
	if (!text)
		JS_FreeValue(engine->ctx, JS_GetException(engine->ctx));
	JS_FreeCString(engine->ctx, text);
	JS_FreeValue(engine->ctx, message);
	return is;
}

/* Prints what nobody caught, and says how the run has ended. Takes reason. */
static void end_uncaught(struct pl_engine *engine, JSValue reason, struct pl_engine_result *ret)
{
	JSValue text;

	pl_alloc_add_reserve(&engine->alloc, REPORT_RESERVE_BYTES);
	ret->oom = (uint8_t)is_out_of_memory(engine, reason);
	ret->exit_code = ret->oom ? EXIT_OUT_OF_MEMORY : EXIT_UNCAUGHT;
	if (ret->oom && !JS_IsError(engine->ctx, reason)) {
		write_text(engine, OUT_OF_MEMORY_TEXT);
		return;
	}
	text = JS_Call(engine->ctx, engine->format_uncaught, JS_UNDEFINED, 1, &reason);
	if (JS_IsException(text) || pl_write_value(engine, PL_STREAM_STDERR, text) < 0) {
		JS_FreeValue(engine->ctx, JS_GetException(engine->ctx));
		write_text(engine, ret->oom ? OUT_OF_MEMORY_TEXT : "Uncaught exception that could not be printed\n");
	}
	JS_FreeValue(engine->ctx, text);
	JS_FreeValue(engine->ctx, reason);
}

static void end_with_exception(struct pl_engine *engine, struct pl_engine_result *ret)
{
	end_uncaught(engine, JS_GetException(engine->ctx), ret);
}

static JSValue compile(struct pl_engine *engine, const struct pl_job *job, const char *name, int flags)
{
	return JS_Eval(engine->ctx, job->code, job->code_len, name, flags | JS_EVAL_FLAG_COMPILE_ONLY);
}

#define AS_SCRIPT (JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC)
#define AS_MODULE JS_EVAL_TYPE_MODULE

static double number_property(JSContext *ctx, JSValueConst object, const char *name)
{
	JSValue value = JS_GetPropertyStr(ctx, object, name);
	double number = 0;

	if (JS_ToFloat64(ctx, &number, value) < 0)
		JS_FreeValue(ctx, JS_GetException(ctx));
	JS_FreeValue(ctx, value);
	return number;
}

static int syntax_error_place(JSContext *ctx, JSValueConst error, double *ret_place)
{
	JSValue name = JS_GetPropertyStr(ctx, error, "name");
	const char *text = JS_ToCString(ctx, name);
	int is = text && !strcmp(text, "SyntaxError");

	if (!text)
		JS_FreeValue(ctx, JS_GetException(ctx));
	JS_FreeCString(ctx, text);
	JS_FreeValue(ctx, name);
	if (is)
		*ret_place = number_property(ctx, error, "lineNumber") * 0x1p20 + number_property(ctx, error, "columnNumber");
	return is;
}

/* Code of unknown kind is a script unless only a module can be meant: import or export stand first, or it parses as a
 * module and not as a script. When it parses as neither, the reading that got further is the one that was meant, so its
 * error is shown. */
static JSValue compile_auto(struct pl_engine *engine, const struct pl_job *job, const char *name, int *ret_module)
{
	JSContext *ctx = engine->ctx;
	JSValue as_script, as_module, script_error, module_error;
	double script_place, module_place;

	*ret_module = JS_DetectModule(job->code, job->code_len);
	if (*ret_module)
		return compile(engine, job, name, AS_MODULE);
	as_script = compile(engine, job, name, AS_SCRIPT);
	if (!JS_IsException(as_script))
		return as_script;
	script_error = JS_GetException(ctx);
	if (!syntax_error_place(ctx, script_error, &script_place))
		return JS_Throw(ctx, script_error);
	as_module = compile(engine, job, name, AS_MODULE);
	if (!JS_IsException(as_module)) {
		JS_FreeValue(ctx, script_error);
		*ret_module = 1;
		return as_module;
	}
	module_error = JS_GetException(ctx);
	if (syntax_error_place(ctx, module_error, &module_place) && module_place <= script_place) {
		JS_FreeValue(ctx, module_error);
		return JS_Throw(ctx, script_error);
	}
	JS_FreeValue(ctx, script_error);
	return JS_Throw(ctx, module_error);
}

/* Starts the program: its promise, or JS_EXCEPTION. */
static JSValue start(struct pl_engine *engine, const struct pl_job *job, int *ret_module)
{
	char name[NAME_MAX_LEN + 1];
	JSValue function;

	memcpy(name, job->name, job->name_len);
	name[job->name_len] = 0;
	*ret_module = job->kind == PL_SOURCE_MODULE;
	if (job->kind == PL_SOURCE_AUTO)
		function = compile_auto(engine, job, name, ret_module);
	else
		function = compile(engine, job, name, *ret_module ? AS_MODULE : AS_SCRIPT);
	return JS_IsException(function) ? function : JS_EvalFunction(engine->ctx, function);
}

/* Ticks and promise jobs until there are none, and then the rejections that nobody handled. -1: the run has ended. */
static int drain(struct pl_engine *engine, struct pl_engine_result *ret)
{
	JSContext *ctx;
	JSValue reason;
	int r;

	do {
		if (pl_ticks_run(engine) < 0)
			goto thrown;
		while ((r = JS_ExecutePendingJob(engine->rt, &ctx)) > 0)
			;
		if (r < 0)
			goto thrown;
	} while (engine->ticks.n);
	if (!pl_rejections_take(engine, &reason))
		return 0;
	end_uncaught(engine, reason, ret);
	return -1;
thrown:
	end_with_exception(engine, ret);
	return -1;
}

/* One round of timers that are due, then of immediates; after each call everything it queued. -1: the run has ended. */
static int run_round(struct pl_engine *engine, struct pl_engine_result *ret)
{
	int64_t now_ns = engine->host.monotonic_ns(engine->host.opaque);
	int r;

	while ((r = pl_timers_fire_one(engine, now_ns)) > 0) {
		if (drain(engine, ret) < 0)
			return -1;
	}
	if (r < 0) {
		end_with_exception(engine, ret);
		return -1;
	}
	for (size_t n = engine->immediates.n; n; n--) {
		if (pl_immediates_run_one(engine) < 0) {
			end_with_exception(engine, ret);
			return -1;
		}
		if (drain(engine, ret) < 0)
			return -1;
	}
	return 0;
}

/* Until nothing is left that could run. -1: the run has ended before. */
static int run_loop(struct pl_engine *engine, struct pl_engine_result *ret)
{
	for (;;) {
		int64_t next_ns;

		if (run_round(engine, ret) < 0)
			return -1;
		if (engine->immediates.n)
			continue;
		next_ns = pl_timers_next_ns(engine);
		if (next_ns < 0)
			return 0;
		engine->host.sleep_until_ns(engine->host.opaque, next_ns);
	}
}

static void end_normally(struct pl_engine *engine, JSValueConst program, const char *name, size_t name_len,
			 struct pl_engine_result *ret)
{
	ret->oom = 0;
	ret->exit_code = engine->has_exit_code ? engine->exit_code & 255 : 0;
	if (engine->has_exit_code || JS_PromiseState(engine->ctx, program) != JS_PROMISE_PENDING)
		return;
	ret->exit_code = EXIT_UNSETTLED;
	write_text(engine, "Warning: Detected unsettled top-level await at ");
	engine->host.write(engine->host.opaque, PL_STREAM_STDERR, (const uint8_t *)name, name_len);
	write_text(engine, "\n");
}

/* Called by the allocator, in the middle of anything. */
static void end_exhausted(void *opaque)
{
	const struct pl_engine_result result = { .exit_code = EXIT_OUT_OF_MEMORY, .oom = 1 };
	struct pl_engine *engine = opaque;

	write_text(engine, OUT_OF_MEMORY_TEXT);
	engine->host.finish(engine->host.opaque, &result);
}

static void arrive(struct pl_engine *engine, const struct pl_job *job)
{
	uint64_t collect = engine->alloc.used_bytes + COLLECT_FIRST_BYTES;

	engine->origin_ns = engine->host.monotonic_ns(engine->host.opaque);
	pl_random_seed(engine, job->seed);
	pl_alloc_set_limit(&engine->alloc, job->memory_bytes, job->fail_allocation, end_exhausted, engine);
	JS_SetGCThreshold(engine->rt, (size_t)(collect < job->memory_bytes ? collect : job->memory_bytes));
}

void pl_engine_run(struct pl_engine *engine, const struct pl_job *job, struct pl_engine_result *ret)
{
	JSValue program;
	int module;

	arrive(engine, job);
	JS_UpdateStackTop(engine->rt);
	program = start(engine, job, &module);
	if (JS_IsException(program)) {
		end_with_exception(engine, ret);
		return;
	}
	/* A script that threw before its first await has ended, as in Node; what it queued does not run. */
	if (!module && JS_PromiseState(engine->ctx, program) == JS_PROMISE_REJECTED)
		end_uncaught(engine, JS_PromiseResult(engine->ctx, program), ret);
	else if (drain(engine, ret) == 0 && run_loop(engine, ret) == 0)
		end_normally(engine, program, job->name, job->name_len, ret);
	JS_FreeValue(engine->ctx, program);
}
