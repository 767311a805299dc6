/* SPDX-License-Identifier: Apache-2.0 */
/* drive_fault: one failure after the other, and a verdict on each. scenario.c has the programs that are run and what must come
 * of them, bench.c the folder of helpers with the spec and the log in it, judge.c the rules, sweep.c the order. */
#ifndef PL_TESTS_DRIVE_FAULT_H
#define PL_TESTS_DRIVE_FAULT_H

#include "plimsoll/plimsoll.h"
#include "support/watch.h"

#include <stdbool.h>
#include <stdint.h>

/* What is done with an open context, and what must come of it when nothing fails. */
struct scenario {
	const char *name;
	const char *code; /* NULL: measure, nothing is dispatched */
	int64_t timeout_ms;
	uint64_t memory_bytes, stdout_max_bytes;
	int exit_code;
	bool timed_out, oom;
	const char *out; /* NULL: as many bytes as are kept, of out_total */
	uint64_t out_total;
	bool killed;    /* the guest is killed from outside once it computes */
	bool cancelled; /* the caller takes it back once it computes */
	bool doctor;
};

const struct scenario *scenario_find(const char *name);

/* How one question to the library was answered, beside what the log says. */
struct answer {
	int rc;
	struct plimsoll_error error;
	bool right;        /* rc 0: as the scenario has it */
	bool all_same;     /* facts were read again with the guest standing there */
	int exit_code;
	char what[256];    /* rc 0 and not right: what is wrong */
	bool witnessed;    /* the code was about to leave the supervisor */
	bool fired;        /* the failure has happened in the supervisor */
	double took_s;
};

/* bench.c: the helpers' folder; every path is below it. */
extern const char *bench_dir;
/* The call that failed last, for the messages. */
extern char bench_site[64];
void bench_spec(const char *spec);
/* Empties the log; a log that is not there is not written. */
void bench_log_clear(void);
void bench_log_read(unsigned witness, struct answer *ret);

/* Opens a context for wall ("container", "process" or both); 0, or negative with *error. */
int bench_open(const char *walls, unsigned pool, struct plimsoll_context **ret, struct plimsoll_error *error);
/* One question, with the log read after it. */
void bench_ask(struct plimsoll_context *context, const char *wall, const struct scenario *scenario, struct answer *ret);

/* judge.c. Whose fault it was decides what an answer may be. */
enum culprit { CULPRIT_SUPERVISOR, CULPRIT_LAUNCH, CULPRIT_GUEST, CULPRIT_ENGINE, CULPRIT_LIBRARY };

extern unsigned judged, failures;
void fail(const char *spec, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The rules of contract.md, 4, for one answer. */
void judge_answer(const char *spec, const struct scenario *scenario, const struct answer *answer, enum culprit culprit);
void judge_open(const char *spec, int rc, const struct plimsoll_error *error);

/* sweep.c */
int sweep(int argc, char **argv);

#endif
