/* SPDX-License-Identifier: Apache-2.0 */
/* ids: host user and group ids for sandboxes, when the supervisor is root.
 *
 * Every sandbox gets a pair of ids that nobody else on the machine has: the first for its init, the next for its guest; the
 * same numbers serve as uid and gid. The range comes from the operator. Two supervisors never hold the same pair: each pair
 * is one byte of a lock file, locked for as long as the sandbox lives, and the kernel drops the lock when its holder ends.
 * That holds between supervisors that see the same lock file; containers with a /run of their own need ranges of their own.
 * Called by the supervisor only; the range is the operator's word, the files are the administrator's. */
#ifndef PL_SUPERVISOR_IDS_H
#define PL_SUPERVISOR_IDS_H

#include <stdint.h>

#define PL_IDS_DEFAULT_FIRST 1966080u
#define PL_IDS_DEFAULT_LAST 1997999u
#define PL_IDS_WHY_LEN 256

struct pl_ids;

struct pl_ids_config {
	uint32_t first, last; /* both belong to the range */
	const char *etc_dir;  /* where passwd, group, subuid and subgid are; NULL: /etc */
	const char *run_dir;  /* where ids.lock is, made when absent; NULL: /run/plimsoll */
};

/* Refuses, with a text in why, a range that a file in etc_dir names an id of, that the user namespace does not map, or whose
 * lock file others could have touched. Only these files are looked into: a directory service can know more users. */
int pl_ids_open(const struct pl_ids_config *config, struct pl_ids **ret_ids, char why[PL_IDS_WHY_LEN]);
/* Takes a pair: *ret_first for the init, *ret_first + 1 for the guest. -EAGAIN: none is free. */
int pl_ids_take(struct pl_ids *ids, uint32_t *ret_first);
/* Gives a pair back, which will be the last to be taken again. -EINVAL: it was not taken from here. */
int pl_ids_give(struct pl_ids *ids, uint32_t first);
/* Gives back everything. */
void pl_ids_close(struct pl_ids *ids);

#endif
