/* SPDX-License-Identifier: Apache-2.0 */
/* parts: the actions that break.c's table names, one file a subject. Each is called in the process that has just done the step
 * it stands beside; 0 or -errno. */
#ifndef PL_LAUNCH_BREAK_PARTS_H
#define PL_LAUNCH_BREAK_PARTS_H

#include "wire/jail.h"

/* images.c: programs from copies of the same bytes. */
void pl_break_copied_launcher(void);
int pl_break_copied_image(const struct pl_jail_plan *plan);

/* creds.c: ids, capabilities, filters. */
int pl_break_inherit_capability(const struct pl_jail_plan *plan);
int pl_break_keep_capabilities(const struct pl_jail_plan *plan);
int pl_break_regain_capabilities(const struct pl_jail_plan *plan);
int pl_break_raise_ambient(const struct pl_jail_plan *plan);
int pl_break_wrong_uid(const struct pl_jail_plan *plan);
int pl_break_wrong_gid(const struct pl_jail_plan *plan);
int pl_break_allow_all(const struct pl_jail_plan *plan);
int pl_break_one_call_more(const struct pl_jail_plan *plan);

/* spaces.c: namespaces, mounts, links, descriptors. */
int pl_break_own_mnt(const struct pl_jail_plan *plan);
int pl_break_own_net(const struct pl_jail_plan *plan);
int pl_break_own_ipc(const struct pl_jail_plan *plan);
int pl_break_own_uts(const struct pl_jail_plan *plan);
int pl_break_own_user(const struct pl_jail_plan *plan);
int pl_break_own_cgroup(const struct pl_jail_plan *plan);
int pl_break_children_pid(const struct pl_jail_plan *plan);
int pl_break_children_time(const struct pl_jail_plan *plan);
int pl_break_another_mount(const struct pl_jail_plan *plan);
int pl_break_exec_tmp(const struct pl_jail_plan *plan);
int pl_break_another_link(const struct pl_jail_plan *plan);
int pl_break_another_descriptor(const struct pl_jail_plan *plan);
int pl_break_control_socket(const struct pl_jail_plan *plan);
int pl_break_second_stream(const struct pl_jail_plan *plan);

/* decoys.c: other processes. */
int pl_break_tracer(const struct pl_jail_plan *plan);
int pl_break_thread(const struct pl_jail_plan *plan);
int pl_break_second_child(const struct pl_jail_plan *plan);
int pl_break_middle(const struct pl_jail_plan *plan);
int pl_break_speaking_child(const struct pl_jail_plan *plan);
int pl_break_guests_child(const struct pl_jail_plan *plan);
int pl_break_relay(const struct pl_jail_plan *plan);

#endif
