/* SPDX-License-Identifier: Apache-2.0 */
/* microvm: the wall of a KVM virtual machine with no kernel in it; one machine a run, in a monitor process of its own.
 *
 * Theory of operation. The supervisor holds /dev/kvm, the monitor's program and the machine's image. The first machine that is
 * wanted has the snapshot made (snapshot.c). Each machine is a jail like the container wall's, whose guest is the monitor: it gets
 * its stream, a control socket, /dev/kvm and the sealed snapshot. When it says that it is ready it is pinned by the kernel's word
 * on who spoke, its vCPU's statistics descriptor is borrowed and read, and only then is the machine challenged. What is measured
 * is the monitor, from outside, as any jailed guest, and the kernel's count of the machine's exits. */
#include "wall/microvm/microvm.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "build_id.h"
#include "contract/error.h"
#include "linux/sys.h"
#include "vmm/lock.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

/* How long a monitor has to stop by itself at its deadline, before it is stopped. */
#define STOP_US 200000

uint64_t microvm_reserve(uint64_t memory_bytes)
{
	return (PL_VMM_RESERVE_BYTES + memory_bytes / PL_VMM_RESERVE_PART) & ~4095ull;
}

/* --- whether it can be had --------------------------------------------------------------------------------------------- */

static int device_refused(int rc, const char *lacks, char *found, char *remedy)
{
	if (rc == -ENOENT || rc == -ENXIO || rc == -ENODEV) {
		snprintf(found, PL_WALL_TEXT_LEN, rc == -ENODEV ? "/dev/kvm is not the kernel's device"
								: "there is no /dev/kvm: the machine has no virtualisation, or its module "
								  "is not loaded");
		snprintf(remedy, PL_WALL_TEXT_LEN,
			 "switch on virtualisation in the firmware and load kvm_intel or kvm_amd; in a virtual machine, ask its host for "
			 "nested virtualisation");
	} else if (rc == -EACCES || rc == -EPERM) {
		snprintf(found, PL_WALL_TEXT_LEN, "/dev/kvm is there, and this user may not open it");
		snprintf(remedy, PL_WALL_TEXT_LEN,
			 "add the user to the group of /dev/kvm (`sudo usermod -aG kvm USER`) and log in again, or run as root");
	} else if (rc == -EOPNOTSUPP) {
		snprintf(found, PL_WALL_TEXT_LEN, "KVM here lacks %s", lacks);
		snprintf(remedy, PL_WALL_TEXT_LEN, "use a kernel of version 5.14 or later");
	} else {
		snprintf(found, PL_WALL_TEXT_LEN, "/dev/kvm cannot be used: %s", strerror(-rc));
		snprintf(remedy, PL_WALL_TEXT_LEN, "see the kernel's log");
	}
	return rc;
}

static int flavour_check(const struct microvm_wall *w, enum pl_kvm_flavour flavour, char *found, char *remedy)
{
	char name[16];

	if (!flavour) {
		snprintf(found, PL_WALL_TEXT_LEN, "which flavour of KVM this is cannot be told from /sys/module");
		snprintf(remedy, PL_WALL_TEXT_LEN, "have exactly one of kvm_intel, kvm_amd and kvm_pvm loaded");
		return -ENOTSUP;
	}
	if (flavour & w->env->settings->microvm_flavours)
		return 0;
	pl_kvm_flavours_print(flavour, name, sizeof name);
	snprintf(found, PL_WALL_TEXT_LEN, "KVM's flavour here is %s; accepted are %s", name, w->flavours);
	snprintf(remedy, PL_WALL_TEXT_LEN,
		 "name it to accept it: --microvm-flavours %s, PLIMSOLL_MICROVM_FLAVOURS=%s or the option microvm_flavours%s", name, name,
		 flavour == PL_KVM_PVM ? "; pvm has no help of the hardware, see docs/tiers.md" : "");
	return -ENOTSUP;
}

static int machine_check(char *found, char *remedy)
{
	struct utsname names;

	if (uname(&names) < 0 || strcmp(names.machine, "x86_64") == 0)
		return 0;
	snprintf(found, PL_WALL_TEXT_LEN, "the machine wall is built for x86-64; this is %s", names.machine);
	snprintf(remedy, PL_WALL_TEXT_LEN, "use the container wall here");
	return -ENOTSUP;
}

static int wall_look(struct microvm_wall *w, char *found, char *remedy)
{
	enum pl_kvm_flavour flavour;
	const char *lacks = "";
	char name[16];
	int rc = machine_check(found, remedy);

	if (rc < 0)
		return rc;
	w->kvm_fd = pl_kvm_open(&lacks);
	if (w->kvm_fd < 0)
		return device_refused(w->kvm_fd, lacks, found, remedy);
	flavour = pl_kvm_flavour_look();
	rc = flavour_check(w, flavour, found, remedy);
	if (rc < 0)
		return rc;
	if (w->env->host_root) {
		snprintf(found, PL_WALL_TEXT_LEN, "a monitor would have the host's uid 0, since plimsoll is a root without %s",
			 w->env->missing_caps);
		snprintf(remedy, PL_WALL_TEXT_LEN, "give it these, or start it as an ordinary user");
		return -EPERM;
	}
	if (w->env->namespaces_error) {
		snprintf(found, PL_WALL_TEXT_LEN, "namespaces for the monitor cannot be had: %s", w->env->namespaces_found);
		snprintf(remedy, PL_WALL_TEXT_LEN, "%s", w->env->namespaces_remedy);
		return w->env->namespaces_error;
	}
	if (w->env->host_view_error) {
		snprintf(found, PL_WALL_TEXT_LEN, "facts cannot be read from here: %s", w->env->host_view);
		snprintf(remedy, PL_WALL_TEXT_LEN, "run plimsoll in the host's pid namespace, with an unmasked /proc");
		return w->env->host_view_error;
	}
	pl_kvm_flavours_print(flavour, name, sizeof name);
	snprintf(found, PL_WALL_TEXT_LEN, "KVM, flavour %s%s; one machine a run, each in a monitor of its own", name,
		 flavour == PL_KVM_PVM ? " (no help of the hardware)" : "");
	remedy[0] = 0;
	return 0;
}

static void lock_digest_make(struct microvm_wall *w)
{
	struct sock_filter insns[PL_VMM_LOCK_MAX];
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;
	unsigned n = pl_vmm_lock_compile(insns);

	pl_digest_init(&digest);
	pl_digest_bytes(&digest, insns, n * sizeof *insns);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, w->lock_digest);
}

static int wall_start(struct pl_wall_env *env, void **ret_state, char found[PL_WALL_TEXT_LEN], char remedy[PL_WALL_TEXT_LEN])
{
	struct microvm_wall *w = pl_calloc(1, sizeof *w);
	int rc;

	if (!w)
		return -ENOMEM;
	w->env = env;
	w->kvm_fd = -1;
	w->cgroup_memory = env->cgroups && env->cgroups->found[PL_CGROUP_MEMORY].usable;
	w->cgroup_pids = env->cgroups && env->cgroups->found[PL_CGROUP_PIDS].usable;
	snapshot_init(&w->snapshot);
	pl_kvm_flavours_print(env->settings->microvm_flavours, w->flavours, sizeof w->flavours);
	lock_digest_make(w);
	microvm_profile_make(w);
	rc = wall_look(w, found, remedy);
	if (rc < 0) {
		pl_fd_close(&w->kvm_fd);
		pl_free(w);
		return rc;
	}
	*ret_state = w;
	return 0;
}

static void wall_stop(void *state)
{
	struct microvm_wall *w = state;

	snapshot_fini(w);
	pl_fd_close(&w->kvm_fd);
	pl_free(w);
}

static const struct pl_profile *wall_profile(const void *state)
{
	return &((const struct microvm_wall *)state)->profile;
}

/* --- a monitor's jail -------------------------------------------------------------------------------------------------- */

static uint32_t rlimits_fill(const struct microvm_wall *w, uint64_t memory_bytes,
			     struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX])
{
	uint64_t space = memory_bytes + microvm_reserve(memory_bytes);
	uint32_t n = 0;

	if (!w->cgroup_memory && pl_sabotage("limit.memory"))
		space *= 2;
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_CORE, 0, 0 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_NPROC, PL_VMM_TASKS, PL_VMM_TASKS };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_NOFILE, 16, 16 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_FSIZE, 0, 0 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_MEMLOCK, 0, 0 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_STACK, 1ull << 20, 1ull << 20 };
	rlimits[n++] = (struct pl_jail_rlimit){ RLIMIT_AS, space, space };
	return n;
}

int microvm_jail_open(struct microvm_wall *w, const char *argv0, int stream_fd, const int *extra_fds, unsigned extra_n,
		      uint64_t memory_bytes, struct pl_jail *jail, struct plimsoll_error *error)
{
	struct pl_jail_rlimit rlimits[PL_JAIL_RLIMIT_MAX];
	struct pl_cgroup_limits limits = {
		.memory_bytes = (memory_bytes + microvm_reserve(memory_bytes)) * (pl_sabotage("limit.memory") ? 2 : 1),
		.pids = pl_sabotage("limit.pids") ? 64 : pl_sabotage_room(PL_VMM_TASKS),
	};
	struct pl_jail_spec spec = {
		.image = &w->env->vmm,
		.argv0 = argv0,
		.stream_fd = stream_fd,
		.extra_n = extra_n,
		.namespaces = PL_JAIL_NAMESPACES,
		.guest_filter = w->env->vmm_filter,
		.init_filter = w->env->init_filter,
		.rlimits = rlimits,
		.rlimit_n = rlimits_fill(w, memory_bytes, rlimits),
		.cgroup_limits = w->cgroup_memory || w->cgroup_pids ? &limits : NULL,
	};

	memcpy(spec.extra_fds, extra_fds, extra_n * sizeof *extra_fds);
	return pl_jail_open(w->env, &spec, jail, error);
}

int microvm_order_send(int control_fd, enum pl_vmm_mode mode, uint64_t memory_bytes)
{
	struct pl_vmm_order order = { .mode = mode, .memory_bytes = memory_bytes };
	ssize_t n;

	memcpy(order.build_id, PL_BUILD_ID, sizeof order.build_id);
	n = pl_sys_send(control_fd, &order, sizeof order, MSG_DONTWAIT);
	return n == sizeof order ? 0 : n < 0 ? (int)n : -EIO;
}

ssize_t microvm_ready_take(int control_fd, struct pl_vmm_ready *ret, pid_t *ret_pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof *ret };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
	};
	ssize_t n = pl_sys_recvmsg(control_fd, &msg, MSG_DONTWAIT);
	struct ucred cred;

	*ret_pid = 0;
	for (struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof cred);
		*ret_pid = cred.pid;
	}
	if (n == sizeof *ret)
		ret->step[sizeof ret->step - 1] = 0;
	return n;
}

/* --- one machine ------------------------------------------------------------------------------------------------------- */

static void machine_failed(struct microvm *m, int code, const char *what)
{
	struct plimsoll_error error;

	pl_error(&error, code, PLIMSOLL_REASON_ENVIRONMENT, "open machine", "%s", what);
	m->wall->env->failed(m->sandbox, &error);
}

static void machine_report(struct pl_jail *jail, const struct pl_jail_report *report)
{
	struct microvm *m = jail->owner;
	struct plimsoll_error error;

	if (report && report->kind == PL_JAIL_ENDED) {
		m->sandbox->end = (struct pl_end){
			.known = true,
			.wait_status = report->wait_status,
			.cpu_us = report->cpu_us,
			.peak_bytes = report->peak_bytes,
		};
		/* No program can make the monitor do that: it is the monitor itself that is not as it should be. */
		if (WIFSIGNALED(report->wait_status) && WTERMSIG(report->wait_status) == SIGSYS)
			machine_failed(m, PLIMSOLL_ERROR_GUEST, "the machine's monitor made a call that its filter ends it for");
		else
			m->wall->env->ended(m->sandbox);
		return;
	}
	if (report)
		pl_jail_error("microvm", report, &error);
	else
		pl_error(&error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "microvm",
			 "the sandbox's init ended by itself");
	m->wall->env->failed(m->sandbox, &error);
}

static void control_end(struct microvm *m)
{
	int fd = m->control.fd;

	pl_loop_remove(m->wall->env->loop, &m->control);
	pl_fd_close(&fd);
}

/* The statistics are the kernel's own file about that vCPU: borrowed from the monitor, not told by it. */
static void stats_borrow(struct microvm *m, int their_fd)
{
	char want[PL_KVM_ID_SIZE];

	m->stats_fd = pl_sys_pidfd_getfd(m->monitor.pidfd, their_fd);
	m->stats_error = m->stats_fd < 0 ? m->stats_fd : pl_kvm_stats_exits(m->stats_fd, m->stats_id, &m->exits_before);
	snprintf(want, sizeof want, "kvm-%d/vcpu-0", (int)m->monitor.pid);
	if (m->stats_error == 0 && strcmp(want, m->stats_id) != 0)
		m->stats_error = -EXDEV;
}

static void control_ready(struct pl_source *source, uint32_t events)
{
	struct microvm *m = source->owner;
	struct pl_vmm_ready ready;
	pid_t pid;
	ssize_t n = microvm_ready_take(source->fd, &ready, &pid);
	char what[128];
	int rc;

	(void)events;
	if (n == -EAGAIN)
		return;
	control_end(m);
	if (n != sizeof ready)
		return; /* it ended; its init says how */
	if (ready.error) {
		snprintf(what, sizeof what, "the machine's monitor could not %s: %s", ready.step, strerror(-ready.error));
		machine_failed(m, PLIMSOLL_ERROR_ENVIRONMENT, what);
		return;
	}
	rc = pl_proc_pin(pid, -1, &m->monitor);
	if (rc < 0) {
		machine_failed(m, PLIMSOLL_ERROR_ENVIRONMENT, "the machine's monitor could not be held");
		return;
	}
	m->slots_bytes = ready.memory_bytes;
	stats_borrow(m, ready.stats_fd);
	m->wall->env->challenge(m->sandbox);
}

static int control_start(struct microvm *m, int near_fd)
{
	int rc;

	m->control = (struct pl_source){ .fd = -1, .ready = control_ready, .owner = m };
	rc = pl_loop_add(m->wall->env->loop, &m->control, near_fd, EPOLLIN);
	return rc == 0 ? microvm_order_send(near_fd, PL_VMM_RUN, m->sandbox->limits.memory_bytes) : rc;
}

int microvm_begin(struct microvm *m, struct plimsoll_error *error)
{
	struct microvm_wall *w = m->wall;
	int pair[2] = { -1, -1 }, one = 1, rc = pl_sys_socketpair(SOCK_SEQPACKET, pair);

	if (rc == 0)
		rc = pl_sys_setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	if (rc == 0)
		rc = control_start(m, pair[0]);
	if (rc < 0) {
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open machine",
			 "the monitor's control socket could not be made: %s", strerror(-rc));
	} else {
		int extra[] = { pair[1], w->kvm_fd, w->snapshot.fd };

		rc = microvm_jail_open(w, "plimsoll-vmm", m->far_fd, extra, 3, m->sandbox->limits.memory_bytes, &m->jail, error);
		m->jail.owner = m;
		m->jail.report = machine_report;
		m->has_jail = rc == 0;
	}
	if (rc < 0) {
		if (m->control.fd >= 0)
			pl_loop_remove(w->env->loop, &m->control);
		pl_fd_close(&pair[0]);
	}
	pl_fd_close(&pair[1]);
	pl_fd_close(&m->far_fd);
	return rc;
}

static int stream_make(struct microvm *m, struct plimsoll_error *error)
{
	int pair[2] = { -1, -1 }, one = 1, rc = pl_sys_socketpair(SOCK_STREAM, pair);
	struct stat st;

	if (rc == 0)
		rc = pl_sys_fstat(pair[1], &st);
	if (rc == 0)
		rc = pl_sys_setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
	if (rc < 0) {
		pl_fd_close(&pair[0]);
		pl_fd_close(&pair[1]);
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open machine",
				"the stream could not be made: %s", strerror(-rc));
	}
	m->far_fd = pair[1];
	m->sandbox->stream_fd = pair[0];
	m->sandbox->stream_ino = st.st_ino;
	return 0;
}

static int machine_place(struct microvm *m, struct plimsoll_error *error)
{
	struct microvm_wall *w = m->wall;
	int rc;

	snapshot_tend(w);
	if (w->env->vmm.fd < 0 || w->env->vm_image.fd < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open machine",
				"plimsoll-vmm and plimsoll-vm-image beside plimsoll-supervisor cannot be used; install the whole build");
	rc = stream_make(m, error);
	if (rc == 0 && w->snapshot.state == SNAPSHOT_READY)
		return microvm_begin(m, error);
	if (rc == 0)
		rc = snapshot_want(w, error);
	if (rc == 0) {
		m->next_waiting = w->snapshot.waiting;
		w->snapshot.waiting = m;
	}
	return rc;
}

static int machine_open(void *state, struct pl_sandbox *sandbox, struct plimsoll_error *error)
{
	struct microvm *m = pl_calloc(1, sizeof *m);
	int rc;

	if (!m)
		return pl_error(error, -ENOMEM, PLIMSOLL_REASON_ENVIRONMENT, "open machine", "no memory for a machine");
	*m = (struct microvm){ .wall = state, .sandbox = sandbox, .far_fd = -1, .stats_fd = -1, .monitor = PL_PROC_NONE };
	m->control.fd = -1;
	rc = machine_place(m, error);
	if (rc < 0) {
		pl_fd_close(&m->far_fd);
		pl_fd_close(&sandbox->stream_fd);
		pl_free(m);
		return rc;
	}
	sandbox->own = m;
	sandbox->challenge_later = true;
	return 0;
}

/* The second reading of the exits: the machine has answered, so it must have left the processor since it was challenged. */
static int machine_pin(struct pl_sandbox *sandbox, pid_t speaker, struct plimsoll_error *error)
{
	struct microvm *m = sandbox->own;

	if (!m->monitor.pid || speaker != m->monitor.pid)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "pin guest",
				"the challenge was not answered by the monitor that was ready");
	if (m->stats_error == 0)
		m->stats_error = pl_kvm_stats_exits(m->stats_fd, m->stats_id, &m->exits_after);
	return 0;
}

/* Memory was set when it was opened, and cannot be changed. */
static int machine_limit(struct pl_sandbox *sandbox)
{
	struct microvm *m = sandbox->own;

	return pl_sabotage("limit.cpu") ? 0 : pl_jail_limit(&m->jail, &m->monitor, RLIMIT_CPU, sandbox->limits.cpu_seconds);
}

static void machine_measure(struct pl_sandbox *sandbox, enum pl_phase phase, bool gone, struct pl_fact *facts)
{
	struct microvm *m = sandbox->own;
	struct pl_reading_tables tables;
	struct pl_reading reading = {
		.sandbox = sandbox, .jail = &m->jail, .guest = &m->monitor, .parent = &m->jail.init, .gone = gone, .phase = phase,
	};

	pl_reading_take(&reading, &tables);
	pl_readers_run(m->wall->readers, m->wall->profile.specs_n, &reading, facts);
}

static bool machine_alive(const struct pl_sandbox *sandbox)
{
	const struct microvm *m = sandbox->own;

	return pl_proc_alive(&m->monitor);
}

/* The monitor takes its vCPU off the processor, hands on what the machine had said, and stops. */
static int machine_halt(struct pl_sandbox *sandbox)
{
	struct microvm *m = sandbox->own;

	m->halted_us = pl_now_us();
	return pl_sys_pidfd_send_signal(m->monitor.pidfd, SIGALRM);
}

static bool machine_halted(const struct pl_sandbox *sandbox)
{
	struct microvm *m = sandbox->own;
	struct pl_proc_status status;

	if (!pl_proc_alive(&m->monitor) || (pl_proc_status(&m->monitor, &status) == 0 && status.state == 'T'))
		return true;
	if (!m->stopped && pl_now_us() - m->halted_us > STOP_US)
		m->stopped = pl_sys_pidfd_send_signal(m->monitor.pidfd, SIGSTOP) == 0;
	return false;
}

static void machine_usage(const struct pl_sandbox *sandbox, int64_t *ret_cpu_us, uint64_t *ret_peak_bytes)
{
	const struct microvm *m = sandbox->own;
	struct pl_proc_status status;

	*ret_cpu_us = pl_proc_cpu_us(&m->monitor);
	*ret_peak_bytes = pl_proc_status(&m->monitor, &status) == 0 ? status.peak_bytes : 0;
}

static bool machine_out_of_memory(const struct pl_sandbox *sandbox)
{
	const struct microvm *m = sandbox->own;
	uint64_t kills = 0;

	return m->jail.has_cgroup && pl_cgroup_oom_kills(&m->jail.cgroup, &kills) == 0 && kills > 0;
}

static void waiting_remove(struct microvm *m)
{
	struct microvm **at = &m->wall->snapshot.waiting;

	while (*at && *at != m)
		at = &(*at)->next_waiting;
	if (*at)
		*at = m->next_waiting;
}

static void machine_kill(struct pl_sandbox *sandbox)
{
	struct microvm *m = sandbox->own;

	waiting_remove(m);
	if (!m->has_jail)
		return;
	m->jail.report = NULL; /* what happens from now on is our doing */
	pl_jail_kill(&m->jail);
}

static bool machine_release(struct pl_sandbox *sandbox)
{
	struct microvm *m = sandbox->own;

	if (m->has_jail && !pl_jail_release(&m->jail))
		return false;
	snapshot_tend(m->wall);
	if (m->control.fd >= 0)
		control_end(m);
	pl_fd_close(&m->far_fd);
	pl_fd_close(&m->stats_fd);
	pl_proc_unpin(&m->monitor);
	pl_free(m);
	sandbox->own = NULL;
	return true;
}

const struct pl_wall pl_wall_microvm = {
	.name = "microvm",
	.tier = PLIMSOLL_TIER_VM,
	.memory_fixed = true,
	.start = wall_start,
	.stop = wall_stop,
	.profile = wall_profile,
	.open = machine_open,
	.pin = machine_pin,
	.limit = machine_limit,
	.measure = machine_measure,
	.alive = machine_alive,
	.halt = machine_halt,
	.halted = machine_halted,
	.usage = machine_usage,
	.out_of_memory = machine_out_of_memory,
	.kill = machine_kill,
	.release = machine_release,
};
