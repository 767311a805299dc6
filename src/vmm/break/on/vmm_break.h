/* SPDX-License-Identifier: Apache-2.0 */
/* vmm_break: sabotage of the monitor that takes more than leaving out a step; test builds only. */
#ifndef PL_VMM_BREAK_H
#define PL_VMM_BREAK_H

#include <stdint.h>

/* Puts into the shared range what the image answers to the challenge that lies there. */
void pl_break_hello(uint8_t *shared);

#endif
