/* SPDX-License-Identifier: Apache-2.0 */
/* msg: the messages between libplimsoll and its supervisor, over one stream socket (the lifeline). Both are of one build,
 * which OPEN and OPENED compare first, so there are no versions; still neither trusts the other's lengths.
 *
 *     u32 payload_len   u32 type   u64 id   payload          (little-endian)
 *
 * id is the library's number of the call; the answer carries it. OPEN is first and once; then RUN, MEASURE and DOCTOR in any
 * order and number, each answered by RESULT, EVIDENCE or ROWS, or by ERROR. CANCEL carries the id of the RUN that it ends
 * and has no answer of its own. */
#ifndef PL_WIRE_MSG_H
#define PL_WIRE_MSG_H

#include "base/buf.h"
#include "plimsoll/plimsoll.h"

#include <stddef.h>
#include <stdint.h>

#define PL_MSG_HEADER_LEN 16u
#define PL_MSG_PAYLOAD_MAX (20u * 1024u * 1024u)
#define PL_MSG_FACTS_MAX 48u
#define PL_MSG_ROWS_MAX 32u

#define PL_MSG_LIST(X)                                                                                                 \
	X(OPEN, 1, "open")                                                                                                 \
	X(OPENED, 2, "opened")                                                                                             \
	X(RUN, 3, "run")                                                                                                   \
	X(CANCEL, 4, "cancel")                                                                                             \
	X(RESULT, 5, "result")                                                                                             \
	X(ERROR, 6, "error")                                                                                               \
	X(MEASURE, 7, "measure")                                                                                           \
	X(EVIDENCE, 8, "evidence")                                                                                         \
	X(DOCTOR, 9, "doctor")                                                                                             \
	X(ROWS, 10, "rows")

enum pl_msg_type {
#define X(name, number, text) PL_MSG_##name = (number),
	PL_MSG_LIST(X)
#undef X
};

struct pl_msg_header {
	uint32_t payload_len;
	enum pl_msg_type type;
	uint64_t id;
};

struct pl_msg_open {
	const char *build_id, *walls, *floor;
	uint32_t pool, runs_max, id_first, id_count;
	uint64_t memory_max_bytes;
	int64_t timeout_max_ms;
	const char *microvm_flavours;
};

struct pl_msg_opened {
	const char *build_id;
};

struct pl_msg_run {
	const uint8_t *code;
	size_t code_len;
	const char *name, *floor, *wall;
	uint32_t source;
	int64_t timeout_ms;
	uint64_t memory_bytes, stdout_max_bytes, stderr_max_bytes;
};

struct pl_msg_evidence {
	int32_t tier;
	const char *wall, *policy, *instance;
	uint32_t facts_n;
	struct plimsoll_fact facts[PL_MSG_FACTS_MAX];
};

struct pl_msg_result {
	int32_t exit_code;
	uint32_t timed_out, oom;
	const uint8_t *out, *err;
	size_t out_len, err_len;
	uint64_t out_total, err_total;
	int64_t duration_us, cpu_us;
	uint64_t peak_bytes;
	int64_t timeout_ms;
	uint64_t memory_bytes;
	struct pl_msg_evidence evidence;
};

struct pl_msg_measure {
	const char *wall;
};

struct pl_msg_rows {
	uint32_t rows_n;
	struct plimsoll_doctor_row rows[PL_MSG_ROWS_MAX];
};

/* Writes the header. */
void pl_msg_header_print(uint8_t ret_header[PL_MSG_HEADER_LEN], const struct pl_msg_header *header);
/* -EPROTO: unknown type or payload over PL_MSG_PAYLOAD_MAX. */
int pl_msg_header_parse(const uint8_t header[PL_MSG_HEADER_LEN], struct pl_msg_header *ret);

/* Each appends header and payload to out; 0, -ENOBUFS or -ENOMEM, and then out is as it was. */
int pl_msg_open_print(struct pl_buf *out, uint64_t id, struct pl_msg_open *msg);
int pl_msg_opened_print(struct pl_buf *out, uint64_t id, struct pl_msg_opened *msg);
int pl_msg_run_print(struct pl_buf *out, uint64_t id, struct pl_msg_run *msg);
int pl_msg_result_print(struct pl_buf *out, uint64_t id, struct pl_msg_result *msg);
int pl_msg_error_print(struct pl_buf *out, uint64_t id, struct plimsoll_error *msg);
int pl_msg_measure_print(struct pl_buf *out, uint64_t id, struct pl_msg_measure *msg);
int pl_msg_evidence_print(struct pl_buf *out, uint64_t id, struct pl_msg_evidence *msg);
int pl_msg_rows_print(struct pl_buf *out, uint64_t id, struct pl_msg_rows *msg);
/* CANCEL and DOCTOR have no payload. */
int pl_msg_empty_print(struct pl_buf *out, uint64_t id, enum pl_msg_type type);

/* Each parses a whole payload; texts and bytes borrow from it. 0 or -EPROTO. */
int pl_msg_open_parse(const uint8_t *payload, size_t len, struct pl_msg_open *ret);
int pl_msg_opened_parse(const uint8_t *payload, size_t len, struct pl_msg_opened *ret);
int pl_msg_run_parse(const uint8_t *payload, size_t len, struct pl_msg_run *ret);
int pl_msg_result_parse(const uint8_t *payload, size_t len, struct pl_msg_result *ret);
int pl_msg_error_parse(const uint8_t *payload, size_t len, struct plimsoll_error *ret);
int pl_msg_measure_parse(const uint8_t *payload, size_t len, struct pl_msg_measure *ret);
int pl_msg_evidence_parse(const uint8_t *payload, size_t len, struct pl_msg_evidence *ret);
int pl_msg_rows_parse(const uint8_t *payload, size_t len, struct pl_msg_rows *ret);

#endif
