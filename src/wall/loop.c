/* SPDX-License-Identifier: Apache-2.0 */
/* loop: see loop.h. */
#include "wall/loop.h"

#include "linux/sys.h"

#include <sys/epoll.h>
#include <time.h>

#define ROUND_MAX 64

int pl_loop_init(struct pl_loop *loop)
{
	loop->round = 0;
	loop->epoll_fd = (int)PL_SYS("epoll_create1", epoll_create1(EPOLL_CLOEXEC));
	return loop->epoll_fd < 0 ? loop->epoll_fd : 0;
}

void pl_loop_fini(struct pl_loop *loop)
{
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	loop->epoll_fd = -1;
}

static int loop_control(struct pl_loop *loop, int op, struct pl_source *source)
{
	struct epoll_event event = { .events = source->events, .data.ptr = source };

	return (int)PL_SYS("epoll_ctl", epoll_ctl(loop->epoll_fd, op, source->fd, &event));
}

int pl_loop_add(struct pl_loop *loop, struct pl_source *source, int fd, uint32_t events)
{
	int rc;

	source->fd = fd;
	source->events = events;
	rc = loop_control(loop, EPOLL_CTL_ADD, source);
	if (rc < 0)
		source->fd = -1;
	return rc;
}

int pl_loop_change(struct pl_loop *loop, struct pl_source *source, uint32_t events)
{
	if (source->fd < 0 || source->events == events)
		return 0;
	source->events = events;
	return loop_control(loop, EPOLL_CTL_MOD, source);
}

void pl_loop_remove(struct pl_loop *loop, struct pl_source *source)
{
	if (source->fd < 0)
		return;
	/* Removing must not be able to fail for a test's sake: the descriptor may be closed next. */
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
}

int pl_loop_run(struct pl_loop *loop, int64_t timeout_us)
{
	struct epoll_event events[ROUND_MAX];
	struct timespec t = { .tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000 };
	long n = syscall(SYS_epoll_pwait2, loop->epoll_fd, events, ROUND_MAX, timeout_us < 0 ? NULL : &t, NULL, 0);

	/* Before Linux 5.11: in milliseconds, rounded up, so that a wait is never one of zero that spins. */
	if (n < 0 && errno == ENOSYS)
		n = epoll_wait(loop->epoll_fd, events, ROUND_MAX, timeout_us < 0 ? -1 : (int)((timeout_us + 999) / 1000));
	loop->round++;
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (long i = 0; i < n; i++) {
		struct pl_source *source = events[i].data.ptr;

		if (source->fd >= 0)
			source->ready(source, events[i].events);
	}
	return 0;
}
