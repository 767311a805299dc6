/* SPDX-License-Identifier: Apache-2.0 */
/* root: an empty read-only root. Two file systems in memory and nothing else: the root itself (read-only, nothing in it but
 * an empty /tmp) and, when the plan gives it a size, /tmp (writable, noexec). The guest's program is not in it: it is
 * executed from a descriptor. Runs in the sandbox's own mount namespace, as uid 0 of its user namespace. */
#include "launch/steps.h"
#include "linux/mount.h"

#include <stdio.h>

static int root_fd = -1;

/* A detached tmpfs; size and mode as mount options. Returns its descriptor. */
static int tmpfs_make(const char *size, const char *mode, unsigned attributes)
{
	int fs = pl_fsopen("tmpfs"), rc;

	if (fs < 0)
		return fs;
	rc = pl_fsconfig(fs, FSCONFIG_SET_STRING, "size", size);
	if (rc == 0)
		rc = pl_fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode);
	if (rc == 0)
		rc = pl_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	if (rc == 0)
		rc = pl_fsmount(fs, attributes);
	close(fs);
	return rc;
}

static int mounts_private(const struct pl_jail_plan *plan)
{
	struct mount_attr attr = { .propagation = 1 << 18 /* MS_PRIVATE */ };

	(void)plan;
	return pl_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr);
}

/* The new root is attached at /proc, a folder that every host has; it only has to be somewhere until pivot_root. */
static int root_mount(const struct pl_jail_plan *plan)
{
	int fd = tmpfs_make("64k", "0755", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC), rc;

	(void)plan;
	if (fd < 0)
		return fd;
	rc = pl_sys_mkdirat(fd, "tmp", 0555);
	if (rc == 0)
		rc = pl_move_mount(fd, AT_FDCWD, "/proc");
	if (rc < 0) {
		close(fd);
		return rc;
	}
	root_fd = fd;
	return (int)PL_SYS("fchdir", fchdir(fd));
}

static int tmp_mount(const struct pl_jail_plan *plan)
{
	char size[32];
	int fd, rc;

	if (!plan->tmp_bytes)
		return 0;
	snprintf(size, sizeof size, "%llu", (unsigned long long)plan->tmp_bytes);
	fd = tmpfs_make(size, "1777", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return fd;
	rc = pl_move_mount(fd, root_fd, "tmp");
	close(fd);
	return rc;
}

static int root_read_only(const struct pl_jail_plan *plan)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	(void)plan;
	return pl_mount_setattr(root_fd, "", AT_EMPTY_PATH, &attr);
}

/* pivot_root(".", "."): the old root ends up mounted over the new one, from where it is detached at once. */
static int root_enter(const struct pl_jail_plan *plan)
{
	int rc = pl_pivot_root(".", ".");

	(void)plan;
	if (rc == 0)
		rc = pl_umount_detach(".");
	if (rc == 0)
		rc = (int)PL_SYS("chdir", chdir("/"));
	close(root_fd);
	root_fd = -1;
	return rc;
}

const struct pl_step pl_root_steps[] = {
	{ "make mounts private", mounts_private },
	{ "mount root", root_mount },
	{ "mount /tmp", tmp_mount },
	{ "make root read-only", root_read_only },
	{ "enter root", root_enter },
};
const size_t pl_root_steps_n = sizeof pl_root_steps / sizeof *pl_root_steps;
