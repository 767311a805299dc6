/* SPDX-License-Identifier: Apache-2.0 */
/* help: "plimsoll help" and --help. */
#include "cli.h"
#include "print.h"

#include <string.h>

static const char help_main[] =
	"plimsoll runs JavaScript that nobody has read, and says how strong the wall around it was, as measured on that run.\n"
	"\n"
	"  plimsoll run [FLAGS] FILE      run a program (- for stdin, -e CODE for a text)\n"
	"  plimsoll measure [FLAGS]       open a sandbox, show what is measured, run nothing\n"
	"  plimsoll doctor [--json]       what this machine offers, and what to do about what it does not\n"
	"  plimsoll help [COMMAND]        more about one of them\n"
	"  plimsoll --version\n"
	"\n"
	"A tier is a measurement by this machine, not an attestation: its root, kernel and firmware are trusted.\n";

static const char help_run[] =
	"plimsoll run [FLAGS] FILE|-|-e CODE\n"
	"\n"
	"  --floor TIER          refuse to run below this tier: process, container, kernel or vm\n"
	"  --wall WALL           run behind this wall: microvm, container, process, or auto, the strongest (default)\n"
	"  --walls LIST          walls that may be used (default " CLI_WALLS_DEFAULT ")\n"
	"  --microvm-flavours LIST  kinds of KVM that the microvm wall may use, of vmx, svm, pvm (default vmx,svm; or the environment's\n"
	"                        PLIMSOLL_MICROVM_FLAVOURS)\n"
	"  --timeout DURATION    end it after this long, as 500ms, 2s, 1m (default 5s, at most 5m)\n"
	"  --memory SIZE         give it this much, as 64MiB, 1GiB (default 256MiB, 16MiB to 4GiB)\n"
	"  --max-output SIZE     keep this much of stdout and of stderr (default 64KiB, at most 8MiB)\n"
	"  --json                write everything as one JSON object to stdout\n"
	"  --evidence            show every fact that was measured: on stderr, or in the JSON\n"
	"  --status-fd N         write where it ran, what it could reach and whether it ran as JSON to descriptor N\n"
	"  -v                    say so on stderr, which is otherwise done on a terminal only\n"
	"  -e CODE               run this text\n"
	"\n"
	"A file that ends in .mjs is a module, one that ends in .cjs a script; any other is a module when it imports or exports.\n"
	"\n"
	"Exit code: the program's own, except 124 it timed out, 125 it is certain that nothing ran, 126 it may have run,\n"
	"123 its own code was 124, 125 or 126 (the status has the true one).\n";

static const char help_measure[] =
	"plimsoll measure [--wall WALL] [--walls LIST] [--microvm-flavours LIST] [--json]\n"
	"\n"
	"Opens a sandbox behind WALL (microvm, container, process, or auto, the strongest), measures it, shows every fact with the value\n"
	"that was found and the one that was expected, and destroys it. Nothing runs. Exit code 0, or 125.\n";

static const char help_doctor[] =
	"plimsoll doctor [--microvm-flavours LIST] [--json]\n"
	"\n"
	"Looks at every wall and at what the machine offers, and says what to do. Exit code 0 when at least one wall is ok, else 1;\n"
	"125 when it could not look.\n";

static const char help_help[] = "plimsoll help [run|measure|doctor]\n";

static const struct {
	const char *subcommand, *text;
} helps[] = {
	{ "", help_main }, { "run", help_run }, { "measure", help_measure }, { "doctor", help_doctor }, { "help", help_help },
};

int cli_help_print(const char *subcommand)
{
	for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
		if (strcmp(helps[i].subcommand, subcommand))
			continue;
		fputs(helps[i].text, stdout);
		return print_finish(CLI_EXIT_OK);
	}
	print_usage_error("help", "unknown command \"%.60s\"; the commands are run, measure, doctor and help", subcommand);
	return CLI_EXIT_NOT_RUN;
}

int cli_help(int argc, char **argv)
{
	if (argc > 1) {
		print_usage_error("help", "\"%.60s\" is one too many; give one command", argv[1]);
		return CLI_EXIT_NOT_RUN;
	}
	return cli_help_print(argc && strcmp(argv[0], "--help") ? argv[0] : "");
}
