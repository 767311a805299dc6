/* SPDX-License-Identifier: Apache-2.0 */
/* images: the same bytes from another file. Bytes that are equal now need not be so later; the fact is about the sealed
 * memory that was hashed, so a copy of it must not pass. */
#include "launch/break/on/parts.h"
#include "linux/sys.h"

#include <errno.h>
#include <string.h>

static int copy_of(int from)
{
	static char chunk[64 * 1024];
	int to = pl_sys_memfd_create("copy", 0);
	off_t at = 0;
	ssize_t n;

	if (to < 0)
		return to;
	while ((n = pl_sys_pread(from, chunk, sizeof chunk, at)) > 0) {
		if (pl_sys_write(to, chunk, (size_t)n) != n)
			return -EIO;
		at += n;
	}
	return n < 0 ? (int)n : to;
}

/* The plan stays in the socket for the copy, which sees by its name that it is one. */
void pl_break_copied_launcher(void)
{
	static struct pl_jail_plan plan;
	char *argv[] = { (char *)"copy", NULL }, *envp[] = { NULL };
	int from, to;

	if (recv(PL_LAUNCH_CONTROL_FD, &plan, sizeof plan, MSG_PEEK) != sizeof plan ||
	    strcmp(plan.fault, "sabotage:copied launcher") != 0 || strcmp(program_invocation_name, "copy") == 0)
		return;
	from = pl_sys_openat(AT_FDCWD, "/proc/self/exe", O_RDONLY, 0);
	to = from < 0 ? from : copy_of(from);
	if (to >= 0)
		(void)pl_sys_execveat(to, argv, envp);
	_exit(99);
}

int pl_break_copied_image(const struct pl_jail_plan *plan)
{
	int to = copy_of(PL_LAUNCH_IMAGE_FD);

	(void)plan;
	if (to < 0)
		return to;
	return dup3(to, PL_LAUNCH_IMAGE_FD, O_CLOEXEC) < 0 ? -errno : 0;
}
