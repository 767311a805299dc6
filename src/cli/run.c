/* SPDX-License-Identifier: Apache-2.0 */
/* run: "plimsoll run". Reads the program, runs it, hands on what it wrote and answers the three questions. */
#include "args.h"
#include "cli.h"
#include "helpers.h"
#include "json.h"
#include "print.h"
#include "source.h"
#include "stop.h"
#include "units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The library's own ceiling; a longer --timeout lifts it, up to what a context may allow. */
#define TIMEOUT_CEILING_MS 30000
#define TIMEOUT_MAX_MS 300000

struct run {
	const char *walls, *wall, *floor, *code, *path, *flavours;
	int64_t timeout_ms;
	uint64_t memory_bytes, output_bytes;
	int status_fd;
	bool json, evidence, verbose;
	struct source source;
};

enum { OPT_FLOOR, OPT_WALL, OPT_WALLS, OPT_TIMEOUT, OPT_MEMORY, OPT_OUTPUT, OPT_JSON, OPT_EVIDENCE, OPT_STATUS, OPT_VERBOSE,
       OPT_CODE, OPT_FLAVOURS, OPT_HELP };

static const struct args_option options[] = {
	[OPT_FLOOR] = { "--floor", "TIER" },
	[OPT_WALL] = { "--wall", "WALL" },
	[OPT_WALLS] = { "--walls", "LIST" },
	[OPT_TIMEOUT] = { "--timeout", "DURATION" },
	[OPT_MEMORY] = { "--memory", "SIZE" },
	[OPT_OUTPUT] = { "--max-output", "SIZE" },
	[OPT_JSON] = { "--json", NULL },
	[OPT_EVIDENCE] = { "--evidence", NULL },
	[OPT_STATUS] = { "--status-fd", "N" },
	[OPT_VERBOSE] = { "-v", NULL },
	[OPT_CODE] = { "-e", "CODE" },
	[OPT_FLAVOURS] = { "--microvm-flavours", "LIST" },
	[OPT_HELP] = { "--help", NULL },
	{ NULL, NULL },
};

/* Sees that the value is one of which *why is NULL. 0 or -1. */
static int value_check(const char *option, const char *value, const char *why)
{
	if (!why)
		return 0;
	print_usage_error("run", "%s \"%.80s\" %s", option, value, why);
	return -1;
}

static int floor_set(struct run *run, const char *value)
{
	enum plimsoll_tier tier;

	run->floor = value;
	return value_check("--floor", value,
			   plimsoll_tier_parse(value, &tier) < 0 ? "is not a tier; give process, container, kernel or vm" : NULL);
}

static int timeout_set(struct run *run, const char *value)
{
	const char *why = units_duration_parse(value, &run->timeout_ms);

	if (!why && run->timeout_ms > TIMEOUT_MAX_MS)
		why = "is too long; give at most 5m";
	return value_check("--timeout", value, why);
}

/* Descriptors that were given to us are open by now; ours are not, so a wrong number cannot hit one of them. */
static int status_set(struct run *run, const char *value)
{
	const char *why = units_fd_parse(value, &run->status_fd);
	int flags = why ? 0 : fcntl(run->status_fd, F_GETFL);

	if (!why && flags < 0)
		why = "is not an open descriptor; open it in the shell, as 3>status.json";
	else if (!why && (flags & O_ACCMODE) == O_RDONLY)
		why = "is not open for writing; open it in the shell, as 3>status.json";
	return value_check("--status-fd", value, why);
}

static int option_set(struct run *run, int option, const char *value)
{
	switch (option) {
	case OPT_FLOOR:
		return floor_set(run, value);
	case OPT_WALL:
		run->wall = value;
		return value_check("--wall", value, value[0] ? NULL : "is empty; give microvm, container, process or auto");
	case OPT_WALLS:
		run->walls = value;
		return 0;
	case OPT_TIMEOUT:
		return timeout_set(run, value);
	case OPT_MEMORY:
		return value_check("--memory", value, units_size_parse(value, &run->memory_bytes));
	case OPT_OUTPUT:
		return value_check("--max-output", value, units_size_parse(value, &run->output_bytes));
	case OPT_STATUS:
		return status_set(run, value);
	case OPT_CODE:
		run->code = value;
		return 0;
	case OPT_FLAVOURS:
		run->flavours = value;
		return 0;
	case OPT_JSON:
		run->json = true;
		return 0;
	case OPT_EVIDENCE:
		run->evidence = true;
		return 0;
	default:
		run->verbose = true;
		return 0;
	}
}

static int operand_set(struct run *run, const char *value)
{
	if (!run->path) {
		run->path = value;
		return 0;
	}
	print_usage_error("run", "both \"%.60s\" and \"%.60s\" are given; give one program", run->path, value);
	return -1;
}

static int program_check(const struct run *run)
{
	if (run->path && run->code)
		print_usage_error("run", "both -e and \"%.60s\" are given; give one program", run->path);
	else if (!run->path && !run->code)
		print_usage_error("run", "no program is given; give a file, - for stdin, or -e CODE");
	else
		return 0;
	return -1;
}

/* 0, 1 for --help, or -1 with the reason printed. */
static int command_parse(struct run *run, int argc, char **argv)
{
	struct args args = { .subcommand = "run", .options = options, .argc = argc, .argv = argv };
	const char *value;
	int option;

	while ((option = args_next(&args, &value)) != ARGS_END) {
		if (option == OPT_HELP)
			return 1;
		if (option == ARGS_BAD)
			return -1;
		if ((option == ARGS_OPERAND ? operand_set(run, value) : option_set(run, option, value)) < 0)
			return -1;
	}
	return program_check(run);
}

static int exit_status(const struct plimsoll_result *result)
{
	int code = plimsoll_result_exit_code(result);

	if (plimsoll_result_timed_out(result))
		return CLI_EXIT_TIMEOUT;
	/* These three are ours to say: no program may pass for one that was refused. */
	return code >= CLI_EXIT_TIMEOUT && code <= CLI_EXIT_MAY_RUN ? CLI_EXIT_HIDDEN : code;
}

/* The three questions on one line. */
static void summary_print(const struct plimsoll_result *result)
{
	const struct plimsoll_evidence *evidence = plimsoll_result_evidence(result);
	char duration[32], memory[32], timeout[32], limit[32], end[96];
	const uint8_t *err;
	size_t err_len;

	units_duration_print(duration, sizeof duration, plimsoll_result_duration_us(result));
	units_size_print(memory, sizeof memory, plimsoll_result_peak_bytes(result));
	if (plimsoll_result_timed_out(result))
		snprintf(end, sizeof end, "timed out at %s",
			 units_duration_print(timeout, sizeof timeout, plimsoll_result_timeout_ms(result) * 1000));
	else if (plimsoll_result_oom(result))
		snprintf(end, sizeof end, "out of memory at %s",
			 units_size_print(limit, sizeof limit, plimsoll_result_memory_bytes(result)));
	else
		snprintf(end, sizeof end, "exit code %d", plimsoll_result_exit_code(result));
	err = plimsoll_result_stderr(result, &err_len);
	if (err_len && err[err_len - 1] != '\n')
		print_bytes(STDERR_FILENO, "\n", 1);
	print_line("it ran behind the %s wall, measured tier %s (%zu facts, %zu required); it could reach nothing (no grant); %s, "
		   "%s, %s%s",
		   plimsoll_evidence_wall(evidence), plimsoll_tier_name(plimsoll_evidence_tier(evidence)),
		   plimsoll_evidence_facts_n(evidence), print_required_n(evidence), end, duration, memory,
		   plimsoll_result_stdout_truncated(result) || plimsoll_result_stderr_truncated(result) ? ", output truncated" :
													  "");
}

/* What the guest wrote, untouched, or everything as JSON. 0 or -errno; *ret_where says where it failed. */
static int output_write(const struct run *run, const struct plimsoll_result *result, int status, const char **ret_where)
{
	size_t out_len, err_len;
	const uint8_t *out = plimsoll_result_stdout(result, &out_len), *err = plimsoll_result_stderr(result, &err_len);
	json_t *object;
	int rc;

	*ret_where = "stdout";
	if (run->json) {
		object = json_result_status(result, status, run->evidence);
		if (object && json_output_add(object, result) < 0) {
			json_decref(object);
			object = NULL;
		}
		return json_write(STDOUT_FILENO, object);
	}
	rc = print_bytes(STDOUT_FILENO, out, out_len);
	if (rc < 0)
		return rc;
	*ret_where = "stderr";
	return print_bytes(STDERR_FILENO, err, err_len);
}

/* Writes object to --status-fd, or drops it when there is none. The exit code. */
static int status_write(const struct run *run, json_t *object, int status)
{
	int rc = 0;

	if (run->status_fd >= 0)
		rc = json_write(run->status_fd, object);
	else
		json_decref(object);
	if (rc == 0)
		return status;
	print_line("cannot write the status to descriptor %d: %s", run->status_fd, strerror(-rc));
	return status == CLI_EXIT_NOT_RUN ? status : CLI_EXIT_MAY_RUN;
}

static int refusal_report(const struct run *run, const struct plimsoll_error *error)
{
	int status = print_failure(error);
	int rc = run->json ? json_write(STDOUT_FILENO, json_error_status(error, status)) : 0;

	if (rc < 0)
		print_line("cannot write to stdout: %s", strerror(-rc));
	return status_write(run, json_error_status(error, status), status);
}

static int result_report(const struct run *run, const struct plimsoll_result *result)
{
	int status = exit_status(result);
	const char *where;
	int rc = output_write(run, result, status, &where);

	if (rc < 0) {
		/* It ran, and its caller has not got what it wrote: the guest's exit code would say that all is well. */
		print_line("it ran, and its output cannot be written to %s: %s", where, strerror(-rc));
		status = CLI_EXIT_MAY_RUN;
	}
	if (run->verbose || isatty(STDERR_FILENO))
		summary_print(result);
	if (run->evidence && !run->json) {
		print_evidence(stderr, plimsoll_result_evidence(result));
		fflush(stderr);
	}
	return status_write(run, json_result_status(result, status, run->evidence), status);
}

static int run_in(const struct run *run, struct plimsoll_context *context, struct plimsoll_cancel *cancel)
{
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_result *result;
	struct plimsoll_error error;
	int status;

	request.code = run->source.code;
	request.code_len = run->source.len;
	request.name = run->source.name;
	request.source = run->source.kind;
	request.floor = run->floor;
	request.wall = run->wall;
	request.timeout_ms = run->timeout_ms;
	request.memory_bytes = run->memory_bytes;
	request.stdout_max_bytes = request.stderr_max_bytes = run->output_bytes;
	request.cancel = cancel;
	stop_run_begins();
	if (plimsoll_run(context, &request, &result, &error) < 0)
		return refusal_report(run, &error);
	status = result_report(run, result);
	plimsoll_result_free(result);
	return status;
}

static int run_open(const struct run *run, struct plimsoll_cancel *cancel)
{
	struct plimsoll_options open_options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_context *context;
	struct plimsoll_error error;
	int status;

	open_options.walls = run->walls;
	open_options.libexec_dir = helpers_dir();
	open_options.microvm_flavours = helpers_flavours(run->flavours);
	if (run->timeout_ms > TIMEOUT_CEILING_MS)
		open_options.timeout_max_ms = run->timeout_ms;
	if (plimsoll_open(&open_options, &context, &error) < 0)
		return refusal_report(run, &error);
	status = run_in(run, context, cancel);
	plimsoll_close(context);
	return status;
}

static int source_set(struct run *run)
{
	if (run->path)
		return source_read(run->path, &run->source);
	run->source = (struct source){ .code = run->code, .len = strlen(run->code) };
	return 0;
}

int cli_run(int argc, char **argv)
{
	struct run run = { .walls = CLI_WALLS_DEFAULT, .status_fd = -1 };
	struct plimsoll_cancel *cancel;
	struct plimsoll_error error;
	int rc = command_parse(&run, argc, argv), status;

	if (rc)
		return rc > 0 ? cli_help_print("run") : CLI_EXIT_NOT_RUN;
	if (plimsoll_cancel_new(&cancel, &error) < 0)
		return refusal_report(&run, &error);
	stop_init(cancel);
	status = source_set(&run) < 0 ? CLI_EXIT_NOT_RUN : run_open(&run, cancel);
	source_fini(&run.source);
	return status;
}
