/* SPDX-License-Identifier: Apache-2.0 */
/* hostile: its main, in the sandbox and outside; see hostile.h. */
#include "escape/hostile.h"

#include "guest/session.h"
#include "linux/sys.h"
#include "wire/jail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct probe *const families[] = { process_probes, space_probes,  file_probes,	privilege_probes,
						network_probes, kernel_probes, resource_probes, protocol_probes };
bool outside;

long hostile_result(long r)
{
	return r < 0 ? -errno : r;
}

long hostile_got(long fd)
{
	if (fd >= 0)
		(void)syscall(SYS_close, fd);
	return fd;
}

unsigned long hostile_number(const char *text)
{
	return strtoul(text, NULL, 0);
}

void hostile_say(const char *text)
{
	if (outside)
		(void)!write(1, text, strlen(text));
	else
		pl_session_write(PL_STREAM_STDOUT, (const uint8_t *)text, strlen(text));
}

static void attempt(char *line)
{
	char *argv[PROBE_ARGS_MAX + 1] = { NULL }, answer[64];
	int argc = 0;
	long r = -ENOENT;

	for (char *word = strtok_r(line, " \n", &line); word && argc < PROBE_ARGS_MAX; word = strtok_r(NULL, " \n", &line))
		argv[argc++] = word;
	for (size_t i = 0; argc && i < sizeof families / sizeof *families; i++) {
		for (const struct probe *p = families[i]; p->name; p++) {
			if (strcmp(p->name, argv[0]) != 0)
				continue;
			r = p->run(argc, argv);
			if (r >= 0)
				snprintf(answer, sizeof answer, "succeeded\n");
			else
				snprintf(answer, sizeof answer, "errno %ld\n", -r);
			hostile_say(answer);
			return;
		}
	}
	hostile_say("no such probe\n");
}

static void run(const struct pl_job *job, const uint8_t *payload, size_t payload_len, struct pl_engine_result *ret)
{
	static char line[4096];

	(void)payload, (void)payload_len;
	*ret = (struct pl_engine_result){ .exit_code = 0 };
	if (job->code_len >= sizeof line)
		return;
	memcpy(line, job->code, job->code_len);
	attempt(line);
}

/* A process for others to attack: says where its secret is, and at the end of its input what has become of it. */
static int victim_main(void)
{
	static volatile char secret[32] = "the canary's secret";
	char byte;

	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* where Yama asks; fails where it is not there */
	printf("%d %p\n", (int)getpid(), (void *)secret);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	printf("%s\n", (const char *)secret);
	return 0;
}

static int outside_main(int argc, char **argv)
{
	static char line[4096];
	size_t len = 0;

	outside = true;
	for (int i = 0; i < argc; i++)
		len += (size_t)snprintf(line + len, sizeof line - len, "%s ", argv[i]);
	attempt(line);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct pl_session_engine engine = { .run = run };

	if (argc > 1 && strcmp(argv[1], "victim") == 0)
		return victim_main();
	if (argc > 1 && strcmp(argv[1], "say") == 0)
		return puts("succeeded") < 0;
	if (argc > 2 && strcmp(argv[1], "outside") == 0)
		return outside_main(argc - 2, argv + 2);
	(void)pl_sys_prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	pl_session_main(PL_GUEST_STREAM_FD, &engine);
}
