/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: a process that its maker's program cannot see: no SIGCHLD, nothing for wait(). Called by start.c only. */
#ifndef PL_LIB_SPAWN_H
#define PL_LIB_SPAWN_H

/* Starts the program at path with one end of a stream socket as descriptor 3, /dev/null as 0 to 2 and nothing else open, no
 * arguments but argv0, no environment, a session of its own, / as its directory, default signals. 0: it has been executed, and
 * *ret_line_fd is the other end. -errno: it has not, and *ret_step names the call that failed ("execve"). */
int pl_spawn(const char *path, const char *argv0, int *ret_line_fd, const char **ret_step);

#endif
