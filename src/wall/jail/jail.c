/* SPDX-License-Identifier: Apache-2.0 */
/* jail: starting plimsoll-launch in namespaces of its own and listening to it; see jail.h and wire/jail.h.
 *
 * Between clone3 and execveat the child makes system calls only: everything that it needs is prepared before. */
#include "wall/jail/jail.h"

#include "base/fd.h"
#include "build_id.h"
#include "contract/error.h"
#include "linux/mount.h"
#include "linux/sys.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>

/* Where the child parks its descriptors before it puts them where plimsoll-launch expects them. */
#define PARK_FD_MIN 100
#define LAUNCH_IMAGE_FD (PL_LAUNCH_EXTRA_FD + PL_LAUNCH_EXTRA_MAX)

/* What the child needs, prepared by its parent. */
struct birth {
	int control_fd, image_fd, stream_fd, launch_fd;
	int extra_fds[PL_LAUNCH_EXTRA_MAX];
	unsigned extra_n;
	int join_fds[PL_CGROUP_TREE_MAX];
	int join_n;
	bool user_namespace, root;
};

enum { EXIT_BIRTH = 72 };

#define PLACES_MAX (4 + PL_LAUNCH_EXTRA_MAX)

static void descriptors_place(const struct birth *b)
{
	int from[PLACES_MAX] = { b->control_fd, b->image_fd, b->stream_fd, b->launch_fd };
	int to[PLACES_MAX] = { PL_LAUNCH_CONTROL_FD, PL_LAUNCH_IMAGE_FD, PL_LAUNCH_STREAM_FD, LAUNCH_IMAGE_FD };
	int parked[PLACES_MAX], n = 4;

	for (unsigned i = 0; i < b->extra_n; i++, n++) {
		from[n] = b->extra_fds[i];
		to[n] = PL_LAUNCH_EXTRA_FD + (int)i;
	}
	for (int i = 0; i < n; i++) {
		parked[i] = fcntl(from[i], F_DUPFD, PARK_FD_MIN);
		if (parked[i] < 0)
			_exit(EXIT_BIRTH);
	}
	for (int i = 0; i < n; i++)
		if (dup2(parked[i], to[i]) < 0)
			_exit(EXIT_BIRTH);
	if (pl_sys_close_range(0, 2) < 0 || pl_sys_close_range(LAUNCH_IMAGE_FD + 1, ~0u) < 0 ||
	    fcntl(LAUNCH_IMAGE_FD, F_SETFD, FD_CLOEXEC) < 0)
		_exit(EXIT_BIRTH);
}

/* The parent sends the plan only when the id maps are written: to see it is to have ids. It stays in the socket. */
static void maps_await(void)
{
	char byte;

	if (pl_sys_recv(PL_LAUNCH_CONTROL_FD, &byte, 1, MSG_PEEK) != 1)
		_exit(EXIT_BIRTH);
}

static void root_become(const struct birth *b)
{
	/* An ordinary user's user namespace denies setgroups; what is kept then is stated (cred.groups). */
	if (b->root && !pl_sabotage("kept group") && syscall(SYS_setgroups, 0, NULL) < 0)
		_exit(EXIT_BIRTH);
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
		_exit(EXIT_BIRTH);
}

static _Noreturn void child_become(const struct birth *b)
{
	char *argv[] = { (char *)"plimsoll-launch", NULL }, *envp[] = { NULL };

	if (!pl_sabotage("outside cgroup") && pl_cgroup_join_self(b->join_fds, b->join_n) < 0)
		_exit(EXIT_BIRTH);
	/* Before waiting: with it goes our copy of the socket's other end, so that the parent's end is seen on it. */
	descriptors_place(b);
	maps_await();
	if (b->user_namespace)
		root_become(b);
	(void)pl_sys_execveat(LAUNCH_IMAGE_FD, argv, envp);
	_exit(EXIT_BIRTH);
}

static int map_write(const struct pl_proc *proc, const char *file, const char *text)
{
	PL_CLEANUP_FD fd = pl_sys_openat(proc->dirfd, file, O_WRONLY, 0);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pl_sys_write(fd, text, strlen(text));
	return n < 0 ? (int)n : 0;
}

/* As root: inside 0 is init's host id, inside 1 the guest's. Else inside 0 is our own id, the only one that we may map. */
static int maps_write(const struct pl_jail *jail)
{
	char uids[64], gids[64];
	int rc = 0;

	if (jail->id_first) {
		snprintf(uids, sizeof uids, "0 %u 2\n", jail->id_first);
		snprintf(gids, sizeof gids, "0 %u 2\n", jail->id_first);
	} else {
		snprintf(uids, sizeof uids, "0 %u 1\n", (unsigned)geteuid());
		snprintf(gids, sizeof gids, "0 %u 1\n", (unsigned)getegid());
		rc = map_write(&jail->init, "setgroups", "deny");
	}
	if (rc == 0)
		rc = map_write(&jail->init, "uid_map", uids);
	if (rc == 0)
		rc = map_write(&jail->init, "gid_map", gids);
	return rc;
}

static void plan_fill(struct pl_jail_plan *plan, const struct pl_jail *jail, const struct pl_jail_spec *spec)
{
	memset(plan, 0, sizeof *plan);
	memcpy(plan->build_id, PL_BUILD_ID, sizeof plan->build_id);
	plan->has_mount_namespace = jail->namespaces & CLONE_NEWNS ? 1 : 0;
	plan->guest_uid = plan->guest_gid = UINT32_MAX;
	if (jail->id_first)
		plan->guest_uid = plan->guest_gid = jail->namespaces & CLONE_NEWUSER ? 1 : jail->id_first + 1;
	plan->readable = !jail->env->root && !(jail->namespaces & CLONE_NEWUSER);
	plan->landlock = 1;
	plan->extra_n = spec->extra_n;
	plan->tmp_bytes = spec->tmp_bytes;
	plan->rlimit_n = spec->rlimit_n;
	memcpy(plan->rlimits, spec->rlimits, spec->rlimit_n * sizeof *spec->rlimits);
	plan->guest_filter = *spec->guest_filter;
	plan->init_filter = *spec->init_filter;
	snprintf(plan->guest_argv0, sizeof plan->guest_argv0, "%s", spec->argv0);
	snprintf(plan->fault, sizeof plan->fault, "%s", jail->env->fault);
}

static int plan_send(struct pl_jail *jail, const struct pl_jail_spec *spec)
{
	static struct pl_jail_plan plan; /* 7 KiB; the supervisor has one thread */
	ssize_t n;

	plan_fill(&plan, jail, spec);
	n = pl_sys_send(jail->control.fd, &plan, sizeof plan, 0);
	if (n < 0)
		return (int)n;
	return n == sizeof plan ? 0 : -EIO;
}

/* What our clone made, read while init cannot have moved: it waits for its plan. */
static int namespaces_take(struct pl_jail *jail)
{
	int rc = 0;

	for (int i = 0; i < PL_NS_N && rc == 0; i++)
		if (jail->namespaces & pl_ns_flags[i])
			rc = pl_proc_ns(&jail->init, i, &jail->ns[i]);
	return rc;
}

static void jail_reap(struct pl_jail *jail)
{
	siginfo_t info;

	if (jail->reaped || waitid(P_PIDFD, (id_t)jail->init.pidfd, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	jail->reaped = true;
	pl_loop_remove(jail->env->loop, &jail->exit);
	if (jail->report)
		jail->report(jail, NULL);
}

static void exit_ready(struct pl_source *source, uint32_t events)
{
	(void)events;
	jail_reap(source->owner);
}

static void control_ready(struct pl_source *source, uint32_t events)
{
	struct pl_jail *jail = source->owner;
	struct pl_jail_report report;
	ssize_t n = pl_sys_recv(source->fd, &report, sizeof report, MSG_DONTWAIT);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n != sizeof report) { /* its end: init is going, and its pidfd will say so */
		int fd = source->fd;

		pl_loop_remove(jail->env->loop, source);
		close(fd);
		return;
	}
	report.step[sizeof report.step - 1] = 0;
	if (jail->report)
		jail->report(jail, &report);
}

static int sources_add(struct pl_jail *jail)
{
	int fd = jail->control.fd, rc;

	jail->exit = (struct pl_source){ .fd = -1, .ready = exit_ready, .owner = jail };
	rc = pl_loop_add(jail->env->loop, &jail->exit, jail->init.pidfd, EPOLLIN);
	if (rc == 0)
		rc = pl_loop_add(jail->env->loop, &jail->control, fd, EPOLLIN);
	jail->control.fd = fd; /* also where it is not watched: it is to be closed */
	return rc;
}

static pid_t jail_clone(struct pl_jail *jail, const struct birth *birth, uint64_t namespaces, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = namespaces | CLONE_PIDFD,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t pid;

	for (int i = 0; i < PL_NS_N; i++) {
		char name[16];

		snprintf(name, sizeof name, "ns.%s", pl_ns_names[i]);
		if (pl_sabotage(name))
			args.flags &= ~pl_ns_flags[i];
	}
	if (jail->has_cgroup && pl_cgroup_clone_fd(&jail->cgroup) >= 0 && !pl_sabotage("outside cgroup")) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)pl_cgroup_clone_fd(&jail->cgroup);
	}
	pid = pl_sys_clone3(&args);
	if (pid == 0)
		child_become(birth);
	if (pid > 0)
		jail->namespaces = args.flags & (PL_JAIL_NAMESPACES);
	return pid;
}

/* The refusals that mean "not here", after which a jail that may go without namespaces is tried without. */
static bool namespaces_refused(int rc)
{
	return rc == -EPERM || rc == -ENOSPC || rc == -EUSERS || rc == -EINVAL || rc == -ENOSYS;
}

static int jail_born(struct pl_jail *jail, const struct pl_jail_spec *spec, struct birth *birth)
{
	int pidfd = -1, rc;
	pid_t pid;

	birth->user_namespace = spec->namespaces & CLONE_NEWUSER;
	pid = jail_clone(jail, birth, spec->namespaces, &pidfd);
	if (namespaces_refused(pid) && spec->may_go_without) {
		birth->user_namespace = false;
		pid = jail_clone(jail, birth, 0, &pidfd);
	}
	if (pid < 0)
		return pid;
	jail->reaped = false;
	rc = pl_proc_pin(pid, pidfd, &jail->init);
	if (rc < 0) { /* pin closed the pidfd; until it is reaped the number is the child's */
		(void)kill(pid, SIGKILL);
		(void)pl_sys_wait4(pid, NULL, __WALL, NULL);
		jail->reaped = true;
	}
	return rc;
}

static int jail_raise(struct pl_jail *jail, const struct pl_jail_spec *spec, struct birth *birth, const char **step)
{
	int rc;

	*step = "clone into namespaces";
	rc = jail_born(jail, spec, birth);
	if (rc == 0 && (jail->namespaces & CLONE_NEWUSER)) {
		*step = "write id maps";
		rc = maps_write(jail);
	}
	if (rc == 0) {
		*step = "read namespaces";
		rc = namespaces_take(jail);
	}
	if (rc == 0) {
		*step = "watch init";
		rc = sources_add(jail);
	}
	if (rc == 0) {
		*step = "send plan";
		rc = plan_send(jail, spec);
	}
	return rc;
}

static int cgroup_make(struct pl_jail *jail, const struct pl_jail_spec *spec, struct birth *birth)
{
	int rc;

	if (!spec->cgroup_limits || !jail->env->cgroups)
		return 0;
	rc = pl_cgroup_new(jail->env->cgroups, spec->cgroup_limits, &jail->cgroup);
	if (rc < 0)
		return rc;
	jail->has_cgroup = true;
	birth->join_n = pl_cgroup_join_fds(&jail->cgroup, birth->join_fds);
	return 0;
}

static const char *next_step(int error)
{
	if (error == -EAGAIN)
		return "raise the limit on processes (ulimit -u)";
	if (error == -EMFILE || error == -ENFILE)
		return "raise the limit on descriptors (ulimit -n)";
	if (error == -ENOSPC || error == -EUSERS)
		return "raise the limits on namespaces (user.max_*_namespaces)";
	if (error == -EPROTO)
		return "install every program from one build";
	return "see plimsoll doctor";
}

int pl_jail_open(struct pl_wall_env *env, const struct pl_jail_spec *spec, struct pl_jail *jail,
		 struct plimsoll_error *error)
{
	int control[2] = { -1, -1 }, rc;
	const char *step = "take ids";
	struct birth birth = {
		.image_fd = spec->image->fd, .stream_fd = spec->stream_fd, .launch_fd = env->launch.fd, .root = env->root,
		.extra_n = spec->extra_n,
	};

	memcpy(birth.extra_fds, spec->extra_fds, sizeof birth.extra_fds);
	*jail = (struct pl_jail){ .env = env, .init = PL_PROC_NONE, .reaped = true };
	jail->control = (struct pl_source){ .fd = -1, .ready = control_ready, .owner = jail };
	jail->exit.fd = -1;
	rc = env->ids ? pl_ids_take(env->ids, &jail->id_first) : 0;
	if (rc == 0) {
		step = "make cgroup";
		rc = cgroup_make(jail, spec, &birth);
	}
	if (rc == 0) {
		step = "make control socket";
		rc = pl_sys_socketpair(SOCK_SEQPACKET, control);
	}
	if (rc == 0) {
		jail->control.fd = control[0];
		birth.control_fd = control[1];
		rc = jail_raise(jail, spec, &birth, &step);
	}
	pl_fd_close(&control[1]);
	if (rc == 0)
		return 0;
	pl_jail_kill(jail);
	if (!jail->reaped) {
		/* It was told to die by SIGKILL; this waits for that, once, on a path that is an error already. */
		(void)waitid(P_PIDFD, (id_t)jail->init.pidfd, &(siginfo_t){ 0 }, WEXITED);
		jail->reaped = true;
	}
	pl_loop_remove(env->loop, &jail->exit);
	for (int i = 0; i < 100 && !pl_jail_release(jail); i++)
		usleep(1000);
	return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open jail",
			"the jail could not be made: %s: %s; %s", step, strerror(-rc), next_step(rc));
}

void pl_jail_kill(struct pl_jail *jail)
{
	if (!jail->reaped && jail->init.pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, jail->init.pidfd, SIGKILL, NULL, 0);
}

bool pl_jail_release(struct pl_jail *jail)
{
	int fd;

	jail_reap(jail);
	if (!jail->reaped)
		return false;
	fd = jail->control.fd;
	pl_loop_remove(jail->env->loop, &jail->control);
	pl_fd_close(&fd);
	if (jail->has_cgroup) {
		if (pl_cgroup_close(&jail->cgroup) == -EBUSY)
			return false;
		jail->has_cgroup = false;
	}
	if (jail->id_first)
		(void)pl_ids_give(jail->env->ids, jail->id_first);
	jail->id_first = 0;
	pl_proc_unpin(&jail->init);
	return true;
}

int pl_jail_error(const char *wall, const struct pl_jail_report *report, struct plimsoll_error *error)
{
	return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "open jail",
			"the %s wall could not be built: %s: %s; %s", wall, report->step, strerror(-report->error),
			next_step(report->error));
}

static int limit_as_owner(const struct pl_jail *jail, const struct pl_proc *proc, int resource, const struct rlimit *limit)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	uint32_t id = jail->id_first + 1;
	pid_t pid = pl_sys_clone3(&args);
	int status;

	if (pid == 0) {
		if (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0)
			_exit(EPERM);
		_exit(-pl_sys_prlimit(proc->pid, resource, limit, NULL));
	}
	if (pid < 0)
		return pid;
	if (pl_sys_wait4(pid, &status, __WALL, NULL) != pid || !WIFEXITED(status))
		return -EIO;
	return -WEXITSTATUS(status);
}

int pl_jail_limit(const struct pl_jail *jail, const struct pl_proc *proc, int resource, uint64_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };
	int rc = pl_sys_prlimit(proc->pid, resource, &limit, NULL);

	if (rc == -EPERM && jail->id_first && !(jail->namespaces & CLONE_NEWUSER))
		rc = limit_as_owner(jail, proc, resource, &limit);
	return rc;
}

/* What plimsoll-launch does for its root, but for what cannot fail when this does not. */
static int probe_root(void)
{
	struct mount_attr private = { .propagation = MS_PRIVATE };
	int fs, fd, rc = pl_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &private);

	fs = rc < 0 ? rc : pl_fsopen("tmpfs");
	if (fs < 0)
		return fs;
	rc = pl_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	fd = rc < 0 ? rc : pl_fsmount(fs, 0);
	if (fd < 0)
		return fd;
	rc = pl_move_mount(fd, AT_FDCWD, "/proc");
	if (rc == 0 && fchdir(fd) < 0)
		rc = -errno;
	return rc < 0 ? rc : pl_pivot_root(".", ".");
}

static _Noreturn void probe_child(const int gate[2])
{
	char byte;

	close(gate[1]);
	if (pl_sys_read(gate[0], &byte, 1) != 1)
		_exit(ECANCELED);
	_exit(-probe_root() & 0xff);
}

static int probe_maps(struct pl_jail *jail, pid_t pid, int pidfd)
{
	int rc = pl_proc_pin(pid, pidfd, &jail->init);

	if (rc == 0 && jail->env->ids)
		rc = pl_ids_take(jail->env->ids, &jail->id_first);
	if (rc == 0)
		rc = maps_write(jail);
	if (jail->id_first)
		(void)pl_ids_give(jail->env->ids, jail->id_first);
	pl_proc_unpin(&jail->init);
	return rc;
}

/* A child in fresh namespaces, with ids mapped, makes a root as a jail does: where user namespaces are made powerless (as by
 * AppArmor on Ubuntu 24.04), or a filter around us denies mounting, the clone works and this does not. */
int pl_jail_probe(struct pl_wall_env *env, uint64_t namespaces, const char **ret_step)
{
	struct pl_jail jail = { .env = env, .init = PL_PROC_NONE };
	int pidfd = -1, gate[2], status, rc;
	struct clone_args args = { .flags = namespaces | CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD };
	pid_t pid;

	*ret_step = "make a pipe";
	rc = (int)PL_SYS("pipe2", pipe2(gate, O_CLOEXEC));
	if (rc < 0)
		return rc;
	*ret_step = "clone into namespaces";
	pid = pl_sys_clone3(&args);
	if (pid == 0)
		probe_child(gate);
	close(gate[0]);
	rc = pid < 0 ? pid : 0;
	if (rc == 0) {
		*ret_step = "write id maps";
		rc = probe_maps(&jail, pid, pidfd);
	}
	if (rc == 0) {
		*ret_step = "mount a root";
		rc = pl_sys_write(gate[1], "", 1) == 1 ? 0 : -EPIPE;
	}
	close(gate[1]);
	if (pid > 0 && (pl_sys_wait4(pid, &status, __WALL, NULL) != pid || !WIFEXITED(status)))
		rc = rc < 0 ? rc : -EIO;
	return rc < 0 || pid < 0 ? rc : -WEXITSTATUS(status);
}

static const char *limit_name(int resource)
{
	static const struct {
		int resource;
		const char *name;
	} names[] = {
		{ RLIMIT_AS, "RLIMIT_AS (ulimit -v)" },	    { RLIMIT_CPU, "RLIMIT_CPU (ulimit -t)" },
		{ RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)" }, { RLIMIT_FSIZE, "RLIMIT_FSIZE (ulimit -f)" },
		{ RLIMIT_NOFILE, "RLIMIT_NOFILE (ulimit -n)" }, { RLIMIT_STACK, "RLIMIT_STACK (ulimit -s)" },
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].resource == resource)
			return names[i].name;
	return "a resource limit";
}

struct pl_jail_rlimit pl_jail_rlimit_cpu(const struct pl_settings *settings)
{
	uint64_t seconds = (uint64_t)(settings->timeout_max_ms + 999) / 1000 + 2;

	return (struct pl_jail_rlimit){ RLIMIT_CPU, seconds, seconds };
}

int pl_jail_rlimits_fit(const struct pl_jail_rlimit *limits, size_t n, char found[PL_WALL_TEXT_LEN],
			char remedy[PL_WALL_TEXT_LEN])
{
	for (size_t i = 0; i < n; i++) {
		const char *name = limit_name(limits[i].resource);
		struct rlimit own;
		int rc = pl_sys_prlimit(0, limits[i].resource, NULL, &own);

		if (rc == 0 && own.rlim_max >= limits[i].hard) /* RLIM_INFINITY is the highest number */
			continue;
		if (rc < 0)
			snprintf(found, PL_WALL_TEXT_LEN, "%s cannot be read: %s", name, strerror(-rc));
		else
			snprintf(found, PL_WALL_TEXT_LEN, "plimsoll runs under a hard limit %s of %llu, and %llu are needed", name,
				 (unsigned long long)own.rlim_max, (unsigned long long)limits[i].hard);
		snprintf(remedy, PL_WALL_TEXT_LEN, "raise that limit where plimsoll is started");
		return -ERANGE;
	}
	return 0;
}
