/* SPDX-License-Identifier: Apache-2.0 */
/* microvm: what the files of this wall share: the wall, its snapshot, one machine. */
#ifndef PL_WALL_MICROVM_MICROVM_H
#define PL_WALL_MICROVM_MICROVM_H

#include "linux/kvm.h"
#include "wall/jail/measure.h"
#include "wire/vm.h"

/* What the monitor needs beside the machine's memory: its own, the snapshot's registers, and what the kernel keeps about the
 * pages of the machine, which grows with them. */
#define PL_VMM_RESERVE_BYTES (16ull << 20)
#define PL_VMM_RESERVE_PART 128u

/* Tasks of a jail: init, the monitor, and the worker that some kernels (from 6.13) give a machine's process to split pages. */
#define PL_VMM_TASKS 3u

struct microvm;
struct microvm_wall;

enum snapshot_state { SNAPSHOT_NONE, SNAPSHOT_MAKING, SNAPSHOT_READY };

/* Made once, when the first machine is wanted, by a monitor in a jail like any other; then sealed and hashed. */
struct snapshot {
	enum snapshot_state state;
	struct pl_jail jail;
	bool has_jail;
	struct pl_source control;
	struct pl_vmm_ready ready;
	bool said_ready;
	int stream_fd; /* of no use, but a jail has one */
	int fd;        /* sealed when READY */
	dev_t dev;
	ino_t ino;
	uint64_t len;
	char digest[PL_SHA256_HEX_SIZE];
	int64_t until_us;
	struct microvm *waiting; /* machines that wait for it */
};

struct microvm_wall {
	struct pl_wall_env *env;
	struct pl_profile profile;
	struct pl_reader readers[PL_FACTS_MAX];
	struct pl_fact_spec specs[PL_FACTS_MAX];
	bool cgroup_memory, cgroup_pids;
	int kvm_fd;
	char flavours[32];       /* the accepted ones */
	char expected_flavour[80];
	char lock_digest[PL_SHA256_HEX_SIZE];
	struct snapshot snapshot;
};

struct microvm {
	struct microvm_wall *wall;
	struct pl_sandbox *sandbox;
	struct microvm *next_waiting;
	struct pl_jail jail;
	bool has_jail;
	int far_fd;               /* the stream's far end, until the jail has it */
	struct pl_source control; /* until the monitor is ready */
	struct pl_proc monitor;   /* held from ready on */
	int stats_fd;
	int stats_error;
	char stats_id[PL_KVM_ID_SIZE];
	uint64_t exits_before, exits_after;
	uint64_t slots_bytes;     /* the monitor's statement */
	int64_t halted_us;
	bool stopped;             /* by us, since it did not stop by itself */
};

/* facts.c: the table, and the predicates of this configuration. */
void microvm_profile_make(struct microvm_wall *w);

/* snapshot.c */
void snapshot_init(struct snapshot *s);
/* Begins to make it, unless that has begun; when it is there or cannot be had, microvm_begin or env->failed is called for each that
 * waits. */
int snapshot_want(struct microvm_wall *w, struct plimsoll_error *error);
/* Frees what is left of the making. */
void snapshot_tend(struct microvm_wall *w);
void snapshot_fini(struct microvm_wall *w);

/* microvm.c: starts the machine's monitor. */
int microvm_begin(struct microvm *m, struct plimsoll_error *error);
uint64_t microvm_reserve(uint64_t memory_bytes);
/* A monitor's jail; extra: control, /dev/kvm, snapshot and, where it is made, the image. */
int microvm_jail_open(struct microvm_wall *w, const char *argv0, int stream_fd, const int *extra_fds, unsigned extra_n,
		      uint64_t memory_bytes, struct pl_jail *jail, struct plimsoll_error *error);
int microvm_order_send(int control_fd, enum pl_vmm_mode mode, uint64_t memory_bytes);
/* The monitor's answer, and who it is by the kernel's word: its length, or -errno. */
ssize_t microvm_ready_take(int control_fd, struct pl_vmm_ready *ret, pid_t *ret_pid);

#endif
