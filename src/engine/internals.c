/* SPDX-License-Identifier: Apache-2.0 */
/* internals: the object that the bootstrap script is called with: what JavaScript alone cannot do. The script keeps it to
 * itself; still, each function here is written as if the program called it. */
#include "engine/priv.h"
#include "engine/utf8.h"

#include <string.h>

/* A lone surrogate comes out of JS_ToCStringLen as three bytes, ED A0..BF xx; so does U+FFFD take three. */
static const uint8_t *find_surrogate(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (p = memchr(p, 0xed, (size_t)(end - p)))) {
		if (end - p >= 3 && p[1] >= 0xa0)
			return p;
		p++;
	}
	return NULL;
}

static uint8_t *copy_without_surrogates(JSContext *ctx, const uint8_t *bytes, size_t len)
{
	uint8_t *copy = js_malloc(ctx, len), *p = copy;

	if (!copy)
		return NULL;
	memcpy(copy, bytes, len);
	while ((p = (uint8_t *)find_surrogate(p, copy + len))) {
		memcpy(p, "\xef\xbf\xbd", 3);
		p += 3;
	}
	return copy;
}

int pl_write_value(struct pl_engine *engine, enum pl_stream stream, JSValueConst text)
{
	size_t len;
	const char *bytes = JS_ToCStringLen(engine->ctx, &len, text);
	uint8_t *copy = NULL;

	if (!bytes)
		return -1;
	if (find_surrogate((const uint8_t *)bytes, (const uint8_t *)bytes + len)) {
		copy = copy_without_surrogates(engine->ctx, (const uint8_t *)bytes, len);
		if (!copy) {
			JS_FreeCString(engine->ctx, bytes);
			return -1;
		}
	}
	engine->host.write(engine->host.opaque, stream, copy ? copy : (const uint8_t *)bytes, len);
	js_free(engine->ctx, copy);
	JS_FreeCString(engine->ctx, bytes);
	return 0;
}

/* write(stream, text) */
static JSValue internal_write(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	int32_t stream;

	(void)this_val, (void)argc;
	if (JS_ToInt32(ctx, &stream, argv[0]) < 0)
		return JS_EXCEPTION;
	if (pl_write_value(pl_engine_of(ctx), stream == PL_STREAM_STDERR ? PL_STREAM_STDERR : PL_STREAM_STDOUT, argv[1]) < 0)
		return JS_EXCEPTION;
	return JS_UNDEFINED;
}

/* The bytes of an ArrayBuffer or a view; NULL with an exception pending. The pointer is good until the program runs again. */
static const uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *ret_len)
{
	size_t offset, len, element, buffer_len;
	JSValue buffer = JS_GetTypedArrayBuffer(ctx, value, &offset, &len, &element);
	uint8_t *bytes;

	if (JS_IsException(buffer)) {
		JS_FreeValue(ctx, JS_GetException(ctx));
		return JS_GetArrayBuffer(ctx, ret_len, value);
	}
	bytes = JS_GetArrayBuffer(ctx, &buffer_len, buffer);
	JS_FreeValue(ctx, buffer); /* the view still holds it */
	if (!bytes)
		return NULL;
	if (offset > buffer_len || len > buffer_len - offset) {
		JS_ThrowRangeError(ctx, "the view lies outside its buffer");
		return NULL;
	}
	*ret_len = len;
	return bytes + offset;
}

/* writeBytes(stream, Uint8Array) */
static JSValue internal_write_bytes(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	int32_t stream;
	size_t len;
	const uint8_t *bytes;

	(void)this_val, (void)argc;
	if (JS_ToInt32(ctx, &stream, argv[0]) < 0)
		return JS_EXCEPTION;
	bytes = bytes_of(ctx, argv[1], &len);
	if (!bytes)
		return JS_EXCEPTION;
	engine->host.write(engine->host.opaque, stream == PL_STREAM_STDERR ? PL_STREAM_STDERR : PL_STREAM_STDOUT, bytes, len);
	return JS_UNDEFINED;
}

/* exit(code): ends the run here and now. */
static JSValue internal_exit(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);
	struct pl_engine_result result = { 0 };
	int32_t code;

	(void)this_val, (void)argc;
	if (JS_ToInt32(ctx, &code, argv[0]) < 0)
		return JS_EXCEPTION;
	result.exit_code = code & 255;
	engine->host.finish(engine->host.opaque, &result);
}

/* setExitCode(code or undefined) */
static JSValue internal_set_exit_code(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);

	(void)this_val, (void)argc;
	engine->has_exit_code = 0;
	if (JS_IsUndefined(argv[0]))
		return JS_UNDEFINED;
	if (JS_ToInt32(ctx, &engine->exit_code, argv[0]) < 0)
		return JS_EXCEPTION;
	engine->has_exit_code = 1;
	return JS_UNDEFINED;
}

/* classId(value): the engine's own class of an object, which no program can fake or trap; 0 for what is no object. */
static JSValue internal_class_id(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc;
	return JS_NewInt32(ctx, (int32_t)JS_GetClassID(argv[0]));
}

/* proxyTarget(proxy, classId): what stands behind a proxy, without asking its traps. The public interface has no such
 * call; the target is the first member of what QuickJS 2025-04-26 keeps there (struct JSProxyData), the version is pinned, and
 * a test fails if this ever stops being so. */
static JSValue internal_proxy_target(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	uint32_t class_id;
	const JSValue *target;

	(void)this_val, (void)argc;
	if (JS_ToUint32(ctx, &class_id, argv[1]) < 0)
		return JS_EXCEPTION;
	target = JS_GetOpaque(argv[0], class_id);
	return target ? JS_DupValue(ctx, *target) : JS_UNDEFINED;
}

/* promiseState(promise): 0 pending, 1 fulfilled, 2 rejected. */
static JSValue internal_promise_state(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc;
	return JS_NewInt32(ctx, (int32_t)JS_PromiseState(ctx, argv[0]));
}

static JSValue internal_promise_result(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc;
	return JS_PromiseResult(ctx, argv[0]);
}

/* nowNs(): nanoseconds since the run began. */
static JSValue internal_now_ns(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_engine *engine = pl_engine_of(ctx);

	(void)this_val, (void)argc, (void)argv;
	return JS_NewInt64(ctx, engine->host.monotonic_ns(engine->host.opaque) - engine->origin_ns);
}

static JSValue internal_memory_used(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc, (void)argv;
	return JS_NewInt64(ctx, (int64_t)pl_engine_of(ctx)->alloc.used_bytes);
}

/* utf8(text): its bytes as an ArrayBuffer. */
static JSValue internal_utf8(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	size_t len;
	const char *bytes = JS_ToCStringLen(ctx, &len, argv[0]);
	uint8_t *copy = NULL;
	JSValue buffer;

	(void)this_val, (void)argc;
	if (!bytes)
		return JS_EXCEPTION;
	if (find_surrogate((const uint8_t *)bytes, (const uint8_t *)bytes + len)) {
		copy = copy_without_surrogates(ctx, (const uint8_t *)bytes, len);
		if (!copy) {
			JS_FreeCString(ctx, bytes);
			return JS_EXCEPTION;
		}
	}
	buffer = JS_NewArrayBufferCopy(ctx, copy ? copy : (const uint8_t *)bytes, len);
	js_free(ctx, copy);
	JS_FreeCString(ctx, bytes);
	return buffer;
}

/* Joins what was left of the chunk before and this one. The caller frees. */
static uint8_t *join_chunks(JSContext *ctx, JSValueConst pending, JSValueConst chunk, size_t *ret_len)
{
	size_t pending_len = 0, chunk_len;
	const uint8_t *pending_bytes = NULL, *chunk_bytes;
	uint8_t *all;

	if (!JS_IsUndefined(pending)) {
		pending_bytes = bytes_of(ctx, pending, &pending_len);
		if (!pending_bytes)
			return NULL;
	}
	chunk_bytes = bytes_of(ctx, chunk, &chunk_len);
	if (!chunk_bytes)
		return NULL;
	all = js_malloc(ctx, pending_len + chunk_len + 1);
	if (!all)
		return NULL;
	if (pending_len)
		memcpy(all, pending_bytes, pending_len);
	memcpy(all + pending_len, chunk_bytes, chunk_len);
	*ret_len = pending_len + chunk_len;
	return all;
}

/* The result of decode: { text, repaired, pending }. */
static JSValue decoded(JSContext *ctx, const uint8_t *text, const struct pl_utf8_repair *repair, const uint8_t *tail)
{
	JSValue result = JS_NewObjectProto(ctx, JS_NULL);

	if (JS_IsException(result))
		return result;
	if (JS_SetPropertyStr(ctx, result, "text", JS_NewStringLen(ctx, (const char *)text, repair->out_len)) < 0
	    || JS_SetPropertyStr(ctx, result, "repaired", JS_NewBool(ctx, repair->repaired)) < 0
	    || (repair->tail_len
		&& JS_SetPropertyStr(ctx, result, "pending", JS_NewArrayBufferCopy(ctx, tail, repair->tail_len)) < 0)) {
		JS_FreeValue(ctx, result);
		return JS_EXCEPTION;
	}
	return result;
}

/* decode(bytes, pending, stream): UTF-8 to text. A sequence cut off at the end is kept for the next chunk when stream is true. */
static JSValue internal_decode(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	struct pl_utf8_repair repair;
	size_t len;
	uint8_t *bytes = join_chunks(ctx, argv[1], argv[0], &len), *text;
	JSValue result;

	(void)this_val, (void)argc;
	if (!bytes)
		return JS_EXCEPTION;
	text = js_malloc(ctx, 3 * len + 3);
	if (!text) {
		js_free(ctx, bytes);
		return JS_EXCEPTION;
	}
	pl_utf8_repair(bytes, len, text, &repair);
	if (repair.tail_len && !JS_ToBool(ctx, argv[2])) {
		memcpy(text + repair.out_len, "\xef\xbf\xbd", 3);
		repair.out_len += 3;
		repair.tail_len = 0;
		repair.repaired = 1;
	}
	result = decoded(ctx, text, &repair, bytes + len - repair.tail_len);
	js_free(ctx, text);
	js_free(ctx, bytes);
	return result;
}

static const JSCFunctionListEntry functions[] = {
	JS_CFUNC_DEF("write", 2, internal_write),
	JS_CFUNC_DEF("writeBytes", 2, internal_write_bytes),
	JS_CFUNC_DEF("exit", 1, internal_exit),
	JS_CFUNC_DEF("setExitCode", 1, internal_set_exit_code),
	JS_CFUNC_DEF("classId", 1, internal_class_id),
	JS_CFUNC_DEF("proxyTarget", 2, internal_proxy_target),
	JS_CFUNC_DEF("promiseState", 1, internal_promise_state),
	JS_CFUNC_DEF("promiseResult", 1, internal_promise_result),
	JS_CFUNC_DEF("nowNs", 0, internal_now_ns),
	JS_CFUNC_DEF("memoryUsed", 0, internal_memory_used),
	JS_CFUNC_DEF("utf8", 1, internal_utf8),
	JS_CFUNC_DEF("decode", 3, internal_decode),
};

JSValue pl_internals_new(struct pl_engine *engine)
{
	JSValue internals = JS_NewObject(engine->ctx);

	if (JS_IsException(internals))
		return internals;
	JS_SetPropertyFunctionList(engine->ctx, internals, functions, sizeof functions / sizeof functions[0]);
	if (pl_callbacks_install(engine, internals) < 0 || pl_timers_install(engine, internals) < 0) {
		JS_FreeValue(engine->ctx, internals);
		return JS_EXCEPTION;
	}
	return internals;
}
