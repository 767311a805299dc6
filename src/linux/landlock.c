/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers below are those of the kernel's include/uapi/linux/landlock.h. They are written out because the headers a
 * distribution installs are often older than the kernel it runs. */
#include "linux/landlock.h"

#include "linux/sys.h"

#define CREATE_RULESET_VERSION 1u

/* Kernels that know fewer members accept the longer struct as long as the members they do not know are zero. */
struct ruleset {
	uint64_t files;
	uint64_t net;
	uint64_t scoped;
};

/* From which version on the n lowest bits of a member are known. */
struct rights {
	int version;
	unsigned n;
};

static const struct rights file_rights[] = {
	{ 1, 13 }, /* execute, read, write, list, remove, make */
	{ 2, 14 }, /* move or link to another folder */
	{ 3, 15 }, /* truncate */
	{ 5, 16 }, /* ioctl on devices */
};
static const struct rights net_rights[] = { { 4, 2 } };   /* TCP bind, TCP connect */
static const struct rights scope_rights[] = { { 6, 2 } }; /* abstract sockets, signals */

static uint64_t known(const struct rights *rights, size_t n, int version)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++)
		if (version >= rights[i].version)
			bits = (UINT64_C(1) << rights[i].n) - 1;
	return bits;
}

#define KNOWN(rights, version) known(rights, sizeof(rights) / sizeof(rights)[0], version)

int pl_landlock_forbid_all(void)
{
	struct ruleset all = { 0 };
	int version, fd, rc;

	version = pl_sys_landlock_create_ruleset(NULL, 0, CREATE_RULESET_VERSION);
	if (version == -ENOSYS || version == -EOPNOTSUPP)
		return 0;
	if (version <= 0)
		return version ? version : -EPROTO;
	all.files = KNOWN(file_rights, version);
	all.net = KNOWN(net_rights, version);
	all.scoped = KNOWN(scope_rights, version);
	fd = pl_sys_landlock_create_ruleset(&all, sizeof all, 0);
	if (fd < 0)
		return fd;
	rc = pl_sys_landlock_restrict_self(fd, 0); /* no rule was added: nothing is allowed */
	close(fd);
	return rc < 0 ? rc : version;
}
