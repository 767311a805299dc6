/* SPDX-License-Identifier: Apache-2.0 */
/* args: see args.h. */
#include "args.h"

#include "print.h"

#include <string.h>

static int option_find(const struct args *args, const char *word, size_t len)
{
	for (int i = 0; args->options[i].name; i++)
		if (strlen(args->options[i].name) == len && memcmp(args->options[i].name, word, len) == 0)
			return i;
	return ARGS_BAD;
}

static int option_value(struct args *args, int i, const char *inline_value, const char **ret_value)
{
	const struct args_option *option = &args->options[i];

	if (!option->value) {
		if (!inline_value)
			return i;
		print_usage_error(args->subcommand, "%s takes no value, and has \"%s\"", option->name, inline_value);
		return ARGS_BAD;
	}
	if (args->seen & 1u << i) {
		print_usage_error(args->subcommand, "%s is given twice; give it once", option->name);
		return ARGS_BAD;
	}
	args->seen |= 1u << i;
	if (!inline_value && args->at >= args->argc) {
		print_usage_error(args->subcommand, "%s needs a value: %s %s", option->name, option->name, option->value);
		return ARGS_BAD;
	}
	*ret_value = inline_value ? inline_value : args->argv[args->at++];
	return i;
}

int args_next(struct args *args, const char **ret_value)
{
	const char *word, *equals = NULL;
	size_t len;
	int i;

	*ret_value = NULL;
	if (args->at < args->argc && !args->operands_only && strcmp(args->argv[args->at], "--") == 0) {
		args->operands_only = true;
		args->at++;
	}
	if (args->at >= args->argc)
		return ARGS_END;
	word = args->argv[args->at++];
	if (args->operands_only || word[0] != '-' || !word[1]) {
		*ret_value = word;
		return ARGS_OPERAND;
	}
	if (word[1] == '-')
		equals = strchr(word, '=');
	len = equals ? (size_t)(equals - word) : strlen(word);
	i = option_find(args, word, len);
	if (i >= 0)
		return option_value(args, i, equals ? equals + 1 : NULL, ret_value);
	print_usage_error(args->subcommand, "unknown flag \"%.*s\"; \"plimsoll help %s\" lists them", (int)(len < 60 ? len : 60),
			  word, args->subcommand);
	return ARGS_BAD;
}
