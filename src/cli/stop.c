/* SPDX-License-Identifier: Apache-2.0 */
/* stop: see stop.h. */
#include "stop.h"

#include "cli.h"

#include <signal.h>
#include <unistd.h>

static struct plimsoll_cancel *cancel_now;
static volatile sig_atomic_t requested, exit_at_once = CLI_EXIT_NOT_RUN;

static void on_signal(int sig)
{
	(void)sig;
	if (requested)
		_exit(exit_at_once);
	requested = 1;
	plimsoll_cancel_trigger(cancel_now);
}

void stop_init(struct plimsoll_cancel *cancel)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	/* Without SA_RESTART: reading the program from a terminal or a pipe ends too. */
	struct sigaction action = { .sa_handler = on_signal }, before;

	cancel_now = cancel;
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(&action.sa_mask, signals[i]);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

void stop_run_begins(void)
{
	exit_at_once = CLI_EXIT_MAY_RUN;
}

