/* SPDX-License-Identifier: Apache-2.0 */
/* mount: the file-descriptor calls of the mount API (Linux 5.2, mount_setattr 5.12), which C libraries of today lack or
 * declare differently. Used by plimsoll-launch. Each returns the result or -errno. */
#ifndef PL_LINUX_MOUNT_H
#define PL_LINUX_MOUNT_H

#include "linux/sys.h"

#include <linux/mount.h>

static inline int pl_fsopen(const char *type)
{
	return (int)PL_SYS("fsopen", syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

static inline int pl_fsconfig(int fd, unsigned command, const char *key, const char *value)
{
	return (int)PL_SYS("fsconfig", syscall(SYS_fsconfig, fd, command, key, value, 0));
}

static inline int pl_fsmount(int fd, unsigned attributes)
{
	return (int)PL_SYS("fsmount", syscall(SYS_fsmount, fd, FSMOUNT_CLOEXEC, attributes));
}

/* Attaches the mount fd at path below dirfd. */
static inline int pl_move_mount(int fd, int dirfd, const char *path)
{
	return (int)PL_SYS("move_mount", syscall(SYS_move_mount, fd, "", dirfd, path, MOVE_MOUNT_F_EMPTY_PATH));
}

static inline int pl_mount_setattr(int dirfd, const char *path, unsigned flags, const struct mount_attr *attr)
{
	return (int)PL_SYS("mount_setattr", syscall(SYS_mount_setattr, dirfd, path, flags, attr, sizeof *attr));
}

static inline int pl_pivot_root(const char *new_root, const char *put_old)
{
	return (int)PL_SYS("pivot_root", syscall(SYS_pivot_root, new_root, put_old));
}

static inline int pl_umount_detach(const char *path)
{
	return (int)PL_SYS("umount2", syscall(SYS_umount2, path, 2 /* MNT_DETACH */));
}

#endif
