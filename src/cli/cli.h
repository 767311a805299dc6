/* SPDX-License-Identifier: Apache-2.0 */
/* cli: what the files of the command line share. The command line sees the public API and nothing else of plimsoll. Its
 * user is trusted; the guest's output and the names of files are bytes. */
#ifndef PL_CLI_CLI_H
#define PL_CLI_CLI_H

#include "plimsoll/plimsoll.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit codes (contract, 6). Any other is the guest's own. */
#define CLI_EXIT_OK 0
#define CLI_EXIT_NO_WALL 1    /* doctor: no wall is ok */
#define CLI_EXIT_HIDDEN 123   /* the guest's own code was 124, 125 or 126; the status has the true one */
#define CLI_EXIT_TIMEOUT 124
#define CLI_EXIT_NOT_RUN 125  /* it is certain that nothing ran; wrong usage too */
#define CLI_EXIT_MAY_RUN 126  /* it may have run, and what came of it is not known or could not be handed on */

#define CLI_WALLS_DEFAULT "microvm,container,process"

/* One file a subcommand: argv begins after its name; the exit code. */
int cli_run(int argc, char **argv);
int cli_measure(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_help(int argc, char **argv);

/* Prints the help of a subcommand ("" the whole program's) on stdout; the exit code. */
int cli_help_print(const char *subcommand);

#endif
