/* SPDX-License-Identifier: Apache-2.0 */
/* loop: the event loop of the supervisor: descriptors that call back when they are ready, over epoll; one thread. A source may
 * be removed from inside any callback; its memory must stay until the current round is over (see pl_loop_round). */
#ifndef PL_WALL_LOOP_H
#define PL_WALL_LOOP_H

#include <stdint.h>

struct pl_source {
	int fd; /* -1: not watched */
	uint32_t events;
	void (*ready)(struct pl_source *source, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR */
	void *owner;
};

struct pl_loop {
	int epoll_fd;
	uint64_t round; /* counts epoll_wait calls: what was removed in one round may be freed in the next */
};

int pl_loop_init(struct pl_loop *loop);
void pl_loop_fini(struct pl_loop *loop);
/* Watches fd for events; the source keeps fd but does not own it. */
int pl_loop_add(struct pl_loop *loop, struct pl_source *source, int fd, uint32_t events);
int pl_loop_change(struct pl_loop *loop, struct pl_source *source, uint32_t events);
void pl_loop_remove(struct pl_loop *loop, struct pl_source *source);
/* Waits at most timeout_us (negative: for ever) and calls what is ready. 0 or -errno. */
int pl_loop_run(struct pl_loop *loop, int64_t timeout_us);

#endif
