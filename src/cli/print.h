/* SPDX-License-Identifier: Apache-2.0 */
/* print: what is written to the user: bytes to a descriptor, one-line messages on stderr, tables. */
#ifndef PL_CLI_PRINT_H
#define PL_CLI_PRINT_H

#include "plimsoll/plimsoll.h"

#include <stddef.h>
#include <stdio.h>

/* Writes all of it. 0 or -errno. */
int print_bytes(int fd, const void *bytes, size_t len);

/* One line on stderr that begins with "plimsoll: ". Control characters, which may come from a file's name, become '?'. */
__attribute__((format(printf, 1, 2))) void print_line(const char *format, ...);

/* "plimsoll: nothing ran (request): SUBCOMMAND: …" */
__attribute__((format(printf, 2, 3))) void print_usage_error(const char *subcommand, const char *format, ...);

/* "plimsoll: nothing ran (isolation): …" or "plimsoll: it may have run: …". The exit code that goes with it. */
int print_failure(const struct plimsoll_error *error);

/* What was measured, as a table. */
void print_evidence(FILE *out, const struct plimsoll_evidence *evidence);
/* How many facts the tier rests on. */
size_t print_required_n(const struct plimsoll_evidence *evidence);

/* Flushes stdout and sees whether all that was printed arrived. code, or CLI_EXIT_MAY_RUN for a reason that is printed. */
int print_finish(int code);

#endif
