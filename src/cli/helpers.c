/* SPDX-License-Identifier: Apache-2.0 */
/* helpers: see helpers.h. */
#include "helpers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *helpers_dir(void)
{
	static char dir[PATH_MAX];
	char path[PATH_MAX + sizeof "/plimsoll-supervisor"];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	char *slash;

	if (n > 0)
		dir[n] = 0;
	else if (started_as) /* no /proc: the kernel's word on how we were started, so that the supervisor can say what is missing */
		snprintf(dir, sizeof dir, "%s", started_as);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return NULL;
	*slash = 0;
	snprintf(path, sizeof path, "%s/plimsoll-supervisor", dir);
	return access(path, X_OK) == 0 ? dir : NULL;
}

const char *helpers_flavours(const char *flag)
{
	return flag ? flag : getenv("PLIMSOLL_MICROVM_FLAVOURS");
}
