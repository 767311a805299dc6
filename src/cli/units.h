/* SPDX-License-Identifier: Apache-2.0 */
/* units: numbers with units, as people type them. A bare number is refused: nobody should have to know whether 5 is seconds
 * or milliseconds. */
#ifndef PL_CLI_UNITS_H
#define PL_CLI_UNITS_H

#include <stdint.h>

/* What is wrong with a text, for print_usage_error; NULL: nothing, and *ret is written. */

/* "500ms", "2s", "1m". */
const char *units_duration_parse(const char *text, int64_t *ret_ms);
/* "65536B", "64KiB" or "64K", "256MiB" or "256M", "1GiB" or "1G": all are powers of 1024. */
const char *units_size_parse(const char *text, uint64_t *ret_bytes);
/* A file descriptor: only digits. */
const char *units_fd_parse(const char *text, int *ret_fd);

/* A size for people, as "38.2 MiB". */
const char *units_size_print(char *text, int size, uint64_t bytes);
/* A duration for people, as "1.3 ms" or "2.04 s". */
const char *units_duration_print(char *text, int size, int64_t us);

#endif
