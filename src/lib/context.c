/* SPDX-License-Identifier: Apache-2.0 */
/* context: opening and closing; see plimsoll.h. The caller's options are checked here and once more by the supervisor. */
#include "context.h"

#include "start.h"

#include "base/alloc.h"
#include "base/text.h"
#include "build_id.h"
#include "contract/error.h"
#include "contract/limits.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The size of each struct in version 0.1; later versions only append. */
#define OPTIONS_FIRST_SIZE (offsetof(struct plimsoll_options, timeout_max_ms) + sizeof(int64_t))
/* More than every wall's name; what is in it the supervisor judges. */
#define WALLS_MAX_BYTES 256
/* How long plimsoll_close waits for the supervisor to clean up. It goes on cleaning up if this is not enough. */
#define CLOSE_WITHIN_MS 10000

#define INVALID(...)                                                                                                   \
	pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "check options", __VA_ARGS__)

static int tail_is_zero(const uint8_t *bytes, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (bytes[i])
			return 0;
	return 1;
}

int pl_sized_copy(void *ret, size_t our_size, size_t first_size, const void *theirs, const char *what,
		  struct plimsoll_error *error)
{
	size_t size;

	if (!theirs)
		return INVALID("%s is NULL", what);
	memcpy(&size, theirs, sizeof size);
	/* No version will be a page long: beyond that the field was never set, and reading on would be reckless. */
	if (size < first_size || size > 4096)
		return INVALID("%s has size %zu, which no version of this library has; set it with its _INIT macro", what, size);
	if (size > our_size && !tail_is_zero(theirs, our_size, size))
		return INVALID("%s sets a field that this version (%s) does not know", what, PLIMSOLL_VERSION);
	memset(ret, 0, our_size);
	memcpy(ret, theirs, size < our_size ? size : our_size);
	return 0;
}

/* What the supervisor cannot look at for us, and then the rest; all that is wrong goes into one message. */
static int options_check(const struct plimsoll_options *options, const struct pl_msg_open *open,
			 struct plimsoll_error *error)
{
	const char *dir = options->libexec_dir;
	char message[sizeof error->message];
	struct pl_text bad = PL_TEXT(message);
	struct plimsoll_error rest;
	struct pl_settings settings;

	if (strlen(open->walls) > WALLS_MAX_BYTES)
		pl_text_add(&bad, "walls is %zu bytes, give names with commas between them, as container,process",
			    strlen(open->walls));
	if (dir && dir[0] != '/')
		pl_text_add(&bad, "%slibexec_dir is \"%.60s\", give an absolute path", bad.len ? "; " : "", dir);
	if (pl_settings_check(open, &settings, &rest) < 0)
		pl_text_add(&bad, "%s%s", bad.len ? "; " : "", rest.message);
	return bad.len ? INVALID("%s", message) : 0;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int open_checked(const struct plimsoll_options *options, struct plimsoll_context *context,
			struct plimsoll_error *error)
{
	struct pl_msg_open open = {
		.build_id = PL_BUILD_ID,
		.walls = or_empty(options->walls),
		.floor = or_empty(options->floor),
		.pool = options->pool,
		.runs_max = options->runs_max,
		.id_first = options->id_first,
		.id_count = options->id_count,
		.memory_max_bytes = options->memory_max_bytes,
		.timeout_max_ms = options->timeout_max_ms,
		.microvm_flavours = or_empty(options->microvm_flavours),
	};
	int rc = options_check(options, &open, error);
	int fd;

	if (rc < 0)
		return rc;
	fd = pl_start(options->libexec_dir ? options->libexec_dir : PL_LIBEXECDIR, &open, error);
	if (fd < 0)
		return fd;
	rc = pl_line_init(&context->line, fd);
	if (rc < 0) {
		close(fd);
		return pl_error(error, rc, PLIMSOLL_REASON_ENVIRONMENT, "start supervisor", "cannot make a mutex");
	}
	context->pid = getpid();
	return 0;
}

int plimsoll_open(const struct plimsoll_options *options, struct plimsoll_context **ret, struct plimsoll_error *error)
{
	PL_NO_CANCEL;
	struct plimsoll_options copy = { 0 };
	struct plimsoll_context *context;
	int rc;

	if (!ret)
		return INVALID("ret is NULL");
	rc = pl_sized_copy(&copy, sizeof copy, OPTIONS_FIRST_SIZE, options, "options", error);
	if (rc < 0)
		return rc;
	context = pl_calloc(1, sizeof *context);
	if (!context)
		return pl_error(error, -ENOMEM, PLIMSOLL_REASON_ENVIRONMENT, "start supervisor", "no memory for a context");
	rc = open_checked(&copy, context, error);
	if (rc < 0) {
		pl_free(context);
		return rc;
	}
	*ret = context;
	return 0;
}

void plimsoll_close(struct plimsoll_context *context)
{
	PL_NO_CANCEL;

	if (!context)
		return;
	if (context->pid == getpid())
		pl_line_close(&context->line, CLOSE_WITHIN_MS);
	else
		pl_line_abandon(&context->line);
	pl_free(context);
}
