/* SPDX-License-Identifier: Apache-2.0 */
/* units: see units.h. */
#include "units.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit durations[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { NULL, 0 } };
static const struct unit sizes[] = {
	{ "B", 1 },           { "K", 1ull << 10 },   { "KiB", 1ull << 10 }, { "M", 1ull << 20 },
	{ "MiB", 1ull << 20 }, { "G", 1ull << 30 },   { "GiB", 1ull << 30 }, { NULL, 0 },
};

/* Only digits, at least one, that fit: the end of them; else NULL. */
static const char *digits_parse(const char *text, uint64_t *ret)
{
	size_t len = strspn(text, "0123456789");
	unsigned long long value;

	if (!len)
		return NULL;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno)
		return NULL;
	*ret = value;
	return text + len;
}

static int unit_parse(const char *text, const struct unit *units, uint64_t *ret)
{
	uint64_t value;
	const char *end = digits_parse(text, &value);

	if (!end)
		return text[0] >= '0' && text[0] <= '9' ? -ERANGE : -EINVAL;
	for (; units->name; units++) {
		if (strcmp(units->name, end))
			continue;
		if (value > INT64_MAX / units->factor)
			return -ERANGE;
		*ret = value * units->factor;
		return 0;
	}
	return -EINVAL;
}

const char *units_duration_parse(const char *text, int64_t *ret_ms)
{
	uint64_t value = 0;
	int rc = unit_parse(text, durations, &value);

	if (rc == -ERANGE)
		return "is more than a number can hold; give at most 5m";
	if (rc < 0)
		return "is not a duration; give a whole number with its unit, as 500ms, 2s or 1m";
	if (!value)
		return "is no time at all; give at least 1ms";
	*ret_ms = (int64_t)value;
	return NULL;
}

const char *units_size_parse(const char *text, uint64_t *ret_bytes)
{
	uint64_t value = 0;
	int rc = unit_parse(text, sizes, &value);

	if (rc == -ERANGE)
		return "is more than a number can hold; give less";
	if (rc < 0)
		return "is not a size; give a whole number with its unit, as 512KiB, 64MiB or 1GiB (K, M and G are the same, B is "
		       "bytes)";
	if (!value)
		return "is nothing at all; give at least 1B";
	*ret_bytes = value;
	return NULL;
}

const char *units_fd_parse(const char *text, int *ret_fd)
{
	uint64_t value;
	const char *end = digits_parse(text, &value);

	if (!end || *end || value > INT_MAX)
		return "is not a file descriptor; give its number, as 3";
	*ret_fd = (int)value;
	return NULL;
}

const char *units_size_print(char *text, int size, uint64_t bytes)
{
	if (bytes < 1ull << 20)
		snprintf(text, (size_t)size, "%.1f KiB", (double)bytes / 1024);
	else
		snprintf(text, (size_t)size, "%.1f MiB", (double)bytes / (1 << 20));
	return text;
}

const char *units_duration_print(char *text, int size, int64_t us)
{
	if (us < 1000000)
		snprintf(text, (size_t)size, "%.1f ms", (double)us / 1000);
	else
		snprintf(text, (size_t)size, "%.2f s", (double)us / 1000000);
	return text;
}
