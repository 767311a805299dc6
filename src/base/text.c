/* SPDX-License-Identifier: Apache-2.0 */
/* text: see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void pl_text_add(struct pl_text *text, const char *format, ...)
{
	size_t room = text->size - text->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->chars + text->len, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room) {
		text->full = 1;
		text->len = text->size ? text->size - 1 : 0;
	} else {
		text->len += (size_t)n;
	}
}
