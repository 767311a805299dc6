/* SPDX-License-Identifier: Apache-2.0 */
/* hostile: the test guest of the escape suite. It behaves as plimsoll-guest does up to JOB; then it takes the code for the name
 * of a probe and its arguments, makes that one attempt, and says what came of it. Started by hand with "outside" as its first
 * argument it makes the same attempt as an ordinary process: there it must succeed, or the probe would prove nothing.
 *
 * Attempts are raw system calls. One that works is undone, or is of such a kind that nothing changes; what each aims at is a
 * canary that the test has made, never something of the machine's. */
#ifndef PL_TESTS_HOSTILE_H
#define PL_TESTS_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_ARGS_MAX 8

struct probe {
	const char *name;
	/* 0 or more: it succeeded; -errno. argv[0] is the name, argv[argc] NULL. */
	long (*run)(int argc, char **argv);
};

extern const struct probe process_probes[], space_probes[], file_probes[], privilege_probes[], network_probes[],
	kernel_probes[], resource_probes[], protocol_probes[]; /* each ends with a name of NULL */

/* Whether this is the run outside. */
extern bool outside;

/* A system call: its result or -errno. */
#define SYS(...) hostile_result(syscall(__VA_ARGS__))
long hostile_result(long r);
/* Closes a descriptor that a probe was given; passes errors on. */
long hostile_got(long fd);
unsigned long hostile_number(const char *text);
void hostile_say(const char *text);

#endif
