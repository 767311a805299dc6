/* SPDX-License-Identifier: Apache-2.0 */
/* helpers: see helpers.h. */
#include "helpers.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The folder of this program, into dir. */
static bool own_dir(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	char *slash;

	if (n > 0)
		dir[n] = 0;
	else if (started_as) /* no /proc: the kernel's word on how we were started, so that the supervisor can say what is missing */
		snprintf(dir, PATH_MAX, "%s", started_as);
	else
		return false;
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return false;
	*slash = 0;
	return true;
}

const char *helpers_dir(void)
{
	/* In a build; and where an installation was moved as a whole, as by DESTDIR. */
	static const char *const places[] = { "", "/../libexec/plimsoll" };
	static char found[PATH_MAX + 32];
	char dir[PATH_MAX], path[sizeof found + sizeof "/plimsoll-supervisor"];

	if (!own_dir(dir))
		return NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(found, sizeof found, "%s%s", dir, places[i]);
		snprintf(path, sizeof path, "%s/plimsoll-supervisor", found);
		if (access(path, X_OK) == 0)
			return found;
	}
	return NULL;
}
