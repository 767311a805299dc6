/* SPDX-License-Identifier: Apache-2.0 */
/* fault: failure injection for test builds. A program is told once which failure to have; the wrappers of linux/ ask here
 * before each call. A spec is one word:
 *
 *     PROGRAM:call:N[:ERRNO]   the N-th wrapped call of that program (supervisor, launch, guest) fails, by default with EIO
 *     sabotage:NAME            the places that know NAME break one fact on purpose (see docs/testing.md)
 *
 * The supervisor reads the spec from the file `fault` beside its helpers each time it opens a sandbox, and hands it on. */
#ifndef PL_LINUX_FAULT_H
#define PL_LINUX_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* 0, or the -errno with which the call at site is to fail. */
int pl_fault(const char *site);
/* Whether the fact called name is to be broken here. */
bool pl_sabotage(const char *name);
/* Sets the spec of this process, which calls itself program. NULL or "" clears it; setting the same spec again does not
 * start the count anew. */
void pl_fault_set(const char *program, const char *spec);
/* Reads the spec from the file `fault` in dirfd (absent: empty), sets it, and writes it to ret_spec. */
void pl_fault_load(const char *program, int dirfd, char *ret_spec, size_t size);

#endif
