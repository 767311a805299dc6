/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: the engine's memory: malloc with a count, a limit that can be set late, and a flag that remembers a refusal.
 *
 * Owned by struct pl_engine. Whatever the program allocates passes here, so the limit is the program's, and the flag is what
 * tells "out of memory" from a program that merely says so. */
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
};

extern const JSMallocFunctions pl_alloc_functions;

void pl_alloc_init(struct pl_alloc *alloc);
/* From here on the program's limit counts. */
void pl_alloc_set_limit(struct pl_alloc *alloc, uint64_t limit_bytes, uint64_t fail_at);
/* A little more, so that the end of a program can be reported when its memory is gone. */
void pl_alloc_add_reserve(struct pl_alloc *alloc, uint64_t reserve_bytes);

#endif
