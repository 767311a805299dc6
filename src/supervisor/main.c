/* SPDX-License-Identifier: Apache-2.0 */
/* plimsoll-supervisor: see supervisor.h. Started by the library alone; its descriptor 3 is the lifeline. */
#include "supervisor/supervisor.h"

#include "base/clock.h"
#include "build_id.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

enum { EXIT_USAGE = 64, EXIT_SOFTWARE = 70 };

static void signals_ready(struct pl_source *source, uint32_t events)
{
	struct supervisor *s = source->owner;

	(void)events;
	s->ending = true;
}

/* What the caller ignored stays ignored over exec, and its children would then reap themselves before we could look. */
static int signals_take(struct supervisor *s)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t ours;
	int fd;

	sigaction(SIGCHLD, &standard, NULL);
	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	fd = (int)PL_SYS("signalfd", signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
	if (fd < 0)
		return fd;
	s->signals = (struct pl_source){ .fd = -1, .ready = signals_ready, .owner = s };
	return pl_loop_add(&s->loop, &s->signals, fd, 1 /* EPOLLIN */);
}

/* Helper programs stand beside this one: the folder of what really runs, not of a name that could be changed. */
static int helpers_find(struct supervisor *s)
{
	char path[4096], *slash;
	ssize_t n = pl_sys_readlinkat(AT_FDCWD, "/proc/self/exe", path, sizeof path - 1);

	if (n < 0)
		return (int)n;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash)
		return -ENOENT;
	*slash = 0;
	s->helpers_fd = pl_sys_openat(AT_FDCWD, *path ? path : "/", O_PATH | O_DIRECTORY, 0);
	return s->helpers_fd < 0 ? s->helpers_fd : 0;
}

static void image_id_take(struct supervisor *s)
{
	static const char hex[] = "0123456789abcdef", id[] = PL_BUILD_ID;

	for (size_t i = 0; i < PL_IMAGE_ID_LEN; i++)
		s->image_id[i] = (uint8_t)((strchr(hex, id[2 * i]) - hex) << 4 | (strchr(hex, id[2 * i + 1]) - hex));
}

static int supervisor_run(struct supervisor *s)
{
	int rc = 0;

	while (rc == 0 && !s->ending) {
		int64_t next = boxes_tend(s, pl_now_us()), now = pl_now_us();

		rc = pl_loop_run(&s->loop, next == INT64_MAX ? -1 : next > now ? next - now : 0);
	}
	return rc;
}

int main(void)
{
	static struct supervisor s = { .helpers_fd = -1 };
	int rc;

	pl_fault_load("supervisor", -1, s.env.fault, sizeof s.env.fault);
	umask(077);
	rc = pl_loop_init(&s.loop);
	if (rc == 0)
		rc = signals_take(&s);
	if (rc == 0)
		rc = lifeline_open(&s);
	/* Where /proc is not mounted this fails, and opening says so. */
	if (rc == 0)
		(void)helpers_find(&s);
	if (rc < 0)
		return EXIT_USAGE;
	image_id_take(&s);
	rc = supervisor_run(&s);
	lifeline_close(&s);
	supervisor_stop(&s);
	return rc < 0 ? EXIT_SOFTWARE : 0;
}
