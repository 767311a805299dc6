/* SPDX-License-Identifier: Apache-2.0 */
/* main: the command line "plimsoll". Chooses the subcommand. Started by a person or a script, as whatever user that is; it
 * is not set-user-ID and looks at no environment variable. */
#include "cli.h"
#include "print.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "run", cli_run }, { "measure", cli_measure }, { "doctor", cli_doctor }, { "help", cli_help }, { "--help", cli_help },
};

/* A standard descriptor that is closed would be the next one opened, and the guest's output would go there. What is put in
 * its place is opened the wrong way round, so that using it is an error and not a silence. */
static void standard_fds_hold(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int version_print(void)
{
	puts("plimsoll " PLIMSOLL_VERSION);
	return print_finish(CLI_EXIT_OK);
}

int main(int argc, char **argv)
{
	standard_fds_hold();
	/* A closed pipe is an error of write, which is reported. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		print_usage_error("", "no command is given; \"plimsoll help\" lists them");
		return CLI_EXIT_NOT_RUN;
	}
	if (strcmp(argv[1], "--version") == 0 && argc == 2)
		return version_print();
	for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
		if (strcmp(subcommands[i].name, argv[1]) == 0)
			return subcommands[i].run(argc - 2, argv + 2);
	print_usage_error("", "unknown command \"%.60s\"; the commands are run, measure, doctor and help", argv[1]);
	return CLI_EXIT_NOT_RUN;
}
