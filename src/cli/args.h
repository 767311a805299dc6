/* SPDX-License-Identifier: Apache-2.0 */
/* args: walking a command line. Options may stand before and after operands; "--" ends them; "--name=value" and
 * "--name value" are the same; nothing is abbreviated and nothing bundled, so that no letter means something by accident. */
#ifndef PL_CLI_ARGS_H
#define PL_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct args_option {
	const char *name;    /* with its dashes: "--floor", "-e" */
	const char *value;   /* what its value is called, as "TIER"; NULL: it takes none */
};

struct args {
	const char *subcommand;
	const struct args_option *options; /* at most 32; a NULL name ends them */
	int argc, at;
	char **argv;
	uint32_t seen;       /* options with a value that were given */
	bool operands_only;
};

#define ARGS_END (-1)
#define ARGS_OPERAND (-2)
#define ARGS_BAD (-3) /* a line that says what is wrong has been printed */

/* The next one: the option's place in the table, or one of the above. *ret_value is its value, or the operand. */
int args_next(struct args *args, const char **ret_value);

#endif
