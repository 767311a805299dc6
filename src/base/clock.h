/* SPDX-License-Identifier: Apache-2.0 */
/* clock: the two clocks, as numbers. */
#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Microseconds of a clock that only goes forward; for durations and deadlines. */
static inline int64_t pl_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Milliseconds since 1970; for people and for the guest. */
static inline int64_t pl_wall_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
