/* SPDX-License-Identifier: Apache-2.0 */
/* fault: failure injection for test builds. A program is told once which failure to have; the wrappers of linux/ ask here
 * before each call. A spec is one word:
 *
 *     PROGRAM:call:N[:ERRNO]   the N-th wrapped call of that program (supervisor, launch, guest) fails, by default with EIO
 *     PROGRAM:die:N            the program ends on the spot at its N-th wrapped call, as by SIGKILL
 *     supervisor:alloc:N       the N-th allocation of our own code in the supervisor fails
 *     engine:alloc:N           the N-th allocation of the engine after its job has arrived fails
 *     sabotage:NAME            the places that know NAME break one fact on purpose (see docs/testing.md)
 *
 * The supervisor reads the spec from the file `fault` beside its helpers when it starts, each time a message arrives and each
 * time it opens a sandbox, and hands it on. In the file `fault.log` there, if a test has made one, it notes what a test could
 * not see: that the failure has happened, and that bytes which hold a witness (PL_FAULT_WITNESS) are about to leave it. */
#ifndef PL_LINUX_FAULT_H
#define PL_LINUX_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run whose code holds this, followed by digits, can be followed on its way out. */
#define PL_FAULT_WITNESS "plimsoll-witness-"
/* The exit status of a program that was told to die. */
#define PL_FAULT_EXIT 99

/* 0, or the -errno with which the call at site is to fail. */
int pl_fault(const char *site);
/* Bytes are about to be written or sent, whatever becomes of that. */
void pl_fault_out(const void *bytes, size_t len);
/* Whether the fact called name is to be broken here. */
bool pl_sabotage(const char *name);
/* Which allocation of the engine is to fail; 0: none. */
uint64_t pl_fault_engine(void);
/* How many tasks a sandbox is to have room for while it is built, where pids are right: more for the sabotages that add some,
 * whose names start with "+". */
uint64_t pl_sabotage_room(uint64_t pids);
/* Sets the spec of this process, which calls itself program. NULL or "" clears it; setting the same spec again does not
 * start the count anew. */
void pl_fault_set(const char *program, const char *spec);
/* Reads the spec from the file `fault` (absent: empty), sets it, and writes it to ret_spec. dirfd is its folder, or -1: that
 * of the running program. */
void pl_fault_load(const char *program, int dirfd, char *ret_spec, size_t size);

#endif
