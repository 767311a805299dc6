/* SPDX-License-Identifier: Apache-2.0 */
/* watch: what a test can see from outside of a supervisor and of everything below it: processes, descriptors, memory, groups
 * and mounts. Only the kernel's word is taken, none of our own code's. Used by the fault and soak suites. */
#ifndef PL_TESTS_WATCH_H
#define PL_TESTS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WATCH_TREE_MAX 512

/* From now on whatever a descendant leaves behind becomes a child of this process, where it can be seen. */
void watch_init(void);

/* The children of pid (of its main thread, which is where orphans go); how many, at most max. */
size_t watch_children(pid_t pid, pid_t *ret, size_t max);
/* Everything below pid that lives, zombies too. */
size_t watch_tree(pid_t pid, pid_t *ret, size_t max);
/* The one supervisor that this process has got from libplimsoll; 0: none, or more than one. */
pid_t watch_supervisor(void);

/* One letter, as in ps; 0: there is no such process. */
char watch_state(pid_t pid);
/* Processor time used so far, in clock ticks of a hundredth of a second; -1: no such process. */
long watch_cpu_ticks(pid_t pid);
long watch_rss_kib(pid_t pid);
/* Open descriptors; -1: cannot be read. */
int watch_fds(pid_t pid);

/* Groups, in the hierarchies where this process lives, that are named after the supervisor with this pid. */
unsigned watch_cgroups(pid_t supervisor);
/* Mounts in this process's own table that look like those of a jail. */
unsigned watch_mounts(void);

/* Waits until pid, a child of ours, has ended, and reaps it: its wait status, or -1 after within_ms. */
int watch_end(pid_t pid, int within_ms);
/* Reaps whatever has ended and waits until this process has no child left; how many are left after within_ms. */
size_t watch_nobody(int within_ms);

int watch_sleep_us(long us);
double watch_now_s(void);

#endif
