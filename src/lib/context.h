/* SPDX-License-Identifier: Apache-2.0 */
/* context: what the functions of the public API share. Used inside src/lib only. */
#ifndef PL_LIB_CONTEXT_H
#define PL_LIB_CONTEXT_H

#include "line.h"

#include "plimsoll/plimsoll.h"
#include "wire/msg.h"

#include <pthread.h>
#include <sys/types.h>

struct plimsoll_context {
	pid_t pid; /* who opened it: a forked child may not use it */
	struct pl_line line;
};

struct plimsoll_cancel {
	int fd; /* eventfd, readable once triggered */
};

/* Evidence and rows borrow their texts from the payload that they came in. */
struct plimsoll_evidence {
	struct pl_msg_evidence msg;
	uint8_t *payload; /* owned; NULL inside a result, which owns it */
};

struct plimsoll_result {
	struct pl_msg_result msg;
	struct plimsoll_evidence evidence;
	uint8_t *payload; /* owned */
};

struct plimsoll_doctor {
	struct pl_msg_rows msg;
	uint8_t *payload; /* owned */
};

/* Copies a caller's struct with a size field into ret, which has our size and holds zeros where the caller's is shorter.
 * first_size is the size in the first version. 0 or PLIMSOLL_ERROR_INVALID. */
int pl_sized_copy(void *ret, size_t our_size, size_t first_size, const void *theirs, const char *what,
		  struct plimsoll_error *error);

/* For the length of a block the thread is not cancelled: descriptors and list entries would be left behind. */
static inline int pl_cancel_disable(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void pl_cancel_restore(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

#define PL_NO_CANCEL __attribute__((cleanup(pl_cancel_restore), unused)) int pl_cancel_state = pl_cancel_disable()

#endif
