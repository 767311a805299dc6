/* SPDX-License-Identifier: Apache-2.0 */
/* measure: see measure.h. Everything here is read from outside the sandbox through pinned descriptors, but for the two facts
 * whose source is the guest, which no tier rests on. */
#include "wall/jail/measure.h"

#include "base/digest.h"
#include "base/text.h"
#include "linux/seccomp.h"
#include "linux/sys.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fewest denied calls that stand for a filter where it cannot be dumped (contract.md, 3). */
#define PROBES_MIN 12u

static void text_set(char *ret, size_t size, const char *format, va_list args, struct pl_fact *fact)
{
	int n = vsnprintf(ret, size, format, args);

	if (n < 0 || (size_t)n >= size)
		fact->error = -E2BIG;
}

void pl_fact_value(struct pl_fact *fact, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_set(fact->value, sizeof fact->value, format, args, fact);
	va_end(args);
}

void pl_fact_reference(struct pl_fact *fact, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_set(fact->reference, sizeof fact->reference, format, args, fact);
	va_end(args);
}

void pl_fact_failed(struct pl_fact *fact, int error)
{
	fact->error = error;
}

void pl_reading_take(struct pl_reading *r, struct pl_reading_tables *tables)
{
	tables->mounts_read = tables->descriptors_read = false;
	r->tables = tables;
	r->init_error = pl_proc_status(&r->jail->init, &r->init_status);
	r->guest_error = r->gone ? -ESRCH : pl_proc_status(r->guest, &r->guest_status);
	r->limits_error = r->gone ? -ESRCH : pl_proc_file(r->guest, "limits", r->limits, sizeof r->limits);
}

void pl_readers_run(const struct pl_reader *readers, size_t n, const struct pl_reading *reading, struct pl_fact *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct pl_fact_spec *spec = &readers[i].spec;

		if (reading->phase != PL_PHASE_OPEN && spec->after == PL_AFTER_FIXED)
			continue;
		if (reading->gone && spec->after == PL_AFTER_TASK)
			continue;
		memset(&ret[i], 0, sizeof ret[i]);
		readers[i].read(reading, &ret[i]);
	}
}

/* Sandbox facts are read on the guest while it lives and on init, which is in the same namespaces, when it does not. */
static const struct pl_proc *subject(const struct pl_reading *r)
{
	return r->gone ? &r->jail->init : r->guest;
}

void pl_read_host_view(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_value(f, "%s", r->jail->env->host_view);
	pl_fact_reference(f, "initial pid namespace, /proc unmasked");
	if (r->jail->env->host_view_error)
		pl_fact_failed(f, r->jail->env->host_view_error);
}

void pl_read_host_task(const struct pl_reading *r, struct pl_fact *f)
{
	char want[PL_TASK_NAME_LEN + 1];

	pl_task_name(r->sandbox->gate.challenge, want);
	pl_fact_reference(f, "%s", want);
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		pl_fact_value(f, "%s", r->guest_status.name);
}

/* How many children proc has, as far as two: one, none and more are what matters. */
static int children_count(const struct pl_proc *proc, pid_t ret[2])
{
	int n = pl_proc_children(proc, ret, 2);

	return n == -E2BIG ? 2 : n;
}

/* supervisor > init > [zygote >] guest, and nobody else below init or the guest. For the process wall init's only child is the
 * zygote, whose children are the workers. */
void pl_read_descent(const struct pl_reading *r, struct pl_fact *f)
{
	pid_t children[2], none[2];
	int n = children_count(&r->jail->init, children), own = children_count(r->guest, none);
	bool zygote = r->parent != &r->jail->init;
	pid_t only = zygote ? r->parent->pid : r->guest->pid;

	pl_fact_reference(f, "supervisor > init > %sguest, one task, no other child", zygote ? "zygote > " : "");
	if (n < 0 || own < 0 || r->init_error || r->guest_error) {
		pl_fact_failed(f, n < 0 ? n : own < 0 ? own : r->init_error ? r->init_error : r->guest_error);
		return;
	}
	pl_fact_value(f, "%s > init > %sguest%s%s", r->init_status.ppid == getpid() ? "supervisor" : "somebody",
		      r->guest_status.ppid == r->parent->pid ? zygote ? "zygote > " : "" : "somebody > ",
		      r->guest_status.threads == 1 ? ", one task" : ", more tasks",
		      n == 1 && children[0] == only && own == 0 ? ", no other child" : ", another child");
}

void pl_read_image(const struct pl_proc *proc, const struct pl_image *image, struct pl_fact *f)
{
	dev_t dev;
	ino_t ino;
	int rc = pl_proc_exe(proc, &dev, &ino);

	pl_fact_reference(f, "sha256:%s", image->digest);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else if (dev == image->dev && ino == image->ino)
		pl_fact_value(f, "sha256:%s", image->digest); /* sealed when it was hashed: the same inode is the same bytes */
	else
		pl_fact_value(f, "another file");
}

void pl_read_guest_image(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_image(r->guest, &r->jail->env->guest, f);
}

void pl_read_worker_image(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_image(r->guest, &r->jail->env->worker, f);
}

void pl_read_launcher_digest(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_image(&r->jail->init, &r->jail->env->launch, f);
}

/* Compared with what our clone made at init's birth. A namespace that is new differs from every one that lives: so these differ
 * from those of every other sandbox, whose own were new in their turn. Their numbers are not compared, since the kernel gives
 * the number of one that has ended to the next one at once, before anybody could know that it has ended. */
static void ns_read(const struct pl_reading *r, int ns, struct pl_fact *f)
{
	uint64_t guest, init;
	int rc = pl_proc_ns(subject(r), ns, &guest);

	/* On the way out of the pool init is what it was: it has one task, which its filter lets do nothing but wait. */
	init = guest;
	if (rc == 0 && r->phase != PL_PHASE_PASS)
		rc = pl_proc_ns(&r->jail->init, ns, &init);
	if (rc < 0) {
		pl_fact_failed(f, rc);
		return;
	}
	f->foreign = &r->jail->env->own_ns[ns];
	f->foreign_n = 1;
	if (guest == init)
		pl_fact_value(f, "%" PRIu64, guest);
	else
		pl_fact_value(f, "guest %" PRIu64 ", init %" PRIu64, guest, init);
	if (r->jail->ns[ns])
		pl_fact_reference(f, "%" PRIu64, r->jail->ns[ns]);
	else
		pl_fact_reference(f, "not made by our clone");
}

#define NS_READER(lower, UPPER)                                                                                        \
	void pl_read_ns_##lower(const struct pl_reading *r, struct pl_fact *f)                                             \
	{                                                                                                                  \
		ns_read(r, PL_NS_##UPPER, f);                                                                                  \
	}
NS_READER(pid, PID)
NS_READER(mnt, MNT)
NS_READER(net, NET)
NS_READER(ipc, IPC)
NS_READER(uts, UTS)
NS_READER(user, USER)
NS_READER(cgroup, CGROUP)
NS_READER(time, TIME)

static void ids_read(const struct pl_reading *r, const uint32_t ids[4], uint32_t want, struct pl_fact *f)
{
	pl_fact_reference(f, "%u %u %u %u", want, want, want, want);
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		pl_fact_value(f, "%u %u %u %u", ids[0], ids[1], ids[2], ids[3]);
}

void pl_read_cred_uid(const struct pl_reading *r, struct pl_fact *f)
{
	ids_read(r, r->guest_status.uids, r->jail->id_first ? r->jail->id_first + 1 : geteuid(), f);
}

void pl_read_cred_gid(const struct pl_reading *r, struct pl_fact *f)
{
	ids_read(r, r->guest_status.gids, r->jail->id_first ? r->jail->id_first + 1 : getegid(), f);
}

void pl_read_cred_groups(const struct pl_reading *r, struct pl_fact *f)
{
	const char *want = r->jail->env->root ? "" : r->jail->env->own_groups;

	pl_fact_reference(f, "groups: %s", want);
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		pl_fact_value(f, "groups: %s", r->guest_status.groups);
}

static void caps_print(const struct pl_proc_status *s, struct pl_fact *f)
{
	pl_fact_value(f, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64, s->caps[0], s->caps[1], s->caps[2],
		      s->caps[3], s->caps[4]);
}

void pl_read_cred_caps(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_reference(f, "0 0 0 0 0");
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		caps_print(&r->guest_status, f);
}

void pl_read_cred_nnp(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_reference(f, "1");
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		pl_fact_value(f, "%d", r->guest_status.no_new_privs);
}

void pl_read_cred_tracer(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_reference(f, "none");
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		pl_fact_value(f, "%s", r->guest_status.tracer ? "traced" : "none");
}

void pl_read_cred_init(const struct pl_reading *r, struct pl_fact *f)
{
	const struct pl_proc_status *s = &r->init_status;

	pl_fact_reference(f, "capabilities 0 0 0 0 0, no_new_privs 1, seccomp 2, one task");
	if (r->init_error)
		pl_fact_failed(f, r->init_error);
	else
		pl_fact_value(f,
			      "capabilities %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64
			      ", no_new_privs %d, seccomp %d, %s",
			      s->caps[0], s->caps[1], s->caps[2], s->caps[3], s->caps[4], s->no_new_privs, s->seccomp_mode,
			      s->threads == 1 ? "one task" : "more tasks");
}

static void filter_dump(const struct pl_reading *r, struct pl_fact *f)
{
	static struct sock_filter insns[PL_JAIL_FILTER_MAX];
	uint8_t bytes[PL_SHA256_LEN];
	char hex[PL_SHA256_HEX_SIZE];
	struct pl_digest digest;
	unsigned filters = 0;
	int n = pl_seccomp_dump(r->guest->pid, insns, PL_JAIL_FILTER_MAX, &filters);

	pl_fact_reference(f, "one filter, sha256:%s", r->jail->env->guest_filter_digest);
	if (n == -ENOENT) {
		pl_fact_value(f, "no filter");
		return;
	}
	if (n < 0) {
		pl_fact_failed(f, n);
		return;
	}
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, insns, (size_t)n * sizeof *insns);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, hex);
	pl_fact_value(f, "%s, sha256:%s", filters == 1 ? "one filter" : filters ? "more filters" : "no filter", hex);
}

void pl_read_seccomp(const struct pl_reading *r, struct pl_fact *f)
{
	const struct pl_hello *h = &r->sandbox->hello;

	if (r->jail->env->can_dump) {
		filter_dump(r, f);
		return;
	}
	pl_fact_reference(f, "mode 2, one filter more than ours, every probe denied");
	if (r->guest_error)
		pl_fact_failed(f, r->guest_error);
	else
		/* What we run under ourselves, the guest inherits: that filter's denials must not pass for those of ours. */
		pl_fact_value(f, "mode %d, %s, %s", r->guest_status.seccomp_mode,
			      r->guest_status.seccomp_filters == r->jail->env->own_filters + 1 ? "one filter more than ours"
											       : "another number of filters",
			      h->probes_tried >= PROBES_MIN && h->probes_denied == h->probes_tried ? "every probe denied"
											   : "a probe was not denied");
}

void pl_read_landlock(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_value(f, "%s", r->sandbox->hello.landlock_denied ? "denied a file" : "not seen to deny");
}

void pl_read_dumpable(const struct pl_reading *r, struct pl_fact *f)
{
	pl_fact_value(f, "%u", r->sandbox->hello.dumpable);
}

/* A group's limit is the sandbox's only as long as its processes are in that group. */
static int members_read(const struct pl_reading *r, enum pl_cgroup_controller controller, const char **ret)
{
	bool init = false, guest = r->gone, others = false;
	pid_t tasks[3];
	int n = pl_cgroup_tasks(&r->jail->cgroup, controller, tasks, 3);

	for (int i = 0; i < n && i < 3; i++) {
		if (tasks[i] == r->jail->init.pid)
			init = true;
		else if (!r->gone && tasks[i] == r->guest->pid)
			guest = true;
		else
			others = true;
	}
	*ret = others ? "with others in it" : init && guest ? "with the sandbox in it" : "without the sandbox in it";
	return n < 0 ? n : 0;
}

void pl_read_limit_cgroup_memory(const struct pl_reading *r, struct pl_fact *f)
{
	const char *members = "";
	uint64_t bytes = 0, swap = 0;
	int rc = r->jail->has_cgroup ? pl_cgroup_get_memory(&r->jail->cgroup, &bytes) : -ENOENT;

	if (rc == 0 && r->jail->cgroup.swap_held)
		rc = pl_cgroup_get_swap(&r->jail->cgroup, &swap);
	if (rc == 0)
		rc = members_read(r, PL_CGROUP_MEMORY, &members);
	pl_fact_reference(f, "cgroup %" PRIu64 ", swap 0, with the sandbox in it", r->sandbox->limits.memory_bytes);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "cgroup %" PRIu64 ", swap %" PRIu64 ", %s", bytes, swap, members);
}

void pl_read_limit_cgroup_pids(const struct pl_reading *r, struct pl_fact *f)
{
	const char *members = "";
	uint64_t n = 0;
	int rc = r->jail->has_cgroup ? pl_cgroup_get_pids(&r->jail->cgroup, &n) : -ENOENT;

	if (rc == 0)
		rc = members_read(r, PL_CGROUP_PIDS, &members);
	pl_fact_reference(f, "cgroup 2, with the sandbox in it");
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "cgroup %" PRIu64 ", %s", n, members);
}

/* One line of /proc/PID/limits: a name of words, then two columns. Read through the pinned folder and for everybody to read,
 * where prlimit goes by number and asks for rights. */
static int rlimit_find(const struct pl_reading *r, const char *name, char ret[64])
{
	const char *line = strstr(r->limits, name);
	char soft[24], hard[24];

	if (r->limits_error < 0)
		return (int)r->limits_error;
	if (!line || sscanf(line + strlen(name), "%23s %23s", soft, hard) != 2)
		return -ENODATA;
	snprintf(ret, 64, "%s %s", soft, hard);
	return 0;
}

static void rlimit_read(const struct pl_reading *r, const char *line, const char *name, uint64_t want, struct pl_fact *f)
{
	char values[64];
	int rc = rlimit_find(r, line, values);

	pl_fact_reference(f, "%s %" PRIu64 " %" PRIu64, name, want, want);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "%s %s", name, values);
}

void pl_read_limit_as(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, "Max address space", "RLIMIT_AS", r->sandbox->limits.memory_bytes, f);
}

void pl_read_limit_data(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, "Max data size", "RLIMIT_DATA", r->sandbox->limits.memory_bytes, f);
}

void pl_read_limit_nproc(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, "Max processes", "RLIMIT_NPROC", 1, f);
}

void pl_read_limit_cpu(const struct pl_reading *r, struct pl_fact *f)
{
	rlimit_read(r, "Max cpu time", "RLIMIT_CPU", r->sandbox->limits.cpu_seconds, f);
}

/* One line of mountinfo: the fifth field is where, the sixth how; after " - " come type, source and the file system's own
 * options. What is not as expected in any part ends up in the text, and makes it another text. */
static void mount_add(char *line, struct pl_text *all, struct pl_text *writable)
{
	char *field[7] = { 0 }, *save = line, *dash = strstr(line, " - "), *type, *size, *end;

	for (int i = 0; i < 6; i++)
		field[i] = strsep(&save, " ");
	if (!dash || !field[5]) {
		pl_text_add(all, "unreadable;");
		return;
	}
	type = dash + 3;
	end = type + strcspn(type, " ");
	size = strstr(end, "size=");
	*end = 0;
	pl_text_add(all, "%s %s %s;", field[4], type, field[5]);
	if (strncmp(field[5], "rw", 2) == 0)
		pl_text_add(writable, "%s %.*s;", field[4], size ? (int)strcspn(size, ",\n") : 9, size ? size : "unlimited");
}

static int mounts_read(const struct pl_reading *r)
{
	struct pl_reading_tables *t = r->tables;
	char text[8192], *rest = text, *line;
	struct pl_text all = PL_TEXT(t->mounts), writable = PL_TEXT(t->writable);
	ssize_t n;

	if (t->mounts_read)
		return t->mounts_error;
	t->mounts_read = true;
	t->mounts[0] = t->writable[0] = 0;
	n = pl_proc_file(subject(r), "mountinfo", text, sizeof text);
	t->mounts_error = n < 0 && n != -E2BIG ? (int)n : 0;
	while (n > 0 && (line = strsep(&rest, "\n")) && *line)
		mount_add(line, &all, &writable);
	/* More than fits is a host's table, not an empty root's. */
	if (n == -E2BIG || all.full || writable.full) {
		snprintf(t->mounts, sizeof t->mounts, "more mounts than fit");
		snprintf(t->writable, sizeof t->writable, "more mounts than fit");
	}
	return t->mounts_error;
}

void pl_read_fs_root(const struct pl_reading *r, struct pl_fact *f)
{
	int rc = mounts_read(r);

	pl_fact_value(f, "%s", r->tables->mounts);
	pl_fact_reference(f, "/ tmpfs ro,nosuid,nodev,noexec,relatime;/tmp tmpfs rw,nosuid,nodev,noexec,relatime;");
	if (rc < 0)
		pl_fact_failed(f, rc);
}

void pl_read_fs_writable(const struct pl_reading *r, struct pl_fact *f)
{
	int rc = mounts_read(r);

	pl_fact_value(f, "%s", r->tables->writable);
	pl_fact_reference(f, "/tmp size=%lluk;", PL_TMP_BYTES / 1024);
	if (rc < 0)
		pl_fact_failed(f, rc);
}

void pl_read_net_links(const struct pl_reading *r, struct pl_fact *f)
{
	char text[4096], names[PL_FACT_VALUE_SIZE] = "", *rest = text, *line;
	struct pl_text list = PL_TEXT(names);
	ssize_t n = pl_proc_file(subject(r), "net/dev", text, sizeof text);

	pl_fact_reference(f, "lo");
	if (n < 0 && n != -E2BIG) {
		pl_fact_failed(f, (int)n);
		return;
	}
	while (n > 0 && (line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':'), *name = line + strspn(line, " ");

		if (colon && strchr(line, '|') == NULL)
			pl_text_add(&list, "%s%.*s", list.len ? " " : "", (int)(colon - name), name);
	}
	pl_fact_value(f, "%s", n == -E2BIG || list.full ? "more links than fit" : names);
}

struct fd_list {
	struct pl_text text;
	char stream[40]; /* how the stream's far end is called */
	int held;
};

static void fd_list_init(struct fd_list *list, const struct pl_reading *r)
{
	snprintf(list->stream, sizeof list->stream, "socket:[%lu]", (unsigned long)r->sandbox->stream_ino);
	list->held = 0;
}

static int fd_list_add(void *ctx, int fd, const char *target)
{
	struct fd_list *list = ctx;
	bool stream = strcmp(target, list->stream) == 0;

	list->held += stream;
	pl_text_add(&list->text, "%s%d %s", list->text.len ? ", " : "", fd, stream ? "stream" : target);
	return 0;
}

static int descriptors_read(const struct pl_reading *r)
{
	struct pl_reading_tables *t = r->tables;
	struct fd_list list = { .text = PL_TEXT(t->descriptors) };
	int rc;

	if (t->descriptors_read)
		return t->descriptors_error;
	t->descriptors_read = true;
	t->descriptors[0] = 0;
	fd_list_init(&list, r);
	rc = pl_proc_fds(r->guest, fd_list_add, &list);
	t->descriptors_error = rc < 0 ? rc : 0;
	t->held = list.held;
	if (list.text.full)
		snprintf(t->descriptors, sizeof t->descriptors, "more descriptors than fit");
	return t->descriptors_error;
}

void pl_read_fds(const struct pl_reading *r, const char *reference, struct pl_fact *f)
{
	int rc = descriptors_read(r);

	pl_fact_reference(f, "%s", reference);
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "%s", r->tables->descriptors);
}

void pl_read_fd_open(const struct pl_reading *r, struct pl_fact *f)
{
	pl_read_fds(r, "0 stream", f);
}

static int holder_count(const struct pl_reading *r, const struct pl_proc *proc, int *ret)
{
	char text[8]; /* the list itself is not wanted */
	struct fd_list list = { .text = PL_TEXT(text) };
	int rc;

	fd_list_init(&list, r);
	rc = pl_proc_fds(proc, fd_list_add, &list);
	*ret = list.held;
	return rc < 0 ? rc : 0;
}

/* The far end was made by the supervisor and could only pass to its descendants; those that live in this sandbox are init,
 * the zygote where there is one, and the guest, since descent says that there is nobody else. */
void pl_read_stream_holders(const struct pl_reading *r, struct pl_fact *f)
{
	int init = 0, parent = 0;
	int rc = descriptors_read(r);

	if (rc == 0)
		rc = holder_count(r, &r->jail->init, &init);
	if (rc == 0 && r->parent != &r->jail->init)
		rc = holder_count(r, r->parent, &parent);
	pl_fact_reference(f, "guest 1, init 0, zygote 0");
	if (rc < 0)
		pl_fact_failed(f, rc);
	else
		pl_fact_value(f, "guest %d, init %d, zygote %d", r->tables->held, init, parent);
}
