/* SPDX-License-Identifier: Apache-2.0 */
/* compilers: the growing buffers in which QuickJS compiles programs and regular expressions, kept from ever failing.
 *
 * Such a buffer only notes that it could not grow; the compilers go on and patch what was never written. So while one grows, the
 * allocator is told that no refusal can be survived (alloc.h), and the run ends there. The linker puts this file between QuickJS
 * and its own function (--wrap=dbuf_init2, in bin/meson.build and scripts/build-engine). */
#include "engine/priv.h"

#include "cutils.h"
#include "libregexp.h"

void __real_dbuf_init2(DynBuf *buf, void *opaque, DynBufReallocFunc *realloc_function);
void __wrap_dbuf_init2(DynBuf *buf, void *opaque, DynBufReallocFunc *realloc_function);

static void *grow_of_runtime(void *opaque, void *p, size_t size)
{
	struct pl_engine *engine = JS_GetRuntimeOpaque(opaque);
	void *q;

	engine->alloc.must_succeed++;
	q = js_realloc_rt(opaque, p, size);
	engine->alloc.must_succeed--;
	return q;
}

/* libregexp's buffers know the context. */
static void *grow_of_context(void *opaque, void *p, size_t size)
{
	return grow_of_runtime(JS_GetRuntime(opaque), p, size);
}

void __wrap_dbuf_init2(DynBuf *buf, void *opaque, DynBufReallocFunc *realloc_function)
{
	if (realloc_function == (DynBufReallocFunc *)js_realloc_rt)
		realloc_function = grow_of_runtime;
	else if (realloc_function == lre_realloc)
		realloc_function = grow_of_context;
	__real_dbuf_init2(buf, opaque, realloc_function);
}
