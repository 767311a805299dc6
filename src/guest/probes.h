/* SPDX-License-Identifier: Apache-2.0 */
/* probes: a fixed list of system calls that a guest tries before HELLO, each of which its filter must refuse.
 *
 * That a filter is loaded says little (an allow-all filter shows as one too); that every one of these gets EPERM says what kind.
 * Each is harmless: without a filter it succeeds and is undone, or fails with another error than EPERM. */
#ifndef PL_GUEST_PROBES_H
#define PL_GUEST_PROBES_H

#include <stdint.h>

struct pl_probe_counts {
	uint16_t tried, denied; /* denied: the error was exactly EPERM */
	uint8_t landlock_denied; /* opening the root was refused with EACCES, which no filter of ours gives */
};

void pl_probes_run(struct pl_probe_counts *ret);

#endif
