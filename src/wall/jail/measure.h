/* SPDX-License-Identifier: Apache-2.0 */
/* measure: the readers of facts about a jailed guest, shared by the container and the process wall. Each reader takes one
 * reading of everything and fills the value of one fact, and the reference that its predicate speaks of; comparing is
 * contract/fact's. */
#ifndef PL_WALL_JAIL_MEASURE_H
#define PL_WALL_JAIL_MEASURE_H

#include "wall/jail/jail.h"

#define PL_TMP_BYTES (16ull << 20) /* the writable /tmp of the container wall, the reference's size (1.5) */

/* What two facts are read from, read when the first of them asks. */
struct pl_reading_tables {
	bool mounts_read, descriptors_read;
	int mounts_error, descriptors_error;
	char mounts[PL_FACT_VALUE_SIZE], writable[PL_FACT_VALUE_SIZE], descriptors[PL_FACT_VALUE_SIZE];
	int held; /* how often the guest holds the stream */
};

/* Everything about one sandbox that several facts are read from, taken once a phase. */
struct pl_reading {
	struct pl_sandbox *sandbox;
	struct pl_jail *jail;
	const struct pl_proc *guest;  /* the measured guest; when gone, only its number still means something */
	const struct pl_proc *parent; /* who must be its parent: init, or the zygote */
	bool gone;
	enum pl_phase phase;
	struct pl_proc_status init_status, guest_status;
	int init_error, guest_error;
	char limits[2048]; /* the guest's /proc/PID/limits; "" where it is not read */
	ssize_t limits_error;
	struct pl_reading_tables *tables;
};

struct pl_reader {
	struct pl_fact_spec spec;
	void (*read)(const struct pl_reading *reading, struct pl_fact *fact);
};

/* tables: the caller's, for as long as the reading. */
void pl_reading_take(struct pl_reading *reading, struct pl_reading_tables *tables);
/* Fills facts by the readers, skipping in later phases what is fixed. ret keeps what it held for those. */
void pl_readers_run(const struct pl_reader *readers, size_t n, const struct pl_reading *reading, struct pl_fact *ret);

__attribute__((format(printf, 2, 3))) void pl_fact_value(struct pl_fact *fact, const char *format, ...);
__attribute__((format(printf, 2, 3))) void pl_fact_reference(struct pl_fact *fact, const char *format, ...);
void pl_fact_failed(struct pl_fact *fact, int error);

/* For readers of other walls: whether proc executes image; which descriptors the guest has open. */
void pl_read_image(const struct pl_proc *proc, const struct pl_image *image, struct pl_fact *f);
void pl_read_fds(const struct pl_reading *r, const char *reference, struct pl_fact *f);

void pl_read_host_view(const struct pl_reading *r, struct pl_fact *f);
void pl_read_host_task(const struct pl_reading *r, struct pl_fact *f);
void pl_read_descent(const struct pl_reading *r, struct pl_fact *f);
void pl_read_guest_image(const struct pl_reading *r, struct pl_fact *f);  /* the guest's program is env->guest */
void pl_read_worker_image(const struct pl_reading *r, struct pl_fact *f); /* env->worker */
void pl_read_launcher_digest(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_pid(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_mnt(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_net(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_ipc(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_uts(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_user(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_cgroup(const struct pl_reading *r, struct pl_fact *f);
void pl_read_ns_time(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_uid(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_gid(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_groups(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_caps(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_nnp(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_tracer(const struct pl_reading *r, struct pl_fact *f);
void pl_read_cred_init(const struct pl_reading *r, struct pl_fact *f);
void pl_read_seccomp(const struct pl_reading *r, struct pl_fact *f);
void pl_read_landlock(const struct pl_reading *r, struct pl_fact *f);
void pl_read_dumpable(const struct pl_reading *r, struct pl_fact *f);
void pl_read_limit_cgroup_memory(const struct pl_reading *r, struct pl_fact *f);
void pl_read_limit_cgroup_pids(const struct pl_reading *r, struct pl_fact *f);
void pl_read_limit_as(const struct pl_reading *r, struct pl_fact *f);   /* RLIMIT_AS holds the memory limit */
void pl_read_limit_data(const struct pl_reading *r, struct pl_fact *f); /* RLIMIT_DATA does */
void pl_read_limit_nproc(const struct pl_reading *r, struct pl_fact *f);
void pl_read_limit_cpu(const struct pl_reading *r, struct pl_fact *f);
void pl_read_fs_root(const struct pl_reading *r, struct pl_fact *f);
void pl_read_fs_writable(const struct pl_reading *r, struct pl_fact *f);
void pl_read_net_links(const struct pl_reading *r, struct pl_fact *f);
void pl_read_fd_open(const struct pl_reading *r, struct pl_fact *f);
void pl_read_stream_holders(const struct pl_reading *r, struct pl_fact *f);

#endif
