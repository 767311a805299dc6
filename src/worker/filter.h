/* SPDX-License-Identifier: Apache-2.0 */
/* filter: the worker's own system call filter, on top of the jail's: what a running worker needs and nothing else. */
#ifndef PL_WORKER_FILTER_H
#define PL_WORKER_FILTER_H

/* Loads it for this process, for good; -errno when it cannot be. */
int pl_filter_load(void);

#endif
