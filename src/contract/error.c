/* SPDX-License-Identifier: Apache-2.0 */
/* error: see error.h. */
#include "contract/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int pl_error(struct plimsoll_error *error, int code, enum plimsoll_reason reason, const char *step, const char *format,
	     ...)
{
	va_list args;

	if (!error)
		return code;
	memset(error, 0, sizeof *error);
	error->code = code;
	error->reason = reason;
	snprintf(error->step, sizeof error->step, "%s", step);
	va_start(args, format);
	vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	return code;
}
