/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: a process that its maker's program cannot see: no SIGCHLD, nothing for wait(). Called by start.c only. */
#ifndef PL_LIB_SPAWN_H
#define PL_LIB_SPAWN_H

/* What comes back over the report descriptor when the program could not be started. */
struct pl_spawn_report {
	int error;     /* errno */
	char step[16]; /* the call that failed */
};

/* Starts the program at path with one end of a stream socket as descriptor 3, /dev/null as 0 to 2 and nothing else open, no
 * arguments but argv0, no environment, a session of its own, / as its directory, default signals. 0: *ret_line_fd is the other
 * end and *ret_report_fd yields a pl_spawn_report if the start failed after all, else its end. -errno: nothing was started. */
int pl_spawn(const char *path, const char *argv0, int *ret_line_fd, int *ret_report_fd);

#endif
