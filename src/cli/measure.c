/* SPDX-License-Identifier: Apache-2.0 */
/* measure: "plimsoll measure". Opens a sandbox, shows what was measured, and destroys it; nothing is dispatched. */
#include "args.h"
#include "cli.h"
#include "helpers.h"
#include "json.h"
#include "print.h"

#include <string.h>
#include <unistd.h>

struct measure {
	const char *walls, *wall, *flavours;
	bool json;
};

enum { OPT_WALL, OPT_WALLS, OPT_FLAVOURS, OPT_JSON, OPT_HELP };

static const struct args_option options[] = {
	[OPT_WALL] = { "--wall", "WALL" },
	[OPT_WALLS] = { "--walls", "LIST" },
	[OPT_FLAVOURS] = { "--microvm-flavours", "LIST" },
	[OPT_JSON] = { "--json", NULL },
	[OPT_HELP] = { "--help", NULL },
	{ NULL, NULL },
};

/* 0, 1 for --help, or -1 with the reason printed. */
static int command_parse(struct measure *measure, int argc, char **argv)
{
	struct args args = { .subcommand = "measure", .options = options, .argc = argc, .argv = argv };
	const char *value;
	int option;

	while ((option = args_next(&args, &value)) != ARGS_END) {
		if (option == OPT_HELP)
			return 1;
		if (option == ARGS_OPERAND)
			print_usage_error("measure", "\"%.60s\" is not a flag; measure runs no program", value);
		if (option == ARGS_BAD || option == ARGS_OPERAND)
			return -1;
		if (option == OPT_WALL)
			measure->wall = value;
		else if (option == OPT_WALLS)
			measure->walls = value;
		else if (option == OPT_FLAVOURS)
			measure->flavours = value;
		else
			measure->json = true;
	}
	return 0;
}

static int refusal_report(const struct measure *measure, const struct plimsoll_error *error)
{
	int status = print_failure(error);

	if (measure->json && json_write(STDOUT_FILENO, json_pack("{s:o}", "error", json_error(error))) < 0)
		print_line("cannot write to stdout");
	return status;
}

static int evidence_report(const struct measure *measure, const struct plimsoll_evidence *evidence)
{
	int rc;

	if (!measure->json) {
		print_evidence(stdout, evidence);
		return print_finish(CLI_EXIT_OK);
	}
	rc = json_write(STDOUT_FILENO, json_evidence(evidence, true));
	if (rc == 0)
		return CLI_EXIT_OK;
	print_line("cannot write to stdout: %s", strerror(-rc));
	return CLI_EXIT_NOT_RUN;
}

int cli_measure(int argc, char **argv)
{
	struct measure measure = { .walls = CLI_WALLS_DEFAULT };
	struct plimsoll_options open_options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_evidence *evidence;
	struct plimsoll_context *context;
	struct plimsoll_error error;
	int rc = command_parse(&measure, argc, argv), status;

	if (rc)
		return rc > 0 ? cli_help_print("measure") : CLI_EXIT_NOT_RUN;
	open_options.walls = measure.walls;
	open_options.libexec_dir = helpers_dir();
	open_options.microvm_flavours = helpers_flavours(measure.flavours);
	if (plimsoll_open(&open_options, &context, &error) < 0)
		return refusal_report(&measure, &error);
	if (plimsoll_measure(context, measure.wall, &evidence, &error) < 0) {
		status = refusal_report(&measure, &error);
	} else {
		status = evidence_report(&measure, evidence);
		plimsoll_evidence_free(evidence);
	}
	plimsoll_close(context);
	return status;
}
