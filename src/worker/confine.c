/* SPDX-License-Identifier: Apache-2.0 */
/* confine: see confine.h. */
#include "worker/confine.h"

#include "linux/sys.h"
#include "wire/jail.h"
#include "worker/filter.h"

static int take_descriptor(int stream_fd)
{
	int r = (int)PL_SYS("dup2", dup2(stream_fd, PL_GUEST_STREAM_FD));

	if (r < 0)
		return r;
	return pl_sabotage("fd.open") ? close(stream_fd) : pl_sys_close_range(PL_GUEST_STREAM_FD + 1, ~0u);
}

static int die_with_parent(pid_t zygote)
{
	int r = pl_sys_prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

	if (r < 0)
		return r;
	/* It may have died before the line above. */
	return getppid() == zygote ? 0 : -ESRCH;
}

static int forbid_processes(void)
{
	const struct rlimit one = { .rlim_cur = 1, .rlim_max = 1 };

	return pl_sabotage("limit.pids") ? 0 : pl_sys_prlimit(0, RLIMIT_NPROC, &one, NULL);
}

int pl_confine(int stream_fd, pid_t zygote, bool readable)
{
	int r = take_descriptor(stream_fd);

	if (r < 0)
		return r;
	r = die_with_parent(zygote);
	if (r < 0)
		return r;
	r = forbid_processes();
	if (r < 0)
		return r;
	r = readable ? 0 : pl_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (r < 0)
		return r;
	return pl_filter_load();
}
