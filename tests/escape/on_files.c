/* SPDX-License-Identifier: Apache-2.0 */
/* on_files: mounts and files. Mounting is tried outside in a private mount namespace that the test has made. */
#include "escape/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

struct handle {
	unsigned bytes;
	int type;
	unsigned char f[128];
};

#define PROBE(name)                                                                                                    \
	static long name(int argc, char **argv)                                                                            \
	{                                                                                                                  \
		(void)argc, (void)argv;
#define END }

PROBE(mount_tmpfs)
	return SYS(SYS_mount, "none", argv[1], "tmpfs", 0, "");
END

PROBE(mount_bind)
	return SYS(SYS_mount, "/", argv[1], NULL, 4096 /* MS_BIND */, NULL);
END

PROBE(remount_root)
	return SYS(SYS_mount, NULL, argv[1], NULL, 4096 | 32 /* MS_BIND | MS_REMOUNT */, NULL);
END

PROBE(umount)
	return SYS(SYS_umount2, argv[1], 2 /* MNT_DETACH */);
END

PROBE(fsopen)
	return hostile_got(SYS(SYS_fsopen, "tmpfs", 0));
END

PROBE(open_tree)
	return hostile_got(SYS(SYS_open_tree, AT_FDCWD, argv[1], 1 /* OPEN_TREE_CLONE */));
END

PROBE(mount_setattr_)
	unsigned long long attr[4] = { 0, 0, 0, 1ull << 18 };

	return SYS(SYS_mount_setattr, AT_FDCWD, argv[1], 0, attr, sizeof attr);
END

PROBE(move_mount_)
	long fd = SYS(SYS_open_tree, AT_FDCWD, argv[1], 1), r;

	r = SYS(SYS_move_mount, fd < 0 ? 0 : fd, "", AT_FDCWD, argv[1], 4 /* MOVE_MOUNT_F_EMPTY_PATH */);
	(void)hostile_got(fd);
	return r;
END

/* argv[1] is a mount. */
PROBE(pivot_root_)
	(void)SYS(SYS_chdir, argv[1]);
	return SYS(SYS_pivot_root, ".", ".");
END

PROBE(chroot_)
	return SYS(SYS_chroot, argv[1]);
END

PROBE(chdir_)
	return SYS(SYS_chdir, argv[1]);
END

PROBE(open_read)
	return hostile_got(SYS(SYS_open, argv[1], O_RDONLY, 0));
END

PROBE(openat_read)
	return hostile_got(SYS(SYS_openat, AT_FDCWD, argv[1], O_RDONLY, 0));
END

PROBE(openat2_read)
	struct open_how how = { .flags = O_RDONLY };

	return hostile_got(SYS(SYS_openat2, AT_FDCWD, argv[1], &how, sizeof how));
END

PROBE(open_path)
	return hostile_got(SYS(SYS_open, argv[1], O_PATH, 0));
END

PROBE(open_write)
	long fd = SYS(SYS_open, argv[1], O_WRONLY | O_APPEND, 0);

	if (fd >= 0)
		(void)SYS(SYS_write, fd, "overwritten", 11);
	return hostile_got(fd);
END

PROBE(open_create)
	return hostile_got(SYS(SYS_open, argv[1], O_WRONLY | O_CREAT | O_EXCL, 0600));
END

PROBE(open_nameless)
	return hostile_got(SYS(SYS_open, argv[1], O_WRONLY | O_TMPFILE, 0600));
END

PROBE(truncate_)
	return SYS(SYS_truncate, argv[1], 0);
END

PROBE(unlink_)
	return SYS(SYS_unlink, argv[1]);
END

PROBE(rename_)
	return SYS(SYS_rename, argv[1], argv[2]);
END

PROBE(link_)
	return SYS(SYS_link, argv[1], argv[2]);
END

PROBE(symlink_)
	return SYS(SYS_symlink, argv[1], argv[2]);
END

PROBE(mkdir_)
	return SYS(SYS_mkdir, argv[1], 0700);
END

/* The number of /dev/null. */
PROBE(mknod_device)
	return SYS(SYS_mknod, argv[1], S_IFCHR | 0600, makedev(1, 3));
END

PROBE(mknod_fifo)
	return SYS(SYS_mknod, argv[1], S_IFIFO | 0600, 0);
END

PROBE(chmod_)
	return SYS(SYS_chmod, argv[1], 0777);
END

PROBE(chown_)
	return SYS(SYS_chown, argv[1], getuid(), getgid());
END

PROBE(utimes)
	return SYS(SYS_utimensat, AT_FDCWD, argv[1], NULL, 0);
END

PROBE(setxattr_)
	return SYS(SYS_setxattr, argv[1], "user.canary", "x", 1, 0);
END

PROBE(stat_)
	struct stat st;

	return SYS(SYS_newfstatat, AT_FDCWD, argv[1], &st, 0);
END

PROBE(access_)
	return SYS(SYS_access, argv[1], 0);
END

PROBE(readlink_)
	char target[256];

	return SYS(SYS_readlink, argv[1], target, sizeof target);
END

PROBE(getdents_)
	char entries[1024];
	long fd = SYS(SYS_open, argv[1], O_RDONLY | O_DIRECTORY, 0), r;

	r = SYS(SYS_getdents64, fd < 0 ? 0 : fd, entries, sizeof entries);
	(void)hostile_got(fd);
	return r;
END

PROBE(name_to_handle)
	struct handle handle = { .bytes = sizeof handle.f };
	int mount;

	return SYS(SYS_name_to_handle_at, AT_FDCWD, argv[1], &handle, &mount, 0);
END

/* A file by its number, past every path: what once led out of containers. */
PROBE(open_by_handle)
	struct handle handle = { .bytes = sizeof handle.f };
	long fd = SYS(SYS_open, argv[1], O_RDONLY, 0), r;
	int mount;

	(void)SYS(SYS_name_to_handle_at, AT_FDCWD, argv[1], &handle, &mount, 0);
	r = hostile_got(SYS(SYS_open_by_handle_at, fd < 0 ? 0 : fd, &handle, O_RDONLY));
	(void)hostile_got(fd);
	return r;
END

PROBE(memfd)
	return hostile_got(SYS(SYS_memfd_create, "probe", 0));
END

PROBE(memfd_exec)
	char *args[] = { argv[0], "say", NULL }, *none[] = { NULL };
	static char bytes[65536];
	long from = SYS(SYS_open, argv[1], O_RDONLY, 0), to = SYS(SYS_memfd_create, "probe", 0), n;

	while ((n = SYS(SYS_read, from, bytes, sizeof bytes)) > 0)
		(void)SYS(SYS_write, to, bytes, n);
	return SYS(SYS_execveat, to, "", args, none, 0x1000);
END

static long map(int protection)
{
	long at = SYS(SYS_mmap, NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at > 0)
		(void)SYS(SYS_munmap, at, 4096);
	return at;
}

PROBE(map_executable)
	return map(PROT_READ | PROT_EXEC);
END

PROBE(make_executable)
	static _Alignas(4096) char page[4096];

	return SYS(SYS_mprotect, page, sizeof page, PROT_READ | PROT_EXEC);
END

/* Shared memory, which could be had twice: written here, executable there. */
PROBE(map_shared)
	long at = SYS(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at > 0)
		(void)SYS(SYS_munmap, at, 4096);
	return at;
END

PROBE(inotify)
	return hostile_got(SYS(SYS_inotify_init1, 0));
END

PROBE(fanotify)
	return hostile_got(SYS(SYS_fanotify_init, 0, 0));
END

PROBE(getcwd_)
	char path[4096];

	return SYS(SYS_getcwd, path, sizeof path);
END

PROBE(umask_)
	long mask = SYS(SYS_umask, 022);

	if (mask >= 0)
		(void)SYS(SYS_umask, mask);
	return mask;
END

PROBE(sync_)
	return SYS(SYS_sync);
END

const struct probe file_probes[] = {
	{ "mount-tmpfs", mount_tmpfs },	      { "mount-bind", mount_bind },	  { "remount", remount_root },
	{ "umount", umount },		      { "fsopen", fsopen },		  { "open_tree", open_tree },
	{ "mount_setattr", mount_setattr_ },  { "move_mount", move_mount_ },	  { "pivot_root", pivot_root_ },
	{ "chroot", chroot_ },		      { "chdir", chdir_ },		  { "open-read", open_read },
	{ "openat-read", openat_read },	      { "openat2-read", openat2_read },	  { "open-path", open_path },
	{ "open-write", open_write },	      { "open-create", open_create },	  { "open-tmpfile", open_nameless },
	{ "truncate", truncate_ },	      { "unlink", unlink_ },		  { "rename", rename_ },
	{ "link", link_ },		      { "symlink", symlink_ },		  { "mkdir", mkdir_ },
	{ "mknod-device", mknod_device },     { "mknod-fifo", mknod_fifo },	  { "chmod", chmod_ },
	{ "chown", chown_ },		      { "utimensat", utimes },		  { "setxattr", setxattr_ },
	{ "stat", stat_ },		      { "access", access_ },		  { "readlink", readlink_ },
	{ "getdents", getdents_ },	      { "name_to_handle_at", name_to_handle }, { "open_by_handle_at", open_by_handle },
	{ "memfd_create", memfd },	      { "memfd-exec", memfd_exec },	  { "mmap-exec", map_executable },
	{ "mprotect-exec", make_executable }, { "mmap-shared", map_shared },	  { "inotify_init", inotify },
	{ "fanotify_init", fanotify },	      { "getcwd", getcwd_ },		  { "umask", umask_ },
	{ "sync", sync_ },		      { NULL, NULL },
};
