/* SPDX-License-Identifier: Apache-2.0 */
/* textfile: small text files read whole (procfs, cgroupfs, /etc), and the decimal numbers in them.
 * Used by cgroup and supervisor/ids. The kernel's and the administrator's text is taken as data: bounded, never as a format. */
#ifndef PL_LINUX_TEXTFILE_H
#define PL_LINUX_TEXTFILE_H

#include <stddef.h>
#include <stdint.h>

/* The whole file at path below dirfd, with a NUL behind it; the caller frees it with pl_free. -EFBIG: more than max bytes. */
int pl_text_read(int dirfd, const char *path, size_t max, char **ret_text);

/* The decimal number at text: at least one digit, no sign. *ret_end is behind the last digit. -EINVAL, -ERANGE. */
int pl_text_number(const char *text, uint64_t *ret_number, const char **ret_end);

/* The number behind "KEY " at the start of a line, as in memory.events. -ENODATA: no such line. */
int pl_text_keyed(const char *text, const char *key, uint64_t *ret_number);

/* The line at *cursor, without its newline, which becomes a NUL; *cursor moves on. NULL: no more lines. */
char *pl_text_line(char **cursor);

#endif
