/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: "plimsoll doctor". What this machine offers, and what to do about what it does not. */
#include "args.h"
#include "cli.h"
#include "helpers.h"
#include "json.h"
#include "print.h"

#include <string.h>
#include <unistd.h>

enum { OPT_FLAVOURS, OPT_JSON, OPT_HELP };

static const struct args_option options[] = {
	[OPT_FLAVOURS] = { "--microvm-flavours", "LIST" },
	[OPT_JSON] = { "--json", NULL },
	[OPT_HELP] = { "--help", NULL },
	{ NULL, NULL },
};

/* 0, 1 for --help, or -1 with the reason printed. */
static int command_parse(bool *ret_json, const char **ret_flavours, int argc, char **argv)
{
	struct args args = { .subcommand = "doctor", .options = options, .argc = argc, .argv = argv };
	const char *value;
	int option;

	while ((option = args_next(&args, &value)) != ARGS_END) {
		if (option == OPT_HELP)
			return 1;
		if (option == ARGS_OPERAND)
			print_usage_error("doctor", "\"%.60s\" is not a flag", value);
		if (option == ARGS_BAD || option == ARGS_OPERAND)
			return -1;
		if (option == OPT_FLAVOURS)
			*ret_flavours = value;
		else
			*ret_json = true;
	}
	return 0;
}

static int walls_status(const struct plimsoll_doctor *doctor)
{
	struct plimsoll_doctor_row row;

	for (size_t i = 0; plimsoll_doctor_row(doctor, i, &row) == 0; i++)
		if (strcmp(row.kind, "wall") == 0 && strcmp(row.state, "ok") == 0)
			return CLI_EXIT_OK;
	return CLI_EXIT_NO_WALL;
}

static void rows_print(const struct plimsoll_doctor *doctor)
{
	struct plimsoll_doctor_row row;
	int width = 4;

	for (size_t i = 0; plimsoll_doctor_row(doctor, i, &row) == 0; i++)
		if ((int)strlen(row.name) > width)
			width = (int)strlen(row.name);
	for (size_t i = 0; plimsoll_doctor_row(doctor, i, &row) == 0; i++) {
		printf("%-4s  %-*s  %-11s  %s\n", row.kind, width, row.name, row.state, row.found);
		if (row.remedy[0])
			printf("%*s  -> %s\n", 4 + 2 + width + 2 + 11, "", row.remedy);
	}
}

static int doctor_report(const struct plimsoll_doctor *doctor, bool json)
{
	int status = walls_status(doctor), rc;

	if (!json) {
		rows_print(doctor);
		return print_finish(status);
	}
	rc = json_write(STDOUT_FILENO, json_doctor(doctor));
	if (rc == 0)
		return status;
	print_line("cannot write to stdout: %s", strerror(-rc));
	return CLI_EXIT_NOT_RUN;
}

int cli_doctor(int argc, char **argv)
{
	struct plimsoll_options open_options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;
	struct plimsoll_doctor *doctor;
	struct plimsoll_error error;
	bool json = false;
	const char *flavours = NULL;
	int rc = command_parse(&json, &flavours, argc, argv), status;

	if (rc)
		return rc > 0 ? cli_help_print("doctor") : CLI_EXIT_NOT_RUN;
	open_options.walls = CLI_WALLS_DEFAULT;
	open_options.libexec_dir = helpers_dir();
	open_options.microvm_flavours = helpers_flavours(flavours);
	if (plimsoll_open(&open_options, &context, &error) < 0)
		return print_failure(&error);
	if (plimsoll_doctor(context, &doctor, &error) < 0) {
		status = print_failure(&error);
	} else {
		status = doctor_report(doctor, json);
		plimsoll_doctor_free(doctor);
	}
	plimsoll_close(context);
	return status;
}
