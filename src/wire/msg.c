/* SPDX-License-Identifier: Apache-2.0 */
/* msg: the fields of each message, once, for both directions; see msg.h and pack.h. */
#include "wire/msg.h"

#include "base/bytes.h"
#include "wire/pack.h"

#include <errno.h>
#include <string.h>

void pl_msg_header_print(uint8_t ret_header[PL_MSG_HEADER_LEN], const struct pl_msg_header *header)
{
	pl_put_u32(ret_header, header->payload_len);
	pl_put_u32(ret_header + 4, (uint32_t)header->type);
	pl_put_u64(ret_header + 8, header->id);
}

int pl_msg_header_parse(const uint8_t header[PL_MSG_HEADER_LEN], struct pl_msg_header *ret)
{
	uint32_t len = pl_get_u32(header), type = pl_get_u32(header + 4);

	switch (type) {
#define X(name, number, text) case number:
		PL_MSG_LIST(X)
#undef X
		break;
	default:
		return -EPROTO;
	}
	if (len > PL_MSG_PAYLOAD_MAX)
		return -EPROTO;
	*ret = (struct pl_msg_header){ .payload_len = len, .type = (enum pl_msg_type)type, .id = pl_get_u64(header + 8) };
	return 0;
}

static void open_fields(struct pl_pack *pack, struct pl_msg_open *m)
{
	pl_pack_text(pack, &m->build_id);
	pl_pack_text(pack, &m->walls);
	pl_pack_text(pack, &m->floor);
	pl_pack_u32(pack, &m->pool);
	pl_pack_u32(pack, &m->runs_max);
	pl_pack_u32(pack, &m->id_first);
	pl_pack_u32(pack, &m->id_count);
	pl_pack_u64(pack, &m->memory_max_bytes);
	pl_pack_i64(pack, &m->timeout_max_ms);
	pl_pack_text(pack, &m->microvm_flavours);
}

static void opened_fields(struct pl_pack *pack, struct pl_msg_opened *m)
{
	pl_pack_text(pack, &m->build_id);
}

static void run_fields(struct pl_pack *pack, struct pl_msg_run *m)
{
	pl_pack_bytes(pack, &m->code, &m->code_len);
	pl_pack_text(pack, &m->name);
	pl_pack_text(pack, &m->floor);
	pl_pack_text(pack, &m->wall);
	pl_pack_u32(pack, &m->source);
	pl_pack_i64(pack, &m->timeout_ms);
	pl_pack_u64(pack, &m->memory_bytes);
	pl_pack_u64(pack, &m->stdout_max_bytes);
	pl_pack_u64(pack, &m->stderr_max_bytes);
}

static void evidence_fields(struct pl_pack *pack, struct pl_msg_evidence *m)
{
	pl_pack_i32(pack, &m->tier);
	pl_pack_text(pack, &m->wall);
	pl_pack_text(pack, &m->policy);
	pl_pack_text(pack, &m->instance);
	pl_pack_u32(pack, &m->facts_n);
	if (m->facts_n > PL_MSG_FACTS_MAX) {
		pack->error = -EPROTO;
		return;
	}
	for (uint32_t i = 0; i < m->facts_n; i++) {
		struct plimsoll_fact *fact = &m->facts[i];

		pl_pack_text(pack, &fact->name);
		pl_pack_text(pack, &fact->value);
		pl_pack_text(pack, &fact->expected);
		pl_pack_text(pack, &fact->source);
		pl_pack_text(pack, &fact->verdict);
		pl_pack_text(pack, &fact->after);
		pl_pack_i32(pack, &fact->required);
	}
}

static void result_fields(struct pl_pack *pack, struct pl_msg_result *m)
{
	pl_pack_i32(pack, &m->exit_code);
	pl_pack_u32(pack, &m->timed_out);
	pl_pack_u32(pack, &m->oom);
	pl_pack_bytes(pack, &m->out, &m->out_len);
	pl_pack_bytes(pack, &m->err, &m->err_len);
	pl_pack_u64(pack, &m->out_total);
	pl_pack_u64(pack, &m->err_total);
	pl_pack_i64(pack, &m->duration_us);
	pl_pack_i64(pack, &m->cpu_us);
	pl_pack_u64(pack, &m->peak_bytes);
	pl_pack_i64(pack, &m->timeout_ms);
	pl_pack_u64(pack, &m->memory_bytes);
	evidence_fields(pack, &m->evidence);
}

static void error_fields(struct pl_pack *pack, struct plimsoll_error *m)
{
	uint32_t reason = (uint32_t)m->reason;

	pl_pack_i32(pack, &m->code);
	pl_pack_u32(pack, &reason);
	pl_pack_array(pack, m->step, sizeof m->step);
	pl_pack_array(pack, m->fact, sizeof m->fact);
	pl_pack_array(pack, m->message, sizeof m->message);
	if (reason > PLIMSOLL_REASON_ENVIRONMENT || m->code >= 0)
		pack->error = pack->error ? pack->error : -EPROTO;
	m->reason = (enum plimsoll_reason)reason;
}

static void measure_fields(struct pl_pack *pack, struct pl_msg_measure *m)
{
	pl_pack_text(pack, &m->wall);
}

static void rows_fields(struct pl_pack *pack, struct pl_msg_rows *m)
{
	pl_pack_u32(pack, &m->rows_n);
	if (m->rows_n > PL_MSG_ROWS_MAX) {
		pack->error = -EPROTO;
		return;
	}
	for (uint32_t i = 0; i < m->rows_n; i++) {
		struct plimsoll_doctor_row *row = &m->rows[i];

		pl_pack_text(pack, &row->kind);
		pl_pack_text(pack, &row->name);
		pl_pack_text(pack, &row->state);
		pl_pack_text(pack, &row->found);
		pl_pack_text(pack, &row->remedy);
	}
}

/* Appends room for a header; the caller prints the payload after it and then calls msg_close. */
static int msg_begin(struct pl_buf *out, size_t *ret_mark)
{
	static const uint8_t blank[PL_MSG_HEADER_LEN];

	*ret_mark = out->len;
	return pl_buf_append(out, blank, sizeof blank);
}

static int msg_finish(struct pl_buf *out, size_t mark, enum pl_msg_type type, uint64_t id, int rc)
{
	size_t len = out->len - mark - PL_MSG_HEADER_LEN;
	struct pl_msg_header header = { .payload_len = (uint32_t)len, .type = type, .id = id };

	if (rc == 0 && len > PL_MSG_PAYLOAD_MAX)
		rc = -ENOBUFS;
	if (rc < 0) {
		out->len = mark;
		return rc;
	}
	pl_msg_header_print(pl_buf_head(out) + mark, &header);
	return 0;
}

#define MSG_FUNCTIONS(lower, UPPER, type)                                                                              \
	int pl_msg_##lower##_print(struct pl_buf *out, uint64_t id, type *msg)                                             \
	{                                                                                                                  \
		struct pl_pack pack = PL_PACK_PRINT(out);                                                                      \
		size_t mark;                                                                                                   \
		int rc = msg_begin(out, &mark);                                                                                \
                                                                                                                       \
		if (rc < 0)                                                                                                    \
			return rc;                                                                                                 \
		lower##_fields(&pack, msg);                                                                                    \
		return msg_finish(out, mark, PL_MSG_##UPPER, id, pl_pack_end(&pack));                                          \
	}                                                                                                                  \
                                                                                                                       \
	int pl_msg_##lower##_parse(const uint8_t *payload, size_t len, type *ret)                                          \
	{                                                                                                                  \
		struct pl_pack pack = PL_PACK_PARSE(payload, len);                                                             \
                                                                                                                       \
		memset(ret, 0, sizeof *ret);                                                                                   \
		lower##_fields(&pack, ret);                                                                                    \
		return pl_pack_end(&pack);                                                                                     \
	}

MSG_FUNCTIONS(open, OPEN, struct pl_msg_open)
MSG_FUNCTIONS(opened, OPENED, struct pl_msg_opened)
MSG_FUNCTIONS(run, RUN, struct pl_msg_run)
MSG_FUNCTIONS(result, RESULT, struct pl_msg_result)
MSG_FUNCTIONS(error, ERROR, struct plimsoll_error)
MSG_FUNCTIONS(measure, MEASURE, struct pl_msg_measure)
MSG_FUNCTIONS(evidence, EVIDENCE, struct pl_msg_evidence)
MSG_FUNCTIONS(rows, ROWS, struct pl_msg_rows)

int pl_msg_empty_print(struct pl_buf *out, uint64_t id, enum pl_msg_type type)
{
	size_t mark;
	int rc = msg_begin(out, &mark);

	return rc < 0 ? rc : msg_finish(out, mark, type, id, 0);
}
