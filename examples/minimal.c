/* SPDX-License-Identifier: Apache-2.0 */
/* minimal: a program that runs code nobody has read, and is told how strong the wall around it was.
 *
 *     cc examples/minimal.c -lplimsoll -o minimal && ./minimal 'console.log(6*7)' container
 *
 * The third argument, for a build that is not installed, is the directory of its helper programs. */
#include <plimsoll/plimsoll.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct plimsoll_options options = PLIMSOLL_OPTIONS_INIT;
	struct plimsoll_request request = PLIMSOLL_REQUEST_INIT;
	struct plimsoll_context *context;
	struct plimsoll_result *result;
	struct plimsoll_error error;
	const uint8_t *out;
	size_t out_len;

	options.walls = "container,process";
	options.libexec_dir = argc > 3 ? argv[3] : NULL;
	request.code = argc > 1 ? argv[1] : "console.log(6*7)";
	request.code_len = strlen(request.code);
	request.floor = argc > 2 ? argv[2] : "process";
	if (plimsoll_open(&options, &context, &error) < 0) {
		fprintf(stderr, "not started: %s\n", error.message);
		return 1;
	}
	if (plimsoll_run(context, &request, &result, &error) == 0) {
		out = plimsoll_result_stdout(result, &out_len);
		fwrite(out, 1, out_len, stdout);
		printf("tier %s, exit code %d\n", plimsoll_tier_name(plimsoll_evidence_tier(plimsoll_result_evidence(result))),
		       plimsoll_result_exit_code(result));
		plimsoll_result_free(result);
	} else {
		printf("refused: %s (%s)\n", error.message, error.reason ? "nothing ran" : "it may have run");
	}
	plimsoll_close(context);
	return 0;
}
