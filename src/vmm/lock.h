/* SPDX-License-Identifier: Apache-2.0 */
/* lock: the filter that the monitor puts on itself when its machine is ready and before it answers the challenge. Of KVM it
 * leaves KVM_RUN; any other ioctl (a memory slot more, a register changed) ends the process. The supervisor has the same bytes, and
 * compares. */
#ifndef PL_VMM_LOCK_H
#define PL_VMM_LOCK_H

#include <linux/filter.h>

#define PL_VMM_LOCK_MAX 80u

/* The number of instructions written to ret. */
unsigned pl_vmm_lock_compile(struct sock_filter ret[PL_VMM_LOCK_MAX]);

#endif
