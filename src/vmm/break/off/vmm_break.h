/* SPDX-License-Identifier: Apache-2.0 */
/* vmm_break: sabotage of the monitor, absent; vmm/break/on has the other. */
#ifndef PL_VMM_BREAK_H
#define PL_VMM_BREAK_H

#include <stdint.h>

static inline void pl_break_hello(uint8_t *shared)
{
	(void)shared;
}

#endif
