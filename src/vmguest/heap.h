/* SPDX-License-Identifier: Apache-2.0 */
/* heap: the machine's memory allocator, behind malloc. Everything from the image's end to the end of memory is one heap;
 * nothing asks the host for more. Owned by the image alone; after the job arrives its contents are the program's to ruin, and
 * then only the machine is. */
#ifndef PL_VMGUEST_HEAP_H
#define PL_VMGUEST_HEAP_H

#include <stdint.h>

/* Once, before the first malloc. */
void pl_heap_init(uintptr_t start, uintptr_t end);
/* More memory at the end than before, as when a snapshot is restored into a larger machine. */
void pl_heap_grow(uintptr_t end);
/* Nothing at or above this address has ever been handed out or written. */
uintptr_t pl_heap_used_end(void);

#endif
