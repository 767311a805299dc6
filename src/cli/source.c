/* SPDX-License-Identifier: Apache-2.0 */
/* source: see source.h. What is read is only measured here; the library judges what is in it. */
#include "source.h"

#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
	size_t text_len = strlen(text), end_len = strlen(end);

	return text_len >= end_len && strcmp(text + text_len - end_len, end) == 0;
}

static enum plimsoll_source kind_of(const char *path)
{
	if (ends_with(path, ".mjs"))
		return PLIMSOLL_SOURCE_MODULE;
	return ends_with(path, ".cjs") ? PLIMSOLL_SOURCE_SCRIPT : PLIMSOLL_SOURCE_AUTO;
}

/* The path as typed, where stack traces may show it. */
static const char *name_of(const char *path)
{
	size_t len = strlen(path);

	if (len > 255)
		return "[file]";
	for (size_t i = 0; i < len; i++)
		if (path[i] < 0x20 || path[i] > 0x7e)
			return "[file]";
	return path;
}

static int fd_read(int fd, struct source *source)
{
	while (source->len < SOURCE_MAX_BYTES) {
		ssize_t n = read(fd, source->owned + source->len, SOURCE_MAX_BYTES - source->len);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		source->len += (size_t)n;
	}
	return source->len == SOURCE_MAX_BYTES ? -EFBIG : 0;
}

static void failure_print(const char *path, int error)
{
	if (error == EINTR)
		print_usage_error("run", "interrupted while reading %.200s", path);
	else if (error == EFBIG)
		print_usage_error("run", "%.200s is longer than a program may be; at most %u bytes (256 KiB) are taken", path,
				  SOURCE_MAX_BYTES - 1);
	else
		print_usage_error("run", "cannot read %.200s: %s; give a file that you may read, - for stdin, or -e CODE", path,
				  strerror(error));
}

int source_read(const char *path, struct source *ret)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int rc = fd < 0 ? -errno : 0;

	*ret = (struct source){ .name = is_stdin ? "[stdin]" : name_of(path), .kind = kind_of(path) };
	if (rc == 0) {
		ret->owned = malloc(SOURCE_MAX_BYTES);
		rc = ret->owned ? fd_read(fd, ret) : -ENOMEM;
	}
	if (fd >= 0 && !is_stdin)
		close(fd);
	ret->code = ret->owned;
	if (rc == 0)
		return 0;
	source_fini(ret);
	failure_print(is_stdin ? "stdin" : path, -rc);
	return rc;
}

void source_fini(struct source *source)
{
	free(source->owned);
	*source = (struct source){ 0 };
}
