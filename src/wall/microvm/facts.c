/* SPDX-License-Identifier: Apache-2.0 */
/* facts: what the tier vm rests on. The monitor is measured as any jailed guest is; the kernel says that its machine runs, and the
 * supervisor itself made and sealed what runs in it. */
#include "base/text.h"
#include "linux/seccomp.h"
#include "linux/sys.h"
#include "wall/microvm/microvm.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* A thread that the kernel made inside a process of its own accord (include/linux/sched.h); no program can set it. */
#define PF_USER_WORKER 0x4000ul
#define MAPS_MAX (64u * 1024u)

static struct microvm *machine_of(const struct pl_reading *r)
{
	return r->sandbox->own;
}

/* --- descent ----------------------------------------------------------------------------------------------------------- */

/* Whether the task's stat says so: flags are the ninth field, the second may hold anything between brackets. */
static bool kernel_worker(const struct pl_proc *proc, const char *task)
{
	char name[64], text[1024], *at;
	unsigned long flags;

	snprintf(name, sizeof name, "task/%.20s/stat", task);
	if (pl_proc_file(proc, name, text, sizeof text) < 0)
		return false;
	at = strrchr(text, ')');
	for (int i = 0; at && i < 7; i++)
		at = strchr(at + 1, ' ');
	flags = at ? strtoul(at, NULL, 10) : 0;
	return flags & PF_USER_WORKER;
}

/* How many tasks the process has that are its own, or -errno. */
static int own_tasks(const struct pl_proc *proc)
{
	int fd = pl_sys_openat(proc->dirfd, "task", O_RDONLY | O_DIRECTORY, 0), n = 0;
	struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !kernel_worker(proc, entry->d_name))
			n++;
	closedir(dir);
	return n;
}

/* As far as two: one, none and more are what matters. */
static int children_count(const struct pl_proc *proc, pid_t ret[2])
{
	int n = pl_proc_children(proc, ret, 2);

	return n == -E2BIG ? 2 : n;
}

static void read_descent(const struct pl_reading *r, struct pl_fact *f)
{
	pid_t children[2], none[2];
	int n = children_count(&r->jail->init, children), own = children_count(r->guest, none), tasks;

	pl_fact_reference(f, "supervisor > init > monitor, one task, no other child");
	if (n < 0 || own < 0 || r->init_error || r->guest_error) {
		pl_fact_failed(f, n < 0 ? n : own < 0 ? own : r->init_error ? r->init_error : r->guest_error);
		return;
	}
	tasks = r->guest_status.threads == 1 ? 1 : own_tasks(r->guest);
	if (tasks < 0) {
		pl_fact_failed(f, tasks);
		return;
	}
	pl_fact_value(f, "%s > init > %smonitor%s%s", r->init_status.ppid == getpid() ? "supervisor" : "somebody",
		      r->guest_status.ppid == r->jail->init.pid ? "" : "somebody > ", tasks == 1 ? ", one task" : ", more tasks",
		      n == 1 && children[0] == r->guest->pid && own == 0 ? ", no other child" : ", another child");
}

/* --- programs and the machine's image ---------------------------------------------------------------------------------- */

static void read_monitor(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_image(r->guest, &r->jail->env->vmm, f);
}

/* The line of /proc/PID/maps that maps the snapshot's file from its start, as long as it is. */
static bool maps_has(char *maps, const struct snapshot *s)
{
	char want[64], *rest = maps, *line;

	snprintf(want, sizeof want, " rw-p 00000000 %02x:%02x %lu ", major(s->dev), minor(s->dev), (unsigned long)s->ino);
	while ((line = strsep(&rest, "\n")) && *line) {
		char *end;
		uint64_t from = strtoull(line, &end, 16), to = *end == '-' ? strtoull(end + 1, NULL, 16) : 0;

		if (strstr(line, want) && to - from == s->len)
			return true;
	}
	return false;
}

static void read_guest_image(const struct pl_reading *r, struct pl_fact *f)
{
	static char maps[MAPS_MAX];
	const struct snapshot *s = &machine_of(r)->wall->snapshot;
	ssize_t n = pl_proc_file(r->guest, "maps", maps, sizeof maps);

	pl_fact_reference(f, "sha256:%s", s->digest);
	if (n < 0)
		pl_fact_failed(f, (int)n);
	else if (maps_has(maps, s))
		pl_fact_value(f, "sha256:%s", s->digest); /* sealed when it was hashed */
	else
		pl_fact_value(f, "other memory");
}

static void read_vm_image(const struct pl_reading *r, struct pl_fact *f)
{
	const struct microvm_wall *w = machine_of(r)->wall;
	int image = (int)PL_SYS("fcntl", fcntl(w->env->vm_image.fd, F_GET_SEALS));
	int snapshot = (int)PL_SYS("fcntl", fcntl(w->snapshot.fd, F_GET_SEALS));

	pl_fact_reference(f, "image sha256:%s, snapshot sha256:%s, both sealed", w->env->vm_image.digest, w->snapshot.digest);
	if (image < 0 || snapshot < 0)
		pl_fact_failed(f, image < 0 ? image : snapshot);
	else
		pl_fact_value(f, "image sha256:%s, snapshot sha256:%s, %s", w->env->vm_image.digest, w->snapshot.digest,
			      image & snapshot & F_SEAL_WRITE ? "both sealed" : "not sealed");
}

static void read_vm_memory(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_value(f, "%" PRIu64 " bytes in all slots, as the monitor says", machine_of(r)->slots_bytes);
}

/* --- KVM --------------------------------------------------------------------------------------------------------------- */

static void read_kvm_exits(const struct pl_reading *r, struct pl_fact *f)
{
	const struct microvm *m = machine_of(r);

	pl_fact_reference(f, "rose between challenge and hello");
	if (m->stats_error == -EXDEV)
		pl_fact_value(f, "statistics of another process's machine");
	else if (m->stats_error)
		pl_fact_failed(f, m->stats_error);
	else
		pl_fact_value(f, "%s", m->exits_after > m->exits_before ? "rose between challenge and hello" : "did not rise");
}

static void read_kvm_flavour(const struct pl_reading *r, struct pl_fact *f)
{
	const struct microvm_wall *w = machine_of(r)->wall;
	enum pl_kvm_flavour flavour = pl_kvm_flavour_look();
	char name[16];

	pl_kvm_flavours_print(flavour, name, sizeof name);
	pl_fact_value(f, "%s", flavour ? name : "cannot be told");
	pl_fact_reference(f, "%s", flavour & w->env->settings->microvm_flavours ? name : w->flavours);
}

/* --- filter, limits, descriptors --------------------------------------------------------------------------------------- */

static int filter_print(pid_t pid, unsigned which, unsigned *ret_n, char hex[PL_SHA256_HEX_SIZE])
{
	static struct sock_filter insns[PL_JAIL_FILTER_MAX];
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;
	int n = pl_seccomp_dump_at(pid, which, insns, PL_JAIL_FILTER_MAX, ret_n);

	if (n < 0)
		return n;
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, insns, (size_t)n * sizeof *insns);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, hex);
	return 0;
}

/* Two of them: the launcher's, and on top the monitor's own. */
static void read_seccomp(const struct pl_reading *r, struct pl_fact *f)
{
	char first[PL_SHA256_HEX_SIZE], second[PL_SHA256_HEX_SIZE];
	unsigned n = 0;
	int rc;

	if (!r->jail->env->can_dump) {
		pl_read_seccomp(r, f);
		return;
	}
	pl_fact_reference(f, "2 filters, sha256:%s, sha256:%s", r->jail->env->vmm_filter_digest, machine_of(r)->wall->lock_digest);
	rc = filter_print(r->guest->pid, 0, &n, first);
	if (rc == 0 && n == 2)
		rc = filter_print(r->guest->pid, 1, &n, second);
	if (rc < 0 && rc != -ENOENT)
		pl_fact_failed(f, rc);
	else if (rc == -ENOENT || n != 2)
		pl_fact_value(f, "%u filters", n);
	else
		pl_fact_value(f, "2 filters, sha256:%s, sha256:%s", first, second);
}

static uint64_t memory_wanted(const struct pl_reading *r)
{
	uint64_t bytes = r->sandbox->limits.memory_bytes;

	return bytes + microvm_reserve(bytes);
}

static void read_limit_memory_cgroup(const struct pl_reading *r, struct pl_fact *f)
{
	uint64_t bytes = 0;
	int rc = r->jail->has_cgroup ? pl_cgroup_get_memory(&r->jail->cgroup, &bytes) : -ENOENT;

	pl_fact_reference(f, "cgroup %" PRIu64, memory_wanted(r));
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "cgroup %" PRIu64, bytes);
}

static void rlimit_read(const struct pl_reading *r, int resource, const char *name, uint64_t want, struct pl_fact *f)
{
	struct rlimit limit;
	int rc = r->gone ? -ESRCH : pl_sys_prlimit(r->guest->pid, resource, NULL, &limit);

	pl_fact_reference(f, "%s %" PRIu64 " %" PRIu64, name, want, want);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "%s %" PRIu64 " %" PRIu64, name, (uint64_t)limit.rlim_cur, (uint64_t)limit.rlim_max);
}

static void read_limit_memory_as(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, RLIMIT_AS, "RLIMIT_AS", memory_wanted(r), f);
}

static void read_limit_pids_cgroup(const struct pl_reading *r, struct pl_fact *f)
{
	uint64_t n = 0;
	int rc = r->jail->has_cgroup ? pl_cgroup_get_pids(&r->jail->cgroup, &n) : -ENOENT;

	pl_fact_reference(f, "cgroup %u", PL_VMM_TASKS);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "cgroup %" PRIu64, n);
}

static void read_limit_nproc(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, RLIMIT_NPROC, "RLIMIT_NPROC", PL_VMM_TASKS, f);
}

/* By number as the monitor came to open them; /dev/kvm, the machine's own descriptor and the snapshot are closed. */
static void read_fd_open(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_fds(r, "0 stream, 2 anon_inode:kvm-vcpu:0, 3 anon_inode:kvm-vcpu-stats:0", f);
}

/* --- the table --------------------------------------------------------------------------------------------------------- */

#define HOST(name, predicate, expected, after, hidden, reader)                                                         \
	{ { name, PL_FACT_HOST, true, predicate, expected, after, hidden }, reader }
#define STATED(name, source, expected, reader)                                                                         \
	{ { name, source, false, PL_STATED, expected, PL_AFTER_FIXED, false }, reader }
#define PRIVATE_TEXT "made by our own clone, the same for init and monitor, not the supervisor's, no other sandbox's"
#define ID_TEXT "equals the host id that was reserved for this sandbox, in all four places"

static const struct pl_reader table[] = {
	HOST("host.view", PL_EQUAL, "equals the initial pid namespace with an unmasked /proc", PL_AFTER_FIXED, false,
	     pl_read_host_view),
	HOST("descent", PL_EQUAL,
	     "the monitor is init's only child, init is the supervisor's, each has one task (and the kernel's own, if any)",
	     PL_AFTER_TASK, false, read_descent),
	HOST("guest.image", PL_EQUAL, "equals the digest of the snapshot, whose file the machine's memory starts from",
	     PL_AFTER_FIXED, false, read_guest_image),
	HOST("monitor.digest", PL_EQUAL, "equals the digest of the monitor recorded at start", PL_AFTER_TASK, false, read_monitor),
	HOST("launcher.digest", PL_EQUAL, "equals the digest of the launcher recorded at start", PL_AFTER_SAME, false,
	     pl_read_launcher_digest),
	HOST("ns.pid", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_pid),
	HOST("ns.mnt", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_mnt),
	HOST("ns.net", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_net),
	HOST("ns.ipc", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_ipc),
	HOST("ns.uts", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_uts),
	HOST("ns.user", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_user),
	HOST("ns.cgroup", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_cgroup),
	HOST("ns.time", PL_PRIVATE, PRIVATE_TEXT, PL_AFTER_SAME, true, pl_read_ns_time),
	HOST("cred.uid", PL_EQUAL, ID_TEXT, PL_AFTER_TASK, true, pl_read_cred_uid),
	HOST("cred.gid", PL_EQUAL, ID_TEXT, PL_AFTER_TASK, true, pl_read_cred_gid),
	HOST("cred.groups", PL_EQUAL, "no supplementary group", PL_AFTER_TASK, true, pl_read_cred_groups),
	HOST("cred.caps", PL_EQUAL, "all five capability sets are empty", PL_AFTER_TASK, false, pl_read_cred_caps),
	HOST("cred.no_new_privs", PL_EQUAL, "equals 1", PL_AFTER_TASK, false, pl_read_cred_nnp),
	HOST("cred.tracer", PL_EQUAL, "nobody traces the monitor", PL_AFTER_TASK, false, pl_read_cred_tracer),
	HOST("cred.init", PL_EQUAL, "init has no capability, no_new_privs, a filter and one task", PL_AFTER_SAME, false,
	     pl_read_cred_init),
	HOST("seccomp", PL_EQUAL, "the loaded filters equal the launcher's and the monitor's own, and there is no other",
	     PL_AFTER_FIXED, false, read_seccomp),
	HOST("limit.memory", PL_EQUAL, "equals the request's memory limit and the monitor's reserve, held by a cgroup",
	     PL_AFTER_SAME, false, read_limit_memory_cgroup),
	HOST("limit.pids", PL_EQUAL, "equals 3 (init, monitor and the kernel's own), held by a cgroup", PL_AFTER_SAME, false,
	     read_limit_pids_cgroup),
	HOST("limit.cpu", PL_EQUAL, "equals the request's deadline in whole seconds and two, held by RLIMIT_CPU", PL_AFTER_TASK,
	     false, pl_read_limit_cpu),
	HOST("fd.open", PL_EQUAL, "equals the stream, the vCPU and its statistics", PL_AFTER_TASK, false, read_fd_open),
	HOST("stream.holders", PL_EQUAL, "the monitor holds the stream once, init does not", PL_AFTER_TASK, false,
	     pl_read_stream_holders),
	HOST("kvm.exits", PL_EQUAL, "the kernel's count of the vCPU's exits rose between challenge and hello", PL_AFTER_FIXED,
	     false, read_kvm_exits),
	HOST("kvm.flavour", PL_EQUAL, "is one of the accepted flavours", PL_AFTER_FIXED, false, read_kvm_flavour),
	HOST("vm.image", PL_EQUAL, "equals the digests of image and snapshot recorded when they were sealed", PL_AFTER_FIXED, false,
	     read_vm_image),
	STATED("vm.memory", PL_FACT_RUNTIME, "stated: the request's memory limit", read_vm_memory),
	STATED("landlock", PL_FACT_GUEST, "stated: the monitor saw a file denied", pl_read_landlock),
	STATED("guest.dumpable", PL_FACT_GUEST, "stated: 0", pl_read_dumpable),
};

static void reader_change(struct microvm_wall *w, const char *name, const char *expected, enum pl_after after,
			  void (*read)(const struct pl_reading *, struct pl_fact *))
{
	for (size_t i = 0; i < w->profile.specs_n; i++) {
		if (strcmp(w->readers[i].spec.name, name) != 0)
			continue;
		w->readers[i].spec.expected = expected;
		w->readers[i].spec.after = after;
		if (read)
			w->readers[i].read = read;
	}
}

void microvm_profile_make(struct microvm_wall *w)
{
	memcpy(w->readers, table, sizeof table);
	w->profile = (struct pl_profile){
		.wall = "microvm", .tier = PLIMSOLL_TIER_VM, .specs = w->specs, .specs_n = sizeof table / sizeof *table,
	};
	snprintf(w->expected_flavour, sizeof w->expected_flavour, "is one of the accepted flavours: %s", w->flavours);
	reader_change(w, "kvm.flavour", w->expected_flavour, PL_AFTER_FIXED, NULL);
	if (!w->cgroup_memory)
		reader_change(w, "limit.memory", "equals the request's memory limit and the monitor's reserve, held by RLIMIT_AS",
			      PL_AFTER_TASK, read_limit_memory_as);
	if (!w->cgroup_pids)
		reader_change(w, "limit.pids", "equals 3 (init, monitor and the kernel's own) in its user namespace, held by RLIMIT_NPROC",
			      PL_AFTER_TASK, read_limit_nproc);
	if (!w->env->root) {
		reader_change(w, "cred.uid", "equals the caller's own id (without subordinate ids it can map no other)",
			      PL_AFTER_TASK, NULL);
		reader_change(w, "cred.gid", "equals the caller's own id (without subordinate ids it can map no other)",
			      PL_AFTER_TASK, NULL);
		reader_change(w, "cred.groups", "equals the caller's own groups, which an ordinary user cannot drop", PL_AFTER_TASK,
			      NULL);
	}
	if (!w->env->can_dump)
		reader_change(w, "seccomp", "filters are loaded and the monitor saw each of at least 12 calls denied", PL_AFTER_FIXED,
			      NULL);
	for (size_t i = 0; i < w->profile.specs_n; i++)
		w->specs[i] = w->readers[i].spec;
}
