/* SPDX-License-Identifier: Apache-2.0 */
/* limits: see limits.h. */
#include "contract/limits.h"

#include "base/text.h"
#include "base/utf8.h"
#include "contract/error.h"
#include "linux/kvm.h"

#include <inttypes.h>
#include <string.h>

#define INVALID(...) pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "check request", __VA_ARGS__)

static int code_check(const struct pl_msg_run *run, struct plimsoll_error *error)
{
	if (!run->code_len)
		return INVALID("code is empty; give 1 to %u bytes of JavaScript", PL_CODE_MAX_BYTES);
	if (run->code_len > PL_CODE_MAX_BYTES)
		return INVALID("code is %zu bytes; at most %u bytes (256 KiB) are taken", run->code_len, PL_CODE_MAX_BYTES);
	if (memchr(run->code, 0, run->code_len))
		return INVALID("code holds a NUL byte at offset %zu; write \\0 in a string instead",
			       (size_t)((const uint8_t *)memchr(run->code, 0, run->code_len) - run->code));
	if (!pl_utf8_valid(run->code, run->code_len))
		return INVALID("code is not valid UTF-8; save the file as UTF-8");
	return 0;
}

static int name_check(const struct pl_msg_run *run, struct plimsoll_error *error)
{
	size_t len = strlen(run->name);

	if (len > PL_NAME_MAX_BYTES)
		return INVALID("name is %zu bytes; at most %u are taken", len, PL_NAME_MAX_BYTES);
	for (size_t i = 0; i < len; i++)
		if (run->name[i] < 0x20 || run->name[i] > 0x7e)
			return INVALID("name holds a byte that is not printable ASCII at offset %zu", i);
	return 0;
}

static int word_check(const struct pl_msg_run *run, struct plimsoll_error *error)
{
	enum plimsoll_tier tier;

	if (run->floor[0] && plimsoll_tier_parse(run->floor, &tier) < 0)
		return INVALID("floor \"%.40s\" is not a tier; the floors are process, container, kernel and vm", run->floor);
	if (strlen(run->wall) > PL_WALL_MAX_BYTES)
		return INVALID("wall \"%.40s\" and more is %zu bytes; give the name of a wall, or auto", run->wall,
			       strlen(run->wall));
	if (run->source > PLIMSOLL_SOURCE_MODULE)
		return INVALID("source %u is not known; 0 is auto, 1 script, 2 module", run->source);
	return 0;
}

static int output_check(uint64_t bytes, const char *name, struct plimsoll_error *error)
{
	if (bytes > PL_OUTPUT_MAX_BYTES)
		return INVALID("%s limit is %" PRIu64 " bytes; at most %" PRIu64 " (8 MiB) are kept", name, bytes,
			       (uint64_t)PL_OUTPUT_MAX_BYTES);
	return 0;
}

static int number_check(const struct pl_msg_run *run, struct plimsoll_error *error)
{
	int rc;

	if (run->timeout_ms < 0)
		return INVALID("timeout is %" PRId64 " ms; give 0 for the default (%d ms) or a positive number", run->timeout_ms,
			       PL_TIMEOUT_DEFAULT_MS);
	if (run->memory_bytes && (run->memory_bytes < PL_MEMORY_MIN_BYTES || run->memory_bytes > PL_MEMORY_MAX_BYTES))
		return INVALID("memory is %" PRIu64 " bytes; give 0 for the default (256 MiB) or 16 MiB to 4 GiB",
			       run->memory_bytes);
	rc = output_check(run->stdout_max_bytes, "stdout", error);
	return rc < 0 ? rc : output_check(run->stderr_max_bytes, "stderr", error);
}

int pl_request_check(const struct pl_msg_run *run, struct plimsoll_error *error)
{
	int rc = code_check(run, error);

	if (rc == 0)
		rc = name_check(run, error);
	if (rc == 0)
		rc = word_check(run, error);
	if (rc == 0)
		rc = number_check(run, error);
	return rc;
}

int pl_limits_fill(const struct pl_msg_run *run, const struct pl_settings *settings, struct pl_limits *ret,
		   struct plimsoll_error *error)
{
	struct pl_limits l = {
		.timeout_ms = run->timeout_ms ? run->timeout_ms : PL_TIMEOUT_DEFAULT_MS,
		.memory_bytes = run->memory_bytes ? run->memory_bytes : PL_MEMORY_DEFAULT_BYTES,
		.stdout_max_bytes = run->stdout_max_bytes ? run->stdout_max_bytes : PL_OUTPUT_DEFAULT_BYTES,
		.stderr_max_bytes = run->stderr_max_bytes ? run->stderr_max_bytes : PL_OUTPUT_DEFAULT_BYTES,
	};

	if (l.memory_bytes > settings->memory_max_bytes)
		return INVALID("memory is %" PRIu64 " bytes; this context's maximum is %" PRIu64, l.memory_bytes,
			       settings->memory_max_bytes);
	if (l.timeout_ms > settings->timeout_max_ms)
		l.timeout_ms = settings->timeout_max_ms;
	/* A limit is a whole number of pages, which is what the kernel makes of it and what is read back. */
	l.memory_bytes &= ~4095ull;
	l.cpu_seconds = (uint64_t)(l.timeout_ms + 999) / 1000 + 2;
	*ret = l;
	return 0;
}

/* Ids end before the last 65536, among which are those that mean "nobody" and "leave as it is". */
#define ID_END (UINT32_MAX - 65536u)

static void range_check(struct pl_text *bad, const char *name, uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low || value > high)
		pl_text_add(bad, "%s%s is %" PRIu64 ", give %" PRIu64 " to %" PRIu64, bad->len ? "; " : "", name, value, low,
			    high);
}

int pl_settings_check(const struct pl_msg_open *open, struct pl_settings *ret, struct plimsoll_error *error)
{
	char message[sizeof error->message];
	struct pl_text bad = PL_TEXT(message);
	struct pl_settings s = {
		.floor = PLIMSOLL_TIER_UNKNOWN,
		.pool = open->pool,
		.runs_max = open->runs_max ? open->runs_max : PL_RUNS_DEFAULT,
		.id_first = open->id_first ? open->id_first : PL_ID_FIRST,
		.id_count = open->id_count ? open->id_count : PL_ID_COUNT,
		.memory_max_bytes = open->memory_max_bytes ? open->memory_max_bytes : PL_MEMORY_MAX_BYTES,
		.timeout_max_ms = open->timeout_max_ms ? open->timeout_max_ms : PL_TIMEOUT_CEILING_MS,
	};

	if (open->floor[0] && plimsoll_tier_parse(open->floor, &s.floor) < 0)
		pl_text_add(&bad, "floor is \"%.40s\", give process, container, kernel or vm", open->floor);
	if (pl_kvm_flavours_parse(open->microvm_flavours && open->microvm_flavours[0] ? open->microvm_flavours : PL_FLAVOURS_DEFAULT,
				  &s.microvm_flavours) < 0)
		pl_text_add(&bad, "%smicrovm_flavours is \"%.40s\", give a list of vmx, svm and pvm", bad.len ? "; " : "",
			    open->microvm_flavours);
	range_check(&bad, "pool", s.pool, 0, PL_POOL_MAX);
	range_check(&bad, "runs_max", s.runs_max, 1, PL_RUNS_MAX);
	range_check(&bad, "id_first", s.id_first, 65536, ID_END - 4);
	range_check(&bad, "id_count", s.id_count, 4, ID_END - (s.id_first <= ID_END - 4 ? s.id_first : 0));
	range_check(&bad, "memory_max_bytes", s.memory_max_bytes, PL_MEMORY_MIN_BYTES, PL_MEMORY_MAX_BYTES);
	range_check(&bad, "timeout_max_ms", (uint64_t)s.timeout_max_ms, 1, PL_TIMEOUT_MAX_MS);
	if (bad.len)
		return pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "check options", "%s", message);
	*ret = s;
	return 0;
}
