/* SPDX-License-Identifier: Apache-2.0 */
/* confine: what a worker takes from itself before it reads one byte of its stream. The jail around the zygote stands already; this
 * is the worker's own, narrower, and it cannot be undone. */
#ifndef PL_WORKER_CONFINE_H
#define PL_WORKER_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes stream_fd the only descriptor, as PL_GUEST_STREAM_FD, and drops the rest; -errno when any step fails. zygote is the
 * parent's pid: a worker whose parent has died meanwhile ends. readable: it stays dumpable. */
int pl_confine(int stream_fd, pid_t zygote, bool readable);

#endif
