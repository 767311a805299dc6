/* SPDX-License-Identifier: Apache-2.0 */
/* stream: the monitor's end of the guest protocol: frames to and from the supervisor on descriptor 0, sleeping, clocks. */
#ifndef PL_VMM_STREAM_H
#define PL_VMM_STREAM_H

#include "vmm/serve.h"

#include <signal.h>

extern const struct pl_vm_world pl_vm_stream_world;

/* Set by the deadline's signal: whatever waits comes back. */
extern volatile sig_atomic_t pl_vm_deadline;

#endif
