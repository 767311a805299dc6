/* SPDX-License-Identifier: Apache-2.0 */
/* landlock: a second wall behind namespaces and the system-call filter, where the kernel has one.
 * Called by plimsoll-launch in the guest's process just before it executes the guest; takes no input. */
#ifndef PL_LINUX_LANDLOCK_H
#define PL_LINUX_LANDLOCK_H

/* Forbids the calling thread and its descendants, for good, every kind of file access, and as far as the kernel's version of
 * Landlock goes TCP bind and connect (version 4), and connecting to abstract sockets and signalling processes outside
 * (version 6). Open descriptors stay usable, and a program in a memfd can still be executed. Needs no_new_privs.
 *
 * Returns the Landlock version that was used, 0 if the kernel has none or it is switched off, or -errno: then nothing changed. */
int pl_landlock_forbid_all(void);

#endif
