/* SPDX-License-Identifier: Apache-2.0 */
/* answer: what the public API hands back: results, evidence, doctor's rows; see plimsoll.h. Each is a parsed message that
 * borrows from its payload; the functions here only look. */
#include "context.h"

#include "base/alloc.h"

#include <errno.h>

int plimsoll_result_exit_code(const struct plimsoll_result *result)
{
	return result->msg.exit_code;
}

int plimsoll_result_timed_out(const struct plimsoll_result *result)
{
	return result->msg.timed_out != 0;
}

int plimsoll_result_oom(const struct plimsoll_result *result)
{
	return result->msg.oom != 0;
}

const uint8_t *plimsoll_result_stdout(const struct plimsoll_result *result, size_t *ret_len)
{
	if (ret_len)
		*ret_len = result->msg.out_len;
	return result->msg.out;
}

const uint8_t *plimsoll_result_stderr(const struct plimsoll_result *result, size_t *ret_len)
{
	if (ret_len)
		*ret_len = result->msg.err_len;
	return result->msg.err;
}

uint64_t plimsoll_result_stdout_total(const struct plimsoll_result *result)
{
	return result->msg.out_total;
}

uint64_t plimsoll_result_stderr_total(const struct plimsoll_result *result)
{
	return result->msg.err_total;
}

int plimsoll_result_stdout_truncated(const struct plimsoll_result *result)
{
	return result->msg.out_total > result->msg.out_len;
}

int plimsoll_result_stderr_truncated(const struct plimsoll_result *result)
{
	return result->msg.err_total > result->msg.err_len;
}

int64_t plimsoll_result_duration_us(const struct plimsoll_result *result)
{
	return result->msg.duration_us;
}

int64_t plimsoll_result_cpu_us(const struct plimsoll_result *result)
{
	return result->msg.cpu_us;
}

uint64_t plimsoll_result_peak_bytes(const struct plimsoll_result *result)
{
	return result->msg.peak_bytes;
}

int64_t plimsoll_result_timeout_ms(const struct plimsoll_result *result)
{
	return result->msg.timeout_ms;
}

uint64_t plimsoll_result_memory_bytes(const struct plimsoll_result *result)
{
	return result->msg.memory_bytes;
}

const struct plimsoll_evidence *plimsoll_result_evidence(const struct plimsoll_result *result)
{
	return &result->evidence;
}

void plimsoll_result_free(struct plimsoll_result *result)
{
	if (!result)
		return;
	pl_free(result->payload);
	pl_free(result);
}

enum plimsoll_tier plimsoll_evidence_tier(const struct plimsoll_evidence *evidence)
{
	return (enum plimsoll_tier)evidence->msg.tier;
}

const char *plimsoll_evidence_wall(const struct plimsoll_evidence *evidence)
{
	return evidence->msg.wall;
}

const char *plimsoll_evidence_policy(const struct plimsoll_evidence *evidence)
{
	return evidence->msg.policy;
}

const char *plimsoll_evidence_instance(const struct plimsoll_evidence *evidence)
{
	return evidence->msg.instance;
}

size_t plimsoll_evidence_facts_n(const struct plimsoll_evidence *evidence)
{
	return evidence->msg.facts_n;
}

int plimsoll_evidence_fact(const struct plimsoll_evidence *evidence, size_t i, struct plimsoll_fact *ret)
{
	if (i >= evidence->msg.facts_n)
		return -ERANGE;
	*ret = evidence->msg.facts[i];
	return 0;
}

/* A result's own evidence is not the caller's to free, and has no payload by which to tell. */
void plimsoll_evidence_free(struct plimsoll_evidence *evidence)
{
	if (!evidence || !evidence->payload)
		return;
	pl_free(evidence->payload);
	pl_free(evidence);
}

size_t plimsoll_doctor_rows_n(const struct plimsoll_doctor *doctor)
{
	return doctor->msg.rows_n;
}

int plimsoll_doctor_row(const struct plimsoll_doctor *doctor, size_t i, struct plimsoll_doctor_row *ret)
{
	if (i >= doctor->msg.rows_n)
		return -ERANGE;
	*ret = doctor->msg.rows[i];
	return 0;
}

void plimsoll_doctor_free(struct plimsoll_doctor *doctor)
{
	if (!doctor)
		return;
	pl_free(doctor->payload);
	pl_free(doctor);
}
