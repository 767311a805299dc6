/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: the memory of a machine that has run the image up to where a job may come, made once a supervisor and never from disk.
 *
 * A monitor in a jail of its own runs the image in memory that is the supervisor's; when it has ended, and nobody can write there any
 * more, the memory is cut to what was used, sealed and hashed. Every machine then maps it privately. */
#include "wall/microvm/microvm.h"

#include "base/clock.h"
#include "base/fd.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void snapshot_init(struct snapshot *s)
{
	*s = (struct snapshot){ .stream_fd = -1, .fd = -1 };
	s->control.fd = -1;
}

static void control_end(struct microvm_wall *w)
{
	int fd = w->snapshot.control.fd;

	if (fd < 0)
		return;
	pl_loop_remove(w->env->loop, &w->snapshot.control);
	pl_fd_close(&fd);
}

/* Each of them has its turn: begun, or failed with error. */
static void waiting_serve(struct microvm_wall *w, const struct plimsoll_error *error)
{
	struct microvm *m;

	while ((m = w->snapshot.waiting)) {
		struct plimsoll_error own;
		int rc = error ? -1 : 0;

		w->snapshot.waiting = m->next_waiting;
		m->next_waiting = NULL;
		if (!error)
			rc = microvm_begin(m, &own);
		if (rc < 0)
			w->env->failed(m->sandbox, error ? error : &own);
	}
}

static void snapshot_failed(struct microvm_wall *w, const char *what, int rc)
{
	struct plimsoll_error error;

	w->snapshot.state = SNAPSHOT_NONE;
	pl_fd_close(&w->snapshot.fd);
	control_end(w);
	w->snapshot.jail.report = NULL;
	pl_jail_kill(&w->snapshot.jail);
	pl_error(&error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "make snapshot",
		 "the machine's snapshot could not be made: %s: %s", what, strerror(-rc));
	waiting_serve(w, &error);
}

static int snapshot_hash(struct snapshot *s)
{
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;
	void *at = mmap(NULL, s->len, PROT_READ, MAP_SHARED, s->fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	pl_digest_init(&digest);
	pl_digest_bytes(&digest, at, s->len);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, s->digest);
	munmap(at, s->len);
	return 0;
}

/* The kernel refuses the seal while anybody has the memory mapped for writing. */
static int snapshot_seal(struct snapshot *s)
{
	struct stat st;
	int rc;

	s->len = s->ready.memory_bytes;
	if (s->len <= PL_VM_IMAGE || s->len > PL_VM_MEMORY_MIN || s->len % PL_VM_PAGE)
		return -ERANGE;
	rc = pl_sys_ftruncate(s->fd, (off_t)s->len);
	if (rc == 0 && !pl_sabotage("vm.image"))
		rc = (int)PL_SYS("fcntl", fcntl(s->fd, F_ADD_SEALS, SEALS));
	if (rc == 0)
		rc = pl_sys_fstat(s->fd, &st);
	if (rc < 0)
		return rc;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return snapshot_hash(s);
}

static void control_ready(struct pl_source *source, uint32_t events)
{
	struct microvm_wall *w = source->owner;
	pid_t pid;
	ssize_t n = microvm_ready_take(source->fd, &w->snapshot.ready, &pid);

	(void)events;
	if (n == -EAGAIN)
		return;
	w->snapshot.said_ready = n == sizeof w->snapshot.ready;
	control_end(w);
}

/* The monitor has ended: what it made is what it said before. */
static void maker_ended(struct microvm_wall *w, int wait_status)
{
	struct snapshot *s = &w->snapshot;
	int rc;

	if (s->control.fd >= 0)
		control_ready(&s->control, EPOLLIN);
	if (!s->said_ready || s->ready.error || wait_status != 0) {
		snapshot_failed(w, s->said_ready && s->ready.error ? s->ready.step : "its monitor ended",
				s->said_ready && s->ready.error ? s->ready.error : -EPROTO);
		return;
	}
	rc = snapshot_seal(s);
	if (rc < 0) {
		snapshot_failed(w, "seal it", rc);
		return;
	}
	s->state = SNAPSHOT_READY;
	s->jail.report = NULL;
	pl_jail_kill(&s->jail);
	waiting_serve(w, NULL);
}

static void maker_report(struct pl_jail *jail, const struct pl_jail_report *report)
{
	struct microvm_wall *w = jail->owner;

	if (report && report->kind == PL_JAIL_ENDED)
		maker_ended(w, report->wait_status);
	else
		snapshot_failed(w, report ? report->step : "its init ended", report ? report->error : -EPROTO);
}

static int maker_start(struct microvm_wall *w, int control_fd, int stream_fd, struct plimsoll_error *error)
{
	struct snapshot *s = &w->snapshot;
	int extra[] = { control_fd, w->kvm_fd, s->fd, w->env->vm_image.fd };
	int rc = microvm_jail_open(w, "plimsoll-vmm", stream_fd, extra, 4, PL_VM_MEMORY_MIN, &s->jail, error);

	s->jail.owner = w;
	s->jail.report = maker_report;
	s->has_jail = rc == 0;
	return rc;
}

static int memory_make(struct snapshot *s)
{
	int rc;

	s->fd = (int)PL_SYS("memfd_create", memfd_create("plimsoll-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (s->fd < 0)
		return s->fd;
	rc = pl_sys_ftruncate(s->fd, PL_VM_MEMORY_MIN);
	return rc < 0 ? rc : 0;
}

static int control_start(struct microvm_wall *w, int fd)
{
	struct snapshot *s = &w->snapshot;
	int rc;

	s->control = (struct pl_source){ .fd = -1, .ready = control_ready, .owner = w };
	rc = pl_loop_add(w->env->loop, &s->control, fd, EPOLLIN);
	return rc == 0 ? microvm_order_send(fd, PL_VMM_MAKE, PL_VM_MEMORY_MIN) : rc;
}

int snapshot_want(struct microvm_wall *w, struct plimsoll_error *error)
{
	struct snapshot *s = &w->snapshot;
	int control[2] = { -1, -1 }, stream[2] = { -1, -1 }, rc;

	if (s->state != SNAPSHOT_NONE)
		return 0;
	if (s->has_jail)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "make snapshot",
				"the jail of the last attempt to make the machine's snapshot is not gone yet; try again");
	s->said_ready = false;
	rc = memory_make(s);
	if (rc == 0)
		rc = pl_sys_socketpair(SOCK_SEQPACKET, control);
	if (rc == 0)
		rc = pl_sys_socketpair(SOCK_STREAM, stream);
	if (rc == 0)
		rc = control_start(w, control[0]);
	if (rc < 0)
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "make snapshot",
			 "its memory or sockets could not be made: %s", strerror(-rc));
	else
		rc = maker_start(w, control[1], stream[1], error);
	if (rc == 0) {
		s->state = SNAPSHOT_MAKING;
		s->stream_fd = stream[0];
	} else {
		if (s->control.fd >= 0)
			pl_loop_remove(w->env->loop, &s->control);
		pl_fd_close(&control[0]);
		pl_fd_close(&stream[0]);
		pl_fd_close(&s->fd);
	}
	pl_fd_close(&control[1]);
	pl_fd_close(&stream[1]);
	return rc;
}

void snapshot_tend(struct microvm_wall *w)
{
	struct snapshot *s = &w->snapshot;

	if (!s->has_jail || s->state == SNAPSHOT_MAKING || !pl_jail_release(&s->jail))
		return;
	s->has_jail = false;
	pl_fd_close(&s->stream_fd);
}

void snapshot_fini(struct microvm_wall *w)
{
	struct snapshot *s = &w->snapshot;

	control_end(w);
	if (s->has_jail) {
		s->jail.report = NULL;
		pl_jail_kill(&s->jail);
		s->state = s->state == SNAPSHOT_MAKING ? SNAPSHOT_NONE : s->state;
	}
	/* At the supervisor's end; it was told to die by SIGKILL. */
	for (int i = 0; i < 1000 && s->has_jail; i++) {
		snapshot_tend(w);
		if (s->has_jail)
			usleep(1000);
	}
	pl_fd_close(&s->fd);
}
