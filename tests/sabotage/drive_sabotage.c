/* SPDX-License-Identifier: Apache-2.0 */
/* drive_sabotage: one context over several runs, for the tests that ask what a wall does after it was seen to lie. Started by
 * tests/sabotage/test_service.py.
 *
 *     drive_sabotage LIBEXEC WALLS POOL
 *
 * Reads lines "WALL FLOOR CODE" ("-" is none) and answers each with one line of words separated by tabs: "result", exit code and
 * stdout, or "error", code, reason, fact and message. */
#include "plimsoll/plimsoll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *word(const char *text)
{
	return strcmp(text, "-") == 0 ? NULL : text;
}

static void error_print(const struct plimsoll_error *error)
{
	const char *reason = plimsoll_reason_name(error->reason);

	printf("error\t%d\t%s\t%s\t%s\n", error->code, reason[0] ? reason : "-", error->fact[0] ? error->fact : "-", error->message);
}

static void result_print(const struct plimsoll_result *result)
{
	size_t len;
	const uint8_t *out = plimsoll_result_stdout(result, &len);

	printf("result\t%d\t%.*s\n", plimsoll_result_exit_code(result), (int)strcspn((const char *)out, "\n"), (const char *)out);
}

static int run(struct plimsoll_context *context, char *line)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_result *result;
	struct plimsoll_error error;
	char *rest = line, *wall = strsep(&rest, " "), *floor = strsep(&rest, " ");

	if (!rest)
		return -1;
	rest[strcspn(rest, "\n")] = 0;
	request.wall = word(wall);
	request.floor = word(floor);
	request.code = rest;
	request.code_len = strlen(rest);
	if (plimsoll_run(context, &request, &result, &error) < 0) {
		error_print(&error);
	} else {
		result_print(result);
		plimsoll_result_free(result);
	}
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;
	struct plimsoll_error error;
	static char line[8192];

	if (argc != 4)
		return 2;
	options.libexec_dir = argv[1];
	options.walls = argv[2];
	options.pool = (uint32_t)strtoul(argv[3], NULL, 10);
	if (plimsoll_open(&options, &context, &error) < 0) {
		error_print(&error);
		return 1;
	}
	printf("open\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		if (run(context, line) < 0)
			return 2;
	plimsoll_close(context);
	return 0;
}
