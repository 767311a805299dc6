/* SPDX-License-Identifier: Apache-2.0 */
/* kvm: see kvm.h. */
#include "linux/kvm.h"

#include "base/fd.h"
#include "linux/sys.h"

#include <linux/kvm.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define KVM_MAJOR 10u /* Documentation/admin-guide/devices.txt */
#define KVM_MINOR 232u
#define STATS_N_MAX 512u
#define STATS_NAME_MAX 128u

static const struct {
	enum pl_kvm_flavour flavour;
	const char *name, *module;
} flavours[] = {
#define X(name, bit, text, module) { PL_KVM_##name, text, module },
	PL_KVM_FLAVOUR_LIST(X)
#undef X
};
#define FLAVOURS_N (sizeof flavours / sizeof *flavours)

int pl_kvm_flavours_parse(const char *list, unsigned *ret)
{
	unsigned bits = 0;

	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ","), n = len, blanks = strspn(at, " ");
		unsigned found = 0;

		blanks = blanks < len ? blanks : len;
		while (n > blanks && at[n - 1] == ' ')
			n--;
		for (size_t i = 0; i < FLAVOURS_N; i++)
			if (strlen(flavours[i].name) == n - blanks && strncmp(flavours[i].name, at + blanks, n - blanks) == 0)
				found = flavours[i].flavour;
		if (!found)
			return -EINVAL;
		bits |= found;
		at += len + (at[len] == ',');
	}
	if (!bits)
		return -EINVAL;
	*ret = bits;
	return 0;
}

void pl_kvm_flavours_print(unsigned bits, char *ret, size_t size)
{
	size_t len = 0;

	ret[0] = 0;
	for (size_t i = 0; i < FLAVOURS_N; i++) {
		if (!(bits & flavours[i].flavour) || len >= size)
			continue;
		len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? "," : "", flavours[i].name);
	}
}

enum pl_kvm_flavour pl_kvm_flavour_choose(int sysfs_fd, const char *cpu_flags)
{
	enum pl_kvm_flavour found = 0;

	for (size_t i = 0; i < FLAVOURS_N; i++) {
		char flag[8];

		snprintf(flag, sizeof flag, " %s ", flavours[i].name);
		if (pl_sys_faccessat(sysfs_fd, flavours[i].module, F_OK) < 0)
			continue;
		if (flavours[i].flavour != PL_KVM_PVM && !strstr(cpu_flags, flag))
			continue;
		if (found)
			return 0; /* which of two serves /dev/kvm cannot be seen */
		found = flavours[i].flavour;
	}
	return found;
}

/* The first processor's flags with a blank at either end. */
static void cpu_flags_read(char *ret, size_t size)
{
	static char text[16384];
	PL_CLEANUP_FD fd = pl_sys_openat(AT_FDCWD, "/proc/cpuinfo", O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : pl_sys_read(fd, text, sizeof text - 1);
	const char *at, *from;

	ret[0] = 0;
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "\nflags");
	from = at ? strchr(at, ':') : NULL;
	if (from)
		snprintf(ret, size, "%.*s ", (int)strcspn(from + 1, "\n"), from + 1);
}

enum pl_kvm_flavour pl_kvm_flavour_look(void)
{
	static char flags[8192];
	PL_CLEANUP_FD fd = pl_sys_openat(AT_FDCWD, "/sys/module", O_PATH | O_DIRECTORY, 0);

	if (fd < 0)
		return 0;
	cpu_flags_read(flags, sizeof flags);
	return pl_kvm_flavour_choose(fd, flags);
}

static const char *lacking(int fd)
{
	static const struct {
		int capability;
		const char *name;
	} needed[] = {
		{ KVM_CAP_READONLY_MEM, "read-only memory" },
		{ KVM_CAP_IMMEDIATE_EXIT, "immediate exit" },
		{ KVM_CAP_XSAVE, "saved extended state" },
		{ 203 /* KVM_CAP_BINARY_STATS_FD, Linux 5.14 */, "statistics descriptors" },
	};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (PL_SYS("ioctl", ioctl(fd, KVM_CHECK_EXTENSION, needed[i].capability)) <= 0)
			return needed[i].name;
	return NULL;
}

int pl_kvm_open(const char **ret_lacks)
{
	PL_CLEANUP_FD fd = pl_sys_openat(AT_FDCWD, "/dev/kvm", O_RDWR | O_NOFOLLOW, 0);
	struct stat st;
	int rc = fd < 0 ? fd : pl_sys_fstat(fd, &st), taken;

	if (rc < 0)
		return rc;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(KVM_MAJOR, KVM_MINOR))
		return -ENODEV;
	if (PL_SYS("ioctl", ioctl(fd, KVM_GET_API_VERSION, 0)) != KVM_API_VERSION)
		return -EPROTO;
	*ret_lacks = lacking(fd);
	if (*ret_lacks)
		return -EOPNOTSUPP;
	taken = fd;
	fd = -1;
	return taken;
}

/* The format: Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD. All of it is the kernel's word; lengths are bounded all the same. */
int pl_kvm_stats_exits(int fd, char ret_id[PL_KVM_ID_SIZE], uint64_t *ret)
{
	struct kvm_stats_header header;

	if (pl_sys_pread(fd, &header, sizeof header, 0) != sizeof header)
		return -EIO;
	if (header.name_size == 0 || header.name_size > STATS_NAME_MAX || header.num_desc > STATS_N_MAX)
		return -EPROTO;
	memset(ret_id, 0, PL_KVM_ID_SIZE);
	if (pl_sys_pread(fd, ret_id, header.name_size < PL_KVM_ID_SIZE ? header.name_size : PL_KVM_ID_SIZE - 1,
			 header.id_offset) < 0)
		return -EIO;
	for (uint32_t i = 0; i < header.num_desc; i++) {
		char bytes[sizeof(struct kvm_stats_desc) + STATS_NAME_MAX + 1] = "";
		size_t size = sizeof(struct kvm_stats_desc) + header.name_size;
		struct kvm_stats_desc desc;

		if (pl_sys_pread(fd, bytes, size, (off_t)(header.desc_offset + i * size)) != (ssize_t)size)
			return -EIO;
		memcpy(&desc, bytes, sizeof desc); /* the name follows it */
		if (strcmp(bytes + sizeof desc, "exits") != 0)
			continue;
		return pl_sys_pread(fd, ret, sizeof *ret, (off_t)header.data_offset + desc.offset) == sizeof *ret ? 0 : -EIO;
	}
	return -ENOENT;
}
