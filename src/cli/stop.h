/* SPDX-License-Identifier: Apache-2.0 */
/* stop: Ctrl-C and its like. The first signal ends the run through its cancel trigger, and the answer says whether anything
 * ran; a second one ends this program at once, and the supervisor, which sees that, cleans up. */
#ifndef PL_CLI_STOP_H
#define PL_CLI_STOP_H

#include "plimsoll/plimsoll.h"


/* Takes SIGINT, SIGTERM and SIGHUP, but for those that were ignored at the start (nohup, a shell's background job). */
void stop_init(struct plimsoll_cancel *cancel);
/* From here on a second signal means that something may have run. */
void stop_run_begins(void);

#endif
