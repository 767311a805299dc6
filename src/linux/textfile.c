/* SPDX-License-Identifier: Apache-2.0 */
#include "linux/textfile.h"

#include "base/alloc.h"
#include "linux/sys.h"

#include <string.h>

#define FIRST_SIZE 4096u

/* One read after another until the file ends: procfs gives at most a page or so at a time. */
static int read_to_end(int fd, size_t max, char **text)
{
	size_t size = FIRST_SIZE, len = 0;

	for (;;) {
		ssize_t n = pl_sys_read(fd, *text + len, size - len - 1);
		char *larger;

		if (n < 0)
			return (int)n;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
		(*text)[len] = 0;
		if (n == 0)
			return 0;
		if (len + 1 < size)
			continue;
		larger = pl_realloc(*text, size * 2);
		if (!larger)
			return -ENOMEM;
		*text = larger;
		size *= 2;
	}
}

int pl_text_read(int dirfd, const char *path, size_t max, char **ret_text)
{
	char *text = pl_malloc(FIRST_SIZE);
	int fd, rc;

	if (!text)
		return -ENOMEM;
	fd = pl_sys_openat(dirfd, path, O_RDONLY | O_NOCTTY, 0);
	rc = fd < 0 ? fd : read_to_end(fd, max, &text);
	if (fd >= 0)
		close(fd);
	if (rc < 0) {
		pl_free(text);
		return rc;
	}
	*ret_text = text;
	return 0;
}

int pl_text_number(const char *text, uint64_t *ret_number, const char **ret_end)
{
	uint64_t number = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return -ERANGE;
	if (p == text)
		return -EINVAL;
	*ret_number = number;
	if (ret_end)
		*ret_end = p;
	return 0;
}

int pl_text_keyed(const char *text, const char *key, uint64_t *ret_number)
{
	size_t key_len = strlen(key);

	while (text && *text) {
		if (strncmp(text, key, key_len) == 0 && text[key_len] == ' ')
			return pl_text_number(text + key_len + 1, ret_number, NULL);
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return -ENODATA;
}

char *pl_text_line(char **cursor)
{
	char *line = *cursor, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = 0;
	*cursor = end ? end + 1 : line + strlen(line);
	return line;
}
