/* SPDX-License-Identifier: Apache-2.0 */
/* fault: the table behind fault.h in test builds. One process, one spec; no locks, since the programs have one thread. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char spec_now[64];
static char sabotage[48];
static long countdown; /* calls until the one that fails; 0: none */
static int fail_error;

bool pl_sabotage(const char *name)
{
	return sabotage[0] && strcmp(sabotage, name) == 0;
}

int pl_fault(const char *site)
{
	(void)site;
	if (countdown == 0 || --countdown)
		return 0;
	return -fail_error;
}

static void spec_parse(const char *program, const char *spec)
{
	size_t program_len = strlen(program);
	char *end;

	if (strncmp(spec, "sabotage:", 9) == 0) {
		strncpy(sabotage, spec + 9, sizeof sabotage - 1);
		return;
	}
	if (strncmp(spec, program, program_len) || strncmp(spec + program_len, ":call:", 6))
		return;
	countdown = strtol(spec + program_len + 6, &end, 10);
	fail_error = *end == ':' ? (int)strtol(end + 1, NULL, 10) : EIO;
}

void pl_fault_set(const char *program, const char *spec)
{
	if (!spec)
		spec = "";
	if (strncmp(spec_now, spec, sizeof spec_now - 1) == 0)
		return;
	memset(sabotage, 0, sizeof sabotage);
	memset(spec_now, 0, sizeof spec_now);
	countdown = 0;
	strncpy(spec_now, spec, sizeof spec_now - 1);
	spec_parse(program, spec_now);
}

void pl_fault_load(const char *program, int dirfd, char *ret_spec, size_t size)
{
	ssize_t n = 0;
	int fd = openat(dirfd, "fault", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, ret_spec, size - 1);
		close(fd);
	}
	ret_spec[n > 0 ? n : 0] = 0;
	ret_spec[strcspn(ret_spec, "\n")] = 0;
	pl_fault_set(program, ret_spec);
}
