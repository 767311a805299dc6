/* SPDX-License-Identifier: Apache-2.0 */
/* make: runs the image, which the supervisor has sealed, up to its snapshot. No code but the image's own has ever been in that
 * machine; its memory is the supervisor's memory file, which becomes the snapshot. */
#ifndef PL_VMM_MAKE_H
#define PL_VMM_MAKE_H

#include "vmm/kvm.h"

/* 0 and the snapshot's length, or -errno and the step that failed. */
int pl_vm_snapshot_make(uint64_t *ret_len, const char **ret_step);

#endif
