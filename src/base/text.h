/* SPDX-License-Identifier: Apache-2.0 */
/* text: building a line in a fixed array without ever running over, and knowing when it did not fit. */
#ifndef PL_BASE_TEXT_H
#define PL_BASE_TEXT_H

#include <stddef.h>

struct pl_text {
	char *chars;
	size_t len, size;
	int full; /* something did not fit */
};

#define PL_TEXT(array) ((struct pl_text){ .chars = (array), .size = sizeof(array) })

/* Appends as printf does. */
__attribute__((format(printf, 2, 3))) void pl_text_add(struct pl_text *text, const char *format, ...);

#endif
