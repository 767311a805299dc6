/* SPDX-License-Identifier: Apache-2.0 */
/* spaces: namespaces of the guest's own, mounts and links that should not be there, descriptors that it should not have. */
#include "launch/break/on/parts.h"
#include "linux/mount.h"
#include "linux/sys.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>

static int unshare_one(int flag)
{
	return (int)PL_SYS("unshare", syscall(SYS_unshare, flag));
}

int pl_break_own_mnt(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWNS);
}

int pl_break_own_net(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWNET);
}

int pl_break_own_ipc(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWIPC);
}

int pl_break_own_uts(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWUTS);
}

int pl_break_own_cgroup(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWCGROUP);
}

/* A new user namespace gives every capability in it; they go again, so that only the namespace is wrong. */
int pl_break_own_user(const struct pl_jail_plan *plan)
{
	int rc = unshare_one(CLONE_NEWUSER);

	(void)plan;
	for (unsigned long cap = 0; rc == 0 && cap < 64; cap++)
		if (pl_sys_prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			break;
	return rc;
}

int pl_break_children_pid(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWPID);
}

int pl_break_children_time(const struct pl_jail_plan *plan)
{
	(void)plan;
	return unshare_one(CLONE_NEWTIME);
}

/* The working directory is the new root, which is still writable. The mount itself is read-only: fs.root alone is wrong. */
int pl_break_another_mount(const struct pl_jail_plan *plan)
{
	int fs, fd, rc = pl_sys_mkdirat(AT_FDCWD, "another", 0755);

	(void)plan;
	if (rc < 0)
		return rc;
	fs = pl_fsopen("tmpfs");
	if (fs < 0)
		return fs;
	rc = pl_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
	fd = rc < 0 ? rc : pl_fsmount(fs, MOUNT_ATTR_RDONLY);
	close(fs);
	if (fd < 0)
		return fd;
	rc = pl_move_mount(fd, AT_FDCWD, "another");
	close(fd);
	return rc;
}

int pl_break_exec_tmp(const struct pl_jail_plan *plan)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_NOEXEC };

	(void)plan;
	return pl_mount_setattr(AT_FDCWD, "tmp", 0, &attr);
}

struct link_request {
	struct nlmsghdr header;
	struct ifinfomsg info;
	struct rtattr linkinfo, kind;
	char name[8];
};

static int link_add(int fd, const char *kind)
{
	struct link_request request = {
		.header = { .nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL },
		.linkinfo = { .rta_len = sizeof request - offsetof(struct link_request, linkinfo), .rta_type = IFLA_LINKINFO },
		.kind = { .rta_len = (unsigned short)(RTA_LENGTH(strlen(kind))), .rta_type = IFLA_INFO_KIND },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} answer = { 0 };
	ssize_t n;

	memcpy(request.name, kind, strlen(kind));
	n = pl_sys_send(fd, &request, sizeof request, 0);
	if (n >= 0)
		n = pl_sys_recv(fd, &answer, sizeof answer, 0);
	return n < 0 ? (int)n : answer.header.nlmsg_type == NLMSG_ERROR ? answer.error.error : -EPROTO;
}

/* Of the kinds of link that need no hardware, the first that this kernel has. */
int pl_break_another_link(const struct pl_jail_plan *plan)
{
	static const char *const kinds[] = { "dummy", "bridge", "veth", "ifb" };
	int fd = (int)PL_SYS("socket", socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)), rc = -EOPNOTSUPP;

	(void)plan;
	if (fd < 0)
		return fd;
	for (size_t i = 0; rc < 0 && i < sizeof kinds / sizeof *kinds; i++)
		rc = link_add(fd, kinds[i]);
	close(fd);
	return rc;
}

int pl_break_another_descriptor(const struct pl_jail_plan *plan)
{
	int fd = pl_sys_memfd_create("another", 0);

	(void)plan;
	if (fd < 0)
		return fd;
	return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
}

int pl_break_control_socket(const struct pl_jail_plan *plan)
{
	(void)plan;
	return fcntl(PL_LAUNCH_CONTROL_FD, F_SETFD, 0) < 0 ? -errno : 0;
}

int pl_break_second_stream(const struct pl_jail_plan *plan)
{
	(void)plan;
	return dup2(PL_LAUNCH_STREAM_FD, 1) < 0 ? -errno : 0;
}
