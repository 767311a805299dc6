/* SPDX-License-Identifier: Apache-2.0 */
/* arch: the one architecture whose system calls the worker's filter lets through. x32 calls carry the same name with a bit in
 * their number, so they meet no rule. */
#ifndef PL_WORKER_ARCH_H
#define PL_WORKER_ARCH_H

#include <linux/audit.h>

#if defined(__x86_64__)
#define PL_WORKER_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PL_WORKER_AUDIT_ARCH AUDIT_ARCH_AARCH64
#else
#define PL_WORKER_AUDIT_ARCH 0u /* matches no call, so a worker dies at its first */
#endif

#endif
