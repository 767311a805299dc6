/* SPDX-License-Identifier: Apache-2.0 */
/* fd: closing a descriptor that may not be one. */
#ifndef PL_BASE_FD_H
#define PL_BASE_FD_H

#include <unistd.h>

/* Closes *fd when it is one and sets it to -1. */
static inline void pl_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Moves a descriptor out of a variable whose clean-up would close it. */
static inline int pl_fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define PL_CLEANUP_FD __attribute__((cleanup(pl_fd_close))) int

#endif
