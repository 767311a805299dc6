/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: the engine's memory: malloc with a count, a limit that can be set late, and a flag that remembers a refusal.
 *
 * Owned by struct pl_engine. Whatever the program allocates passes here, so the limit is the program's, and the flag is what
 * tells "out of memory" from a program that merely says so.
 *
 * Who is told no. QuickJS turns a refused allocation into an exception, but not everywhere: made to fail one after the other,
 * hundreds of its small allocations lead to writes past a buffer or uses after free. So only large requests (arrays, strings, buffers:
 * what programs run out of memory with, and what QuickJS does handle) are refused, and become an error that the program can
 * catch. Small ones may go a little beyond the limit, so that there is room to handle that error; when that is gone too, the run ends
 * on the spot, as out of memory. The same holds for the growing buffers of the compilers, whatever their size. */
#ifndef PL_ENGINE_ALLOC_H
#define PL_ENGINE_ALLOC_H

#include "quickjs.h"

#include <stdint.h>

struct pl_alloc {
	JSRuntime *rt;        /* NULL until the runtime exists */
	uint64_t used_bytes;  /* with a guess at malloc's own overhead */
	uint64_t limit_bytes; /* UINT64_MAX before a job */
	uint64_t collect_at;  /* used_bytes at which the next collection is asked for */
	uint64_t calls;       /* allocations since the job arrived */
	uint64_t fail_at;     /* the call that is refused once; 0 none */
	int refused;
	int must_succeed; /* inside a compiler: whatever the size, no refusal is survived */
	/* Ends the run; never returns. NULL before a job. */
	void (*exhausted)(void *opaque);
	void *opaque;
};

extern const JSMallocFunctions pl_alloc_functions;

void pl_alloc_init(struct pl_alloc *alloc);
/* From here on the program's limit counts. */
void pl_alloc_set_limit(struct pl_alloc *alloc, uint64_t limit_bytes, uint64_t fail_at, void (*exhausted)(void *opaque),
			void *opaque);
/* A little more, so that the end of a program can be reported when its memory is gone. */
void pl_alloc_add_reserve(struct pl_alloc *alloc, uint64_t reserve_bytes);

#endif
