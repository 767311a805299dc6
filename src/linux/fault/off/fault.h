/* SPDX-License-Identifier: Apache-2.0 */
/* fault: failure injection, absent. Every build but the test build compiles against this header, in which nothing can be
 * injected; linux/fault/on has the other. The build chooses by include path, so no body holds an #ifdef. */
#ifndef PL_LINUX_FAULT_H
#define PL_LINUX_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdint.h>

static inline int pl_fault(const char *site)
{
	(void)site;
	return 0;
}

static inline void pl_fault_out(const void *bytes, size_t len)
{
	(void)bytes;
	(void)len;
}

static inline uint64_t pl_fault_engine(void)
{
	return 0;
}

static inline bool pl_sabotage(const char *name)
{
	(void)name;
	return false;
}

static inline uint64_t pl_sabotage_room(uint64_t pids)
{
	return pids;
}

static inline void pl_fault_set(const char *program, const char *spec)
{
	(void)program;
	(void)spec;
}

static inline void pl_fault_load(const char *program, int dirfd, char *ret_spec, size_t size)
{
	(void)program;
	(void)dirfd;
	if (size)
		ret_spec[0] = 0;
}

#endif
