/* SPDX-License-Identifier: Apache-2.0 */
/* limits: what a request may ask for, and what it gets when it asks for nothing. Figures from the reference, 1.5 and 2.3
 * (code 256 KiB, 5 s with a ceiling of 30 s, 256 MiB, 64 KiB a stream). Used by the library before it sends and by the
 * supervisor, which trusts nobody, before it opens anything. */
#ifndef PL_CONTRACT_LIMITS_H
#define PL_CONTRACT_LIMITS_H

#include "plimsoll/plimsoll.h"
#include "wire/msg.h"

#define PL_CODE_MAX_BYTES (256u * 1024u)
#define PL_NAME_MAX_BYTES 255u
#define PL_WALL_MAX_BYTES 64u
#define PL_TIMEOUT_DEFAULT_MS 5000
#define PL_TIMEOUT_CEILING_MS 30000
#define PL_TIMEOUT_MAX_MS 300000
#define PL_MEMORY_DEFAULT_BYTES (256ull << 20)
#define PL_MEMORY_MIN_BYTES (16ull << 20)
#define PL_MEMORY_MAX_BYTES (4ull << 30)
#define PL_OUTPUT_DEFAULT_BYTES 65536u
#define PL_OUTPUT_MAX_BYTES (8ull << 20)
#define PL_RUNS_DEFAULT 16u
#define PL_RUNS_MAX 256u
#define PL_POOL_MAX 256u
#define PL_FLAVOURS_DEFAULT "vmx,svm"
#define PL_ID_FIRST 1966080u
#define PL_ID_COUNT 31920u
/* The wall's cap less this is what the engine may allocate: room for its program, stack and the kernel's own. */
#define PL_MEMORY_RESERVE_BYTES (8ull << 20)

/* The limits of one run, with defaults filled in and the timeout clamped. */
struct pl_limits {
	int64_t timeout_ms;
	uint64_t memory_bytes, stdout_max_bytes, stderr_max_bytes;
	uint64_t cpu_seconds; /* processor time: the deadline in whole seconds, and two: it ends what a lost deadline would not */
	uint64_t fail_allocation; /* test builds: which allocation of the engine fails; 0: none */
};

/* The context's options as numbers, with defaults filled in. */
struct pl_settings {
	enum plimsoll_tier floor; /* UNKNOWN: none */
	uint32_t pool, runs_max, id_first, id_count;
	uint64_t memory_max_bytes;
	int64_t timeout_max_ms;
	unsigned microvm_flavours; /* enum pl_kvm_flavour, as bits */
};

/* 0, or PLIMSOLL_ERROR_INVALID with every bad option named in the message. Walls are looked at by the supervisor, which
 * knows them. */
int pl_settings_check(const struct pl_msg_open *open, struct pl_settings *ret, struct plimsoll_error *error);

/* Everything about a request that can be judged without knowing the context: 0, or PLIMSOLL_ERROR_INVALID with reason
 * REQUEST and a message that names the input, the rule and the right form. */
int pl_request_check(const struct pl_msg_run *run, struct plimsoll_error *error);

/* Fills the limits of a request that pl_request_check passed; the context's memory maximum is checked here. */
int pl_limits_fill(const struct pl_msg_run *run, const struct pl_settings *settings, struct pl_limits *ret,
		   struct plimsoll_error *error);

#endif
