/* SPDX-License-Identifier: Apache-2.0 */
/* pl_cgroup_find: which hierarchies this process can make groups in. Reads /proc/self/cgroup (where am I) and
 * /proc/self/mountinfo (where can that be seen), then tries: a directory is made, looked into and removed. */
#include "linux/cgroup.h"

#include "base/alloc.h"
#include "linux/cgroup_delegate.h"
#include "linux/cgroup_dir.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROC_TEXT_MAX (8u << 20) /* mountinfo of a machine with tens of thousands of mounts */
#define MOUNT_MAX 24
#define MEMBER_MAX 24
#define FIND_TRIES 4

/* All texts point into the two files as read. */
struct mount {
	int version;
	const char *root, *point, *options; /* options: of the hierarchy, on v1 with its controllers */
};

struct membership {
	const char *controllers, *path; /* controllers "": v2 */
};

struct view {
	char *mounts_text, *members_text;
	struct mount mounts[MOUNT_MAX];
	struct membership members[MEMBER_MAX];
	unsigned mounts_n, members_n;
};

/* What shows that a controller works in a group. */
static const char *const limit_files[PL_CGROUP_CONTROLLER_N][2] = {
	[PL_CGROUP_MEMORY] = { "memory.limit_in_bytes", "memory.max" },
	[PL_CGROUP_PIDS] = { "pids.max", "pids.max" },
	[PL_CGROUP_CPU] = { "cpu.cfs_quota_us", "cpu.max" },
	[PL_CGROUP_FREEZER] = { "freezer.state", "cgroup.freeze" },
};

static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (strncmp(p, name, len) == 0 && (p[len] == ',' || p[len] == 0))
			return true;
	}
	return false;
}

static char *field(char **cursor)
{
	char *start = *cursor, *end = strchr(start, ' ');

	*cursor = end ? end + 1 : start + strlen(start);
	if (end)
		*end = 0;
	return start;
}

/* mountinfo writes blanks, tabs, newlines and backslashes in octal, as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
}

/* "36 35 0:30 ROOT POINT rw,relatime shared:1 - TYPE SOURCE OPTIONS" */
static void mounts_parse(struct view *view)
{
	char *cursor = view->mounts_text, *line;

	while ((line = pl_text_line(&cursor)) && view->mounts_n < MOUNT_MAX) {
		char *root, *point, *rest = strstr(line, " - ");
		const char *type;

		if (!rest)
			continue;
		rest += 3;
		type = field(&rest);
		if (strcmp(type, "cgroup") != 0 && strcmp(type, "cgroup2") != 0)
			continue;
		field(&rest);
		for (int i = 0; i < 3; i++)
			field(&line);
		root = field(&line);
		point = field(&line);
		unescape(root);
		unescape(point);
		view->mounts[view->mounts_n++] = (struct mount){ type[6] ? 2 : 1, root, point, rest };
	}
}

/* "4:memory:/a/b", "0::/a/b" */
static void members_parse(struct view *view)
{
	char *cursor = view->members_text, *line;

	while ((line = pl_text_line(&cursor)) && view->members_n < MEMBER_MAX) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path = 0;
		view->members[view->members_n++] = (struct membership){ controllers + 1, path + 1 };
	}
}

static int view_read(struct view *ret)
{
	int rc;

	memset(ret, 0, sizeof *ret);
	rc = pl_text_read(AT_FDCWD, "/proc/self/cgroup", PROC_TEXT_MAX, &ret->members_text);
	if (rc == 0)
		rc = pl_text_read(AT_FDCWD, "/proc/self/mountinfo", PROC_TEXT_MAX, &ret->mounts_text);
	if (rc < 0)
		return rc;
	members_parse(ret);
	mounts_parse(ret);
	return 0;
}

static void view_fini(struct view *view)
{
	pl_free(view->members_text);
	pl_free(view->mounts_text);
}

/* controller NULL: v2. */
static const char *own_path(const struct view *view, const char *controller)
{
	for (unsigned i = 0; i < view->members_n; i++)
		if (controller ? list_has(view->members[i].controllers, controller) : view->members[i].controllers[0] == 0)
			return view->members[i].path;
	return NULL;
}

/* Where path is seen through the mount; false: not at all. A path with ".." is outside this cgroup namespace. */
static bool seen_at(const struct mount *mount, const char *path, char ret_dir[PATH_MAX])
{
	size_t root_len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	int len;

	if (strncmp(path, mount->root, root_len) != 0 || (path[root_len] != '/' && path[root_len] != 0) || strstr(path, "/.."))
		return false;
	len = snprintf(ret_dir, PATH_MAX, "%s%s", mount->point, path + root_len);
	return len > 0 && len < PATH_MAX;
}

static int dir_open(const char *dir, int version)
{
	int fd = pl_sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0), rc;
	struct statfs fs;

	if (fd < 0)
		return fd;
	rc = pl_sys_fstatfs(fd, &fs);
	if (rc == 0 && (unsigned long)fs.f_type != (version == 2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC))
		rc = -EXDEV; /* something else is mounted over it */
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

/* Opens our own group; ret_dir says where it is, or what was found instead. */
static int own_open(const struct view *view, const char *controller, char ret_dir[PATH_MAX])
{
	const char *path = own_path(view, controller);
	int rc = -ENOENT;

	if (!path) {
		snprintf(ret_dir, PATH_MAX, "this process is in no cgroup of that kind");
		return -ENOENT;
	}
	snprintf(ret_dir, PATH_MAX, "the hierarchy is not mounted where this process could see its own group %s", path);
	for (unsigned i = 0; i < view->mounts_n; i++) {
		const struct mount *mount = &view->mounts[i];
		char dir[PATH_MAX];

		if (mount->version != (controller ? 1 : 2) || (controller && !list_has(mount->options, controller)) ||
		    !seen_at(mount, path, dir))
			continue;
		rc = dir_open(dir, mount->version);
		snprintf(ret_dir, PATH_MAX, "%s", dir);
		if (rc >= 0)
			return rc;
	}
	return rc;
}

__attribute__((format(printf, 2, 3))) static void say(struct pl_cgroup_found *found, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(found->text, sizeof found->text, format, args);
	va_end(args);
}

/* The tree whose directory this is; -1. */
static int tree_find(const struct pl_cgroup_host *host, int fd)
{
	struct stat a, b;

	if (pl_sys_fstat(fd, &a) < 0)
		return -1;
	for (unsigned i = 0; i < host->trees_n; i++)
		if (pl_sys_fstat(host->trees[i].dir_fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
			return (int)i;
	return -1;
}

/* Makes a group, notes which controllers of wanted (bits) work in it, and removes it. Returns the bits, or -errno. */
static int probe(struct pl_cgroup_host *host, int dir_fd, int version, unsigned wanted)
{
	char name[PL_CGROUP_NAME_LEN + 8];
	unsigned usable = 0;
	int fd, rc;

	snprintf(name, sizeof name, "%s%llu", host->prefix, (unsigned long long)host->serial++);
	rc = pl_sys_mkdirat(dir_fd, name, 0755);
	if (rc < 0)
		return rc;
	fd = pl_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	for (unsigned c = 0; fd >= 0 && c < PL_CGROUP_CONTROLLER_N; c++)
		if (wanted & 1u << c && pl_sys_faccessat(fd, limit_files[c][version - 1], W_OK) == 0)
			usable |= 1u << c;
	if (fd >= 0)
		close(fd);
	rc = pl_cgroup_dir_remove(dir_fd, name);
	if (fd < 0)
		return fd;
	return rc < 0 ? rc : (int)usable;
}

/* Takes over fd. */
static int tree_add(struct pl_cgroup_host *host, int fd, int version, bool leaf)
{
	if (host->trees_n == PL_CGROUP_TREE_MAX) {
		close(fd);
		return -ENOSPC;
	}
	host->trees[host->trees_n] = (struct pl_cgroup_tree){ .version = version, .dir_fd = fd, .leaf = leaf };
	return (int)host->trees_n++;
}

static void v1_find(struct pl_cgroup_host *host, const struct view *view, enum pl_cgroup_controller c)
{
	struct pl_cgroup_found *found = &host->found[c];
	char dir[PATH_MAX];
	int fd, tree, rc;

	found->version = 1;
	fd = own_open(view, pl_cgroup_controller_name(c), dir);
	if (fd < 0) {
		say(found, "cgroup v1: %.300s: %s", dir, strerror(-fd));
		return;
	}
	tree = tree_find(host, fd);
	rc = probe(host, fd, 1, 1u << c);
	if (rc <= 0) {
		say(found, "cgroup v1: no group can be made below %.300s: %s; %s", dir,
		    rc < 0 ? strerror(-rc) : "the controller's files cannot be written",
		    rc == -EROFS ? "mount it writable" : "run as root, or have the folder given to this user");
		close(fd);
		return;
	}
	if (tree >= 0)
		close(fd);
	else
		tree = tree_add(host, fd, 1, false);
	if (tree < 0) {
		say(found, "cgroup v1: too many hierarchies");
		return;
	}
	found->usable = true;
	found->tree = (unsigned)tree;
	say(found, "cgroup v1 at %.300s", dir);
}

/* wanted: the controllers that v1 does not have, and the freezer. -EAGAIN: see pl_cgroup_delegate. */
static int v2_find(struct pl_cgroup_host *host, const struct view *view, const pid_t *ours, size_t ours_n, unsigned wanted)
{
	char dir[PATH_MAX], why[PL_CGROUP_WHY_LEN] = "";
	struct pl_cgroup_delegation delegation = { .dir_fd = -1 };
	int usable = -ENOENT, tree = -1;
	int fd = own_open(view, NULL, dir);

	if (fd >= 0) {
		struct pl_cgroup_place place = { .dir_fd = fd, .dir = dir, .path = own_path(view, NULL) };

		if (pl_cgroup_delegate(&place, wanted & ~(1u << PL_CGROUP_FREEZER), ours, ours_n, &delegation, why) < 0)
			return -EAGAIN;
		usable = probe(host, delegation.dir_fd, 2, wanted);
		if (usable > 0)
			tree = tree_add(host, delegation.dir_fd, 2, delegation.leaf);
		else
			close(delegation.dir_fd);
	}
	for (unsigned c = 0; c < PL_CGROUP_CONTROLLER_N; c++) {
		struct pl_cgroup_found *found = &host->found[c];

		if (!(wanted & 1u << c))
			continue;
		found->version = fd >= 0 ? 2 : 0;
		found->usable = tree >= 0 && usable & 1 << c;
		found->tree = found->usable ? (unsigned)tree : 0;
		if (fd < 0)
			say(found, "no cgroup: %.300s: %s", dir, strerror(-fd));
		else if (usable < 0)
			say(found, "cgroup v2: no group can be made below %.200s: %s; start it by `systemd-run --user --scope -p "
			    "Delegate=yes COMMAND`, or run as root", dir, strerror(-usable));
		else if (found->usable)
			say(found, "cgroup v2 at %.300s%s", dir, delegation.leaf ? ", this process in a leaf of it" : "");
		else if (delegation.missing & 1u << c)
			say(found, "cgroup v2 at %.200s: the group above does not pass this controller on (cgroup.controllers); set "
			    "Delegate=yes on the unit, or enable it in the cgroup.subtree_control above", dir);
		else
			say(found, "cgroup v2 at %.200s: %s", dir, why[0] ? why : "the controller's files cannot be written");
	}
	return 0;
}

static void hosts_trees_close(struct pl_cgroup_host *host)
{
	for (unsigned i = 0; i < host->trees_n; i++)
		close(host->trees[i].dir_fd);
	host->trees_n = 0;
}

static int find_once(struct pl_cgroup_host *host, const pid_t *ours, size_t ours_n)
{
	static const char *const none = "the kernel offers no such controller";
	unsigned wanted_v2 = 1u << PL_CGROUP_FREEZER;
	struct view view;
	int rc;

	rc = view_read(&view);
	for (unsigned c = 0; rc == 0 && c < PL_CGROUP_FREEZER; c++) {
		say(&host->found[c], "%s", none);
		if (own_path(&view, pl_cgroup_controller_name(c)))
			v1_find(host, &view, c);
		else
			wanted_v2 |= 1u << c;
	}
	if (rc == 0)
		rc = v2_find(host, &view, ours, ours_n, wanted_v2);
	/* A v2 tree is the better freezer, since it can also be born into and killed at one stroke. */
	if (rc == 0 && !host->found[PL_CGROUP_FREEZER].usable && own_path(&view, "freezer"))
		v1_find(host, &view, PL_CGROUP_FREEZER);
	view_fini(&view);
	return rc;
}

int pl_cgroup_find(struct pl_cgroup_host *ret, const pid_t *ours, size_t ours_n)
{
	uint64_t start;
	int rc;

	memset(ret, 0, sizeof *ret);
	rc = pl_cgroup_start_time("self", &start);
	if (rc < 0)
		return rc;
	snprintf(ret->prefix, sizeof ret->prefix, PL_CGROUP_GROUP_PREFIX "%d.%llu.", getpid(), (unsigned long long)start);
	for (int try = 0; try < FIND_TRIES; try++) {
		rc = find_once(ret, ours, ours_n);
		if (rc == 0)
			return 0;
		hosts_trees_close(ret);
		if (rc != -EAGAIN)
			break;
	}
	return rc;
}

void pl_cgroup_host_close(struct pl_cgroup_host *host)
{
	for (unsigned i = 0; i < host->trees_n; i++)
		if (host->trees[i].leaf)
			pl_cgroup_undelegate(host->trees[i].dir_fd);
	hosts_trees_close(host);
}
