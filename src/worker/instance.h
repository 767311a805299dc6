/* SPDX-License-Identifier: Apache-2.0 */
/* instance: the engine as WebAssembly, compiled ahead of time, and the walls around its memory.
 *
 * Made once in the zygote, inherited by every worker. The code in the instance is hostile once it has a job: each number it hands
 * over is an offset into its own memory and is checked here before use. A trap, a bad offset or an overflow of the stack ends the
 * process by a signal; there is no way back into an instance that did that. */
#ifndef PL_WORKER_INSTANCE_H
#define PL_WORKER_INSTANCE_H

#include "guest/session.h"

extern const struct pl_session_engine pl_instance_engine;

/* Makes the instance, ready for a job; -1 when it cannot be. */
int pl_instance_warm(void);

#endif
