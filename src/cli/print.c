/* SPDX-License-Identifier: Apache-2.0 */
/* print: see print.h. */
#include "print.h"

#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* What was found may be a digest or a list of mounts: the table shows the start of it, the JSON all. */
#define FOUND_WIDTH_MAX 44

int print_bytes(int fd, const void *bytes, size_t len)
{
	const char *from = bytes;

	while (len) {
		ssize_t n = write(fd, from, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Prints "plimsoll: ", the start and the rest as one write, so that lines of two programs do not mix. */
static void line_write(const char *start, const char *format, va_list args)
{
	char line[1024];
	int at = snprintf(line, sizeof line, "plimsoll: %s", start);
	int n;

	n = vsnprintf(line + at, sizeof line - (size_t)at, format, args);
	n = n < 0 ? at : at + n;
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	for (int i = 0; i < n; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[n] = '\n';
	print_bytes(STDERR_FILENO, line, (size_t)n + 1);
}

void print_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_write("", format, args);
	va_end(args);
}

void print_usage_error(const char *subcommand, const char *format, ...)
{
	char start[64];
	va_list args;

	snprintf(start, sizeof start, "nothing ran (request): %s%s", subcommand, subcommand[0] ? ": " : "");
	va_start(args, format);
	line_write(start, format, args);
	va_end(args);
}

int print_failure(const struct plimsoll_error *error)
{
	bool named = !error->fact[0] || strstr(error->message, error->fact);
	const char *before = named ? "" : ": fact ", *fact = named ? "" : error->fact;

	if (error->reason == PLIMSOLL_REASON_NONE) {
		print_line("it may have run: %s: %s%s%s", error->step, error->message, before, fact);
		return CLI_EXIT_MAY_RUN;
	}
	print_line("nothing ran (%s): %s: %s%s%s", plimsoll_reason_name(error->reason), error->step, error->message, before,
		   fact);
	return CLI_EXIT_NOT_RUN;
}

size_t print_required_n(const struct plimsoll_evidence *evidence)
{
	size_t required_n = 0;

	for (size_t i = 0; i < plimsoll_evidence_facts_n(evidence); i++) {
		struct plimsoll_fact fact;

		if (plimsoll_evidence_fact(evidence, i, &fact) == 0 && fact.required)
			required_n++;
	}
	return required_n;
}

static int width_max(int now, const char *text)
{
	int len = (int)strlen(text);

	return len > now ? len : now;
}

/* In ASCII, so that bytes are columns. */
static const char *found_text(char text[FOUND_WIDTH_MAX + 1], const struct plimsoll_fact *fact)
{
	size_t len = strlen(fact->value);

	if (!len)
		return "(hashed)";
	if (len <= FOUND_WIDTH_MAX)
		return fact->value;
	snprintf(text, FOUND_WIDTH_MAX + 1, "%.*s...", FOUND_WIDTH_MAX - 3, fact->value);
	return text;
}

void print_evidence(FILE *out, const struct plimsoll_evidence *evidence)
{
	size_t facts_n = plimsoll_evidence_facts_n(evidence);
	int name_width = 4, found_width = 5;
	char found[FOUND_WIDTH_MAX + 1];
	struct plimsoll_fact fact;

	for (size_t i = 0; i < facts_n && plimsoll_evidence_fact(evidence, i, &fact) == 0; i++) {
		name_width = width_max(name_width, fact.name);
		found_width = width_max(found_width, found_text(found, &fact));
	}
	fprintf(out, "tier      %s\nwall      %s\nfacts     %zu, of which the tier rests on %zu\npolicy    %s\ninstance  %s\n\n",
		plimsoll_tier_name(plimsoll_evidence_tier(evidence)), plimsoll_evidence_wall(evidence), facts_n,
		print_required_n(evidence), plimsoll_evidence_policy(evidence), plimsoll_evidence_instance(evidence));
	fprintf(out, "%-*s  %-7s  %-7s  %-5s  %-*s  %s\n", name_width, "FACT", "VERDICT", "SOURCE", "AFTER", found_width,
		"FOUND", "EXPECTED");
	for (size_t i = 0; i < facts_n && plimsoll_evidence_fact(evidence, i, &fact) == 0; i++)
		fprintf(out, "%-*s  %-7s  %-7s  %-5s  %-*s  %s\n", name_width, fact.name, fact.verdict, fact.source,
			fact.after[0] ? fact.after : "-", found_width, found_text(found, &fact), fact.expected);
}

int print_finish(int code)
{
	int rc = 0;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		rc = errno ? errno : EIO;
	if (!rc)
		return code;
	print_line("cannot write to stdout: %s", strerror(rc));
	return CLI_EXIT_MAY_RUN;
}
