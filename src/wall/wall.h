/* SPDX-License-Identifier: Apache-2.0 */
/* wall: the table that every wall fills, and what a wall and the supervisor share about one sandbox.
 *
 * A wall is one folder and one `const struct pl_wall`. The supervisor owns sandboxes and drives them: open, pin, measure,
 * limit, (dispatch), stop, kill, release; a wall answers and, for what happens by itself, calls back through struct
 * pl_wall_env. Nothing here blocks. */
#ifndef PL_WALL_WALL_H
#define PL_WALL_WALL_H

#include "base/digest.h"
#include "contract/gate.h"
#include "linux/cgroup.h"
#include "linux/proc.h"
#include "supervisor/ids.h"
#include "wall/loop.h"

#include <stdbool.h>
#include <sys/stat.h>

#define PL_WALL_TEXT_LEN 384

struct pl_wall;
struct pl_wall_env;
struct pl_jail_filter;

/* A program of ours as a sealed descriptor: what is executed is what was hashed, whatever happens to the file. */
struct pl_image {
	int fd;
	dev_t dev;
	ino_t ino;
	char digest[PL_SHA256_HEX_SIZE];
};

/* How a guest ended, as its init (or the zygote) reports it. */
struct pl_end {
	bool known;
	int wait_status;
	uint64_t cpu_us, peak_bytes;
};

/* When facts are read: OPEN everything; PASS what can change since, with the request's limits in force; AFTER the same
 * again, the guest standing still or gone. */
enum pl_phase { PL_PHASE_OPEN, PL_PHASE_PASS, PL_PHASE_AFTER };

/* One sandbox. The supervisor's own view of it begins with this. */
struct pl_sandbox {
	const struct pl_wall *wall;
	void *wall_state;
	void *own;              /* the wall's part; NULL before open and after release */
	int stream_fd;          /* our end of the stream; set by open, the supervisor's to close */
	ino_t stream_ino;       /* the far end's socket inode, to recognise it by */
	bool challenge_later;   /* set by open: the wall calls env->challenge when the sandbox may be asked */
	struct pl_gate gate;
	struct pl_hello hello;
	struct pl_limits limits;/* in force in the sandbox */
	struct pl_end end;
	struct pl_fact facts[PL_FACTS_MAX];
};

/* What the supervisor gives to walls; one, for all, as long as it lives. */
struct pl_wall_env {
	struct pl_loop *loop;
	const struct pl_settings *settings;
	bool root;                        /* we are uid 0 in the initial user namespace, with its capabilities */
	bool can_dump;                    /* a task's filter can be dumped (root under no filter, and Yama does not forbid ptrace) */
	bool host_root;                   /* our uid is the host's 0 without root being true: a sandbox with our own id would have it */
	char missing_caps[128];           /* as uid 0: the capabilities for want of which root is not true */
	int own_filters;                  /* how many system-call filters we run under ourselves */
	struct pl_ids *ids;               /* as root; else NULL */
	struct pl_cgroup_host *cgroups;
	struct pl_image launch, guest, worker, vmm, vm_image; /* the last two: fd -1 where there is none */
	const struct pl_jail_filter *guest_filter, *zygote_filter, *init_filter, *vmm_filter; /* compiled once */
	char guest_filter_digest[PL_SHA256_HEX_SIZE], vmm_filter_digest[PL_SHA256_HEX_SIZE];
	uint64_t own_ns[PL_NS_N];
	char own_groups[128];             /* the supplementary groups that an ordinary user cannot drop, as /proc prints them */
	char host_view[64];               /* "initial pid namespace, /proc unmasked", or what it is instead */
	int host_view_error;              /* 0, or why facts cannot be had from here */
	int namespaces_error;             /* 0, or why a jail's namespaces cannot be had; then in words, and what to do */
	char namespaces_found[160], namespaces_remedy[160];
	const char *missing_fact;         /* set by a wall's start that fails for want of a fact: its name */
	char fault[64];                   /* test builds: the failure to inject */
	/* Called by walls. challenge: nobody but the guest holds the stream any more. failed: it cannot be opened; error has the cause as a reason. ended: the guest's end is known. */
	void (*challenge)(struct pl_sandbox *sandbox);
	void (*failed)(struct pl_sandbox *sandbox, const struct plimsoll_error *error);
	void (*ended)(struct pl_sandbox *sandbox);
};

struct pl_wall {
	const char *name;
	enum plimsoll_tier tier;
	bool memory_fixed; /* how much memory a sandbox has is settled when it is opened: one of the pool serves its own size only */
	/* Looks whether the wall can be had here. 0 and *ret_state, or -errno with found and remedy as texts for a person. */
	int (*start)(struct pl_wall_env *env, void **ret_state, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN]);
	void (*stop)(void *state);
	const struct pl_profile *(*profile)(const void *state);
	/* Begins to build a sandbox with sandbox->limits: stream_fd and own are set on success; the guest comes up by itself. */
	int (*open)(void *state, struct pl_sandbox *sandbox, struct plimsoll_error *error);
	/* HELLO came from pid: holds that process. */
	int (*pin)(struct pl_sandbox *sandbox, pid_t speaker, struct plimsoll_error *error);
	/* Puts sandbox->limits in force. */
	int (*limit)(struct pl_sandbox *sandbox);
	/* Reads facts into facts[] in the order of the profile. gone: the guest has ended. */
	void (*measure)(struct pl_sandbox *sandbox, enum pl_phase phase, bool gone, struct pl_fact *facts);
	/* Whether the pinned guest has not ended. */
	bool (*alive)(const struct pl_sandbox *sandbox);
	/* Makes the guest stand still, and says whether it does (or has ended). */
	int (*halt)(struct pl_sandbox *sandbox);
	bool (*halted)(const struct pl_sandbox *sandbox);
	/* Processor time and peak memory so far, of a guest that stands still. */
	void (*usage)(const struct pl_sandbox *sandbox, int64_t *ret_cpu_us, uint64_t *ret_peak_bytes);
	/* Whether the kernel killed the guest because its memory limit was reached. */
	bool (*out_of_memory)(const struct pl_sandbox *sandbox);
	/* Ends the sandbox. */
	void (*kill)(struct pl_sandbox *sandbox);
	/* Frees what is left: true when nothing is, false: ask again later. Reaping is done by then. */
	bool (*release)(struct pl_sandbox *sandbox);
};

extern const struct pl_wall pl_wall_container, pl_wall_microvm, pl_wall_process;

#endif
