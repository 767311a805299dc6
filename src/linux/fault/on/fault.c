/* SPDX-License-Identifier: Apache-2.0 */
/* fault: the table behind fault.h in test builds. One process, one spec; no locks, since the programs have one thread. Nothing
 * here goes through the wrappers, so that injecting does not count itself. */
#include "fault.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char spec_now[64];
static char sabotage[64];
static long countdown; /* calls until the one that fails; 0: none */
static int fail_error; /* 0: the program ends instead */
static bool alloc_awaited;
static uint64_t engine_allocation;
static int dir_fd = -1; /* of the file fault.log; launch and guest have none */

static void note(const char *what, const char *text, size_t len)
{
	char line[128];
	int fd = dir_fd < 0 ? -1 : openat(dir_fd, "fault.log", O_WRONLY | O_APPEND | O_CLOEXEC);
	int n = snprintf(line, sizeof line, "%s %.*s\n", what, (int)len, text);

	if (fd < 0)
		return;
	if (write(fd, line, (size_t)n) != n)
		_exit(PL_FAULT_EXIT);
	close(fd);
}

bool pl_sabotage(const char *name)
{
	return sabotage[0] && strcmp(sabotage, name) == 0;
}

uint64_t pl_fault_engine(void)
{
	return engine_allocation;
}

uint64_t pl_sabotage_room(uint64_t pids)
{
	return sabotage[0] == '+' ? pids + 6 : pids;
}

int pl_fault(const char *site)
{
	if (alloc_awaited && pl_alloc_failed()) {
		alloc_awaited = false;
		note("fired", "alloc before", 12);
		note("site", site, strlen(site));
	}
	if (countdown == 0 || --countdown)
		return 0;
	note("fired", site, strlen(site));
	if (!fail_error)
		_exit(PL_FAULT_EXIT);
	return -fail_error;
}

void pl_fault_out(const void *bytes, size_t len)
{
	static const char witness[] = PL_FAULT_WITNESS;
	const char *end = (const char *)bytes + len;
	const char *at = dir_fd < 0 ? NULL : memmem(bytes, len, witness, sizeof witness - 1);
	size_t n = sizeof witness - 1;

	if (!at)
		return;
	while (at + n < end && at[n] >= '0' && at[n] <= '9')
		n++;
	/* Without digits it is the text above, in the image of a helper. */
	if (n >= sizeof witness)
		note("out", at, n);
}

static void spec_parse(const char *program, const char *spec)
{
	size_t program_len = strlen(program);
	const char *rest = spec + program_len;
	char *end;

	if (strncmp(spec, "sabotage:", 9) == 0) {
		memccpy(sabotage, spec + 9, 0, sizeof sabotage - 1);
		return;
	}
	if (strncmp(spec, "engine:alloc:", 13) == 0)
		engine_allocation = strtoull(spec + 13, NULL, 10);
	if (strncmp(spec, program, program_len))
		return;
	if (strncmp(rest, ":call:", 6) == 0) {
		countdown = strtol(rest + 6, &end, 10);
		fail_error = *end == ':' ? (int)strtol(end + 1, NULL, 10) : EIO;
	} else if (strncmp(rest, ":die:", 5) == 0) {
		countdown = strtol(rest + 5, NULL, 10);
		fail_error = 0;
	} else if (strncmp(rest, ":alloc:", 7) == 0) {
		pl_alloc_fail(strtoul(rest + 7, NULL, 10));
		alloc_awaited = true;
	}
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
	engine_allocation = 0;
	if (alloc_awaited)
		pl_alloc_fail(0);
	alloc_awaited = false;
	strncpy(spec_now, spec, sizeof spec_now - 1);
	spec_parse(program, spec_now);
}

static int own_folder(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	char *slash;

	if (n < 0)
		return -1;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash)
		return -1;
	*slash = 0;
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void pl_fault_load(const char *program, int dirfd, char *ret_spec, size_t size)
{
	ssize_t n = 0;
	int fd;

	if (dir_fd < 0)
		dir_fd = dirfd < 0 ? own_folder() : dirfd;
	fd = openat(dir_fd, "fault", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, ret_spec, size - 1);
		close(fd);
	}
	ret_spec[n > 0 ? n : 0] = 0;
	ret_spec[strcspn(ret_spec, "\n")] = 0;
	pl_fault_set(program, ret_spec);
}
