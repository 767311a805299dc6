/* SPDX-License-Identifier: Apache-2.0 */
/* source: reading the program that is to run. */
#ifndef PL_CLI_SOURCE_H
#define PL_CLI_SOURCE_H

#include "plimsoll/plimsoll.h"

#include <stddef.h>

/* One byte more than a program may have: no more is read to see that it is too long. */
#define SOURCE_MAX_BYTES (256u * 1024u + 1)

struct source {
	const char *code;
	size_t len;
	const char *name; /* for stack traces; NULL: the library's choice */
	enum plimsoll_source kind;
	char *owned;      /* for free */
};

/* Reads path, or stdin for "-". 0, or -errno with the reason printed. */
int source_read(const char *path, struct source *ret);
void source_fini(struct source *source);

#endif
