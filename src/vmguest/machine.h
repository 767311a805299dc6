/* SPDX-License-Identifier: Apache-2.0 */
/* machine: the image's side of the ports and the shared range (wire/vm.h). */
#ifndef PL_VMGUEST_MACHINE_H
#define PL_VMGUEST_MACHINE_H

#include "wire/vm.h"

/* Ends the machine as a crash does: an instruction that no processor has. */
static inline _Noreturn void pl_machine_stop(void)
{
	__builtin_trap();
}

int64_t pl_machine_monotonic_ns(void);
int64_t pl_machine_real_ns(void);

#endif
