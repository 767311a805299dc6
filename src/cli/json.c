/* SPDX-License-Identifier: Apache-2.0 */
/* json: see json.h. */
#include "json.h"

#include "print.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Our own texts may quote a file's name, which need not be UTF-8. */
static json_t *text_json(const char *text)
{
	size_t len;
	char *utf8 = text_utf8((const uint8_t *)text, strlen(text), &len);
	json_t *json = utf8 ? json_stringn(utf8, len) : NULL;

	free(utf8);
	return json;
}

static json_t *bytes_json(const uint8_t *bytes, size_t bytes_len)
{
	size_t len;
	char *utf8 = text_utf8(bytes, bytes_len, &len);
	json_t *json = utf8 ? json_stringn(utf8, len) : NULL;

	free(utf8);
	return json;
}

static json_t *base64_json(const uint8_t *bytes, size_t len)
{
	char *base64 = text_base64(bytes, len);
	json_t *json = base64 ? json_string(base64) : NULL;

	free(base64);
	return json;
}

static json_t *fact_json(const struct plimsoll_fact *fact)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "name", text_json(fact->name), "value", text_json(fact->value),
			 "expected", text_json(fact->expected), "source", text_json(fact->source), "verdict",
			 text_json(fact->verdict), "after", text_json(fact->after), "required", fact->required);
}

static json_t *facts_json(const struct plimsoll_evidence *evidence)
{
	json_t *facts = json_array();
	struct plimsoll_fact fact;

	for (size_t i = 0; facts && plimsoll_evidence_fact(evidence, i, &fact) == 0; i++) {
		if (json_array_append_new(facts, fact_json(&fact)) == 0)
			continue;
		json_decref(facts);
		facts = NULL;
	}
	return facts;
}

json_t *json_evidence(const struct plimsoll_evidence *evidence, bool with_facts)
{
	json_t *object =
		json_pack("{s:s, s:o, s:o, s:o, s:I, s:I}", "tier", plimsoll_tier_name(plimsoll_evidence_tier(evidence)), "wall",
			  text_json(plimsoll_evidence_wall(evidence)), "policy", text_json(plimsoll_evidence_policy(evidence)),
			  "instance", text_json(plimsoll_evidence_instance(evidence)), "facts_n",
			  (json_int_t)plimsoll_evidence_facts_n(evidence), "facts_required_n",
			  (json_int_t)print_required_n(evidence));

	if (object && with_facts && json_object_set_new(object, "facts", facts_json(evidence)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

json_t *json_error(const struct plimsoll_error *error)
{
	return json_pack("{s:i, s:s, s:o, s:o, s:o}", "code", error->code, "reason", plimsoll_reason_name(error->reason), "step",
			 text_json(error->step), "fact", text_json(error->fact), "message", text_json(error->message));
}

static json_t *reach_json(void)
{
	/* A run without a grant reaches nothing, and there are no grants yet. */
	return json_pack("{s:n, s:[], s:i}", "grant", "routes", "calls", 0);
}

json_t *json_error_status(const struct plimsoll_error *error, int exit_status)
{
	bool marked = error->reason != PLIMSOLL_REASON_NONE;
	json_t *mark = marked ? json_string(plimsoll_reason_name(error->reason)) : json_null();

	return json_pack("{s:n, s:n, s:o, s:o, s:n, s:i, s:o}", "isolation", "evidence", "reach", reach_json(),
			 "not_dispatched", mark, "exit_code", "exit_status", exit_status, "error",
			 json_error(error));
}

json_t *json_result_status(const struct plimsoll_result *result, int exit_status, bool with_facts)
{
	const struct plimsoll_evidence *evidence = plimsoll_result_evidence(result);

	return json_pack("{s:s, s:o, s:o, s:n, s:i, s:i, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:n}",
			 "isolation", plimsoll_tier_name(plimsoll_evidence_tier(evidence)), "evidence",
			 json_evidence(evidence, with_facts), "reach", reach_json(), "not_dispatched",
			 "exit_code", plimsoll_result_exit_code(result), "exit_status", exit_status, "timed_out",
			 plimsoll_result_timed_out(result), "oom", plimsoll_result_oom(result), "duration_us",
			 (json_int_t)plimsoll_result_duration_us(result), "cpu_us", (json_int_t)plimsoll_result_cpu_us(result),
			 "peak_bytes", (json_int_t)plimsoll_result_peak_bytes(result), "timeout_ms",
			 (json_int_t)plimsoll_result_timeout_ms(result), "memory_bytes",
			 (json_int_t)plimsoll_result_memory_bytes(result), "stdout_total",
			 (json_int_t)plimsoll_result_stdout_total(result), "stderr_total",
			 (json_int_t)plimsoll_result_stderr_total(result), "stdout_truncated",
			 plimsoll_result_stdout_truncated(result), "stderr_truncated", plimsoll_result_stderr_truncated(result),
			 "error");
}

int json_output_add(json_t *object, const struct plimsoll_result *result)
{
	size_t out_len, err_len;
	const uint8_t *out = plimsoll_result_stdout(result, &out_len), *err = plimsoll_result_stderr(result, &err_len);

	if (json_object_set_new(object, "stdout", bytes_json(out, out_len)) < 0 ||
	    json_object_set_new(object, "stderr", bytes_json(err, err_len)) < 0 ||
	    json_object_set_new(object, "stdout_base64", base64_json(out, out_len)) < 0)
		return -1;
	return json_object_set_new(object, "stderr_base64", base64_json(err, err_len));
}

json_t *json_doctor(const struct plimsoll_doctor *doctor)
{
	json_t *rows = json_array();
	struct plimsoll_doctor_row row;

	for (size_t i = 0; rows && plimsoll_doctor_row(doctor, i, &row) == 0; i++) {
		json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:o}", "kind", text_json(row.kind), "name", text_json(row.name),
					   "state", text_json(row.state), "found", text_json(row.found), "remedy",
					   text_json(row.remedy));

		if (json_array_append_new(rows, object) == 0)
			continue;
		json_decref(rows);
		rows = NULL;
	}
	return rows ? json_pack("{s:o}", "rows", rows) : NULL;
}

int json_write(int fd, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	int rc = text ? print_bytes(fd, text, strlen(text)) : -ENOMEM;

	if (rc == 0)
		rc = print_bytes(fd, "\n", 1);
	free(text);
	json_decref(object);
	return rc;
}
