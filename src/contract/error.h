/* SPDX-License-Identifier: Apache-2.0 */
/* error: filling a struct plimsoll_error, which allocates nothing. */
#ifndef PL_CONTRACT_ERROR_H
#define PL_CONTRACT_ERROR_H

#include "plimsoll/plimsoll.h"

/* Fills *error (NULL: nobody asks) and returns code. step as "open container"; the message is one line. */
__attribute__((format(printf, 5, 6))) int pl_error(struct plimsoll_error *error, int code, enum plimsoll_reason reason,
						   const char *step, const char *format, ...);

#endif
