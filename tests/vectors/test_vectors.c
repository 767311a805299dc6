/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors, as C sees them: the digests of evidence.json and the frames of wire.json, which make.py computed from the
 * description of the formats alone. Usage: test_vectors (the folder is compiled in). */
#include "unit/unit.h"

#include "contract/evidence.h"
#include "contract/gate.h"

#include <jansson.h>

static json_t *file_load(const char *name)
{
	char path[512];
	json_error_t error;
	json_t *json;

	snprintf(path, sizeof path, "%s/%s", TESTS_DIR "/vectors", name);
	json = json_load_file(path, 0, &error);
	if (!json)
		fail_msg("%s:%d: %s", path, error.line, error.text);
	return json;
}

static const char *text_get(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		fail_msg("no text %s", key);
	return text;
}

static uint64_t number_get(json_t *object, const char *key)
{
	json_t *json = json_object_get(object, key);

	assert_non_null(json);
	/* Above 2^53 a number stands as a text. */
	return json_is_string(json) ? strtoull(json_string_value(json), NULL, 10) : (uint64_t)json_integer_value(json);
}

static size_t hex_get(json_t *object, const char *key, uint8_t *ret, size_t size)
{
	const char *hex = text_get(object, key);
	size_t len = strlen(hex) / 2;

	assert_true(len <= size);
	for (size_t i = 0; i < len; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
	return len;
}

/* --- evidence ------------------------------------------------------------------------------------------------------------ */

static enum pl_fact_source source_get(const char *name)
{
	for (int i = PL_FACT_HOST; i <= PL_FACT_GUEST; i++)
		if (strcmp(pl_fact_source_name((enum pl_fact_source)i), name) == 0)
			return (enum pl_fact_source)i;
	fail_msg("no source %s", name);
	return PL_FACT_HOST;
}

static enum plimsoll_tier tier_get(const char *name)
{
	enum plimsoll_tier tier;

	assert_int_equal(plimsoll_tier_parse(name, &tier), 0);
	return tier;
}

static void evidence_compare(json_t *item)
{
	static struct pl_fact_spec specs[PL_FACTS_MAX];
	static struct pl_fact facts[PL_FACTS_MAX];
	struct pl_profile profile = { .wall = text_get(item, "wall"), .tier = tier_get(text_get(item, "tier")), .specs = specs };
	char policy[PL_POLICY_SIZE], instance[PL_INSTANCE_SIZE];
	uint8_t salt[PL_SALT_LEN];
	json_t *fact;

	json_array_foreach(json_object_get(item, "facts"), profile.specs_n, fact) {
		size_t i = profile.specs_n;

		assert_true(i < PL_FACTS_MAX);
		specs[i] = (struct pl_fact_spec){
			.name = text_get(fact, "name"),
			.source = source_get(text_get(fact, "source")),
			.required = json_is_true(json_object_get(fact, "required")),
			.expected = text_get(fact, "expected"),
		};
		snprintf(facts[i].value, sizeof facts[i].value, "%s", text_get(fact, "value"));
	}
	assert_int_equal(hex_get(item, "salt", salt, sizeof salt), sizeof salt);
	pl_policy_digest(&profile, policy);
	pl_evidence_digest(&profile, facts, salt, instance);
	if (strcmp(policy, text_get(item, "policy")) != 0 || strcmp(instance, text_get(item, "instance")) != 0)
		fail_msg("%s: %s, %s", text_get(item, "title"), policy, instance);
}

static void test_evidence(void **state)
{
	json_t *cases = file_load("evidence.json"), *item;
	size_t i;

	(void)state;
	assert_true(json_array_size(cases) >= 12);
	json_array_foreach(cases, i, item)
		evidence_compare(item);
	json_decref(cases);
}

/* --- wire ------------------------------------------------------------------------------------------------------------------ */

static uint8_t frame[PL_FRAME_HEADER_LEN + PL_FRAME_PAYLOAD_MAX], made[sizeof frame];

/* Reads the frame of item, which must be of this type and complete; its payload stands behind the header. */
static size_t frame_get(json_t *item, enum pl_frame_type type)
{
	size_t len = hex_get(item, "frame", frame, sizeof frame);
	struct pl_frame_header header;

	assert_true(len >= PL_FRAME_HEADER_LEN);
	assert_int_equal(pl_frame_header_parse(frame, &header), 0);
	assert_int_equal(header.type, type);
	assert_int_equal(header.payload_len, len - PL_FRAME_HEADER_LEN);
	pl_frame_header_print(made, type, header.payload_len);
	return header.payload_len;
}

static const uint8_t *const payload = frame + PL_FRAME_HEADER_LEN;
static uint8_t *const made_payload = made + PL_FRAME_HEADER_LEN;

static void hello_compare(json_t *item)
{
	size_t len = frame_get(item, PL_FRAME_HELLO);
	uint8_t challenge[PL_CHALLENGE_LEN], image_id[PL_IMAGE_ID_LEN];
	char name[PL_TASK_NAME_LEN + 1];
	struct pl_hello hello;
	struct pl_gate gate;

	assert_int_equal(pl_hello_parse(payload, len, &hello), 0);
	assert_int_equal(hello.probes_tried, number_get(item, "tried"));
	assert_int_equal(hello.probes_denied, number_get(item, "denied"));
	assert_int_equal(hello.landlock_denied, number_get(item, "landlock"));
	assert_int_equal(hello.dumpable, number_get(item, "dumpable"));
	hex_get(item, "challenge", challenge, sizeof challenge);
	hex_get(item, "image_id", image_id, sizeof image_id);
	pl_task_name(challenge, name);
	assert_string_equal(name, text_get(item, "task_name"));
	pl_gate_init(&gate);
	assert_int_equal(pl_gate_challenge(&gate, challenge), 0);
	assert_int_equal(pl_gate_hello(&gate, &hello, image_id), 0);
	pl_hello_print(made_payload, &hello);
	assert_memory_equal(made, frame, PL_FRAME_HEADER_LEN + len);
}

static void job_compare(json_t *item)
{
	size_t len = frame_get(item, PL_FRAME_JOB);
	uint8_t seed[PL_SEED_LEN];
	struct pl_job job;

	assert_int_equal(pl_job_parse(payload, len, &job), 0);
	assert_int_equal(job.kind, number_get(item, "kind"));
	assert_true(job.memory_bytes == number_get(item, "memory"));
	assert_true(job.stdout_max_bytes == number_get(item, "stdout_max"));
	assert_true(job.stderr_max_bytes == number_get(item, "stderr_max"));
	assert_true((uint64_t)job.now_ms == number_get(item, "now_ms"));
	assert_int_equal(job.fail_allocation, 0);
	hex_get(item, "seed", seed, sizeof seed);
	assert_memory_equal(job.seed, seed, sizeof seed);
	assert_int_equal(job.name_len, strlen(text_get(item, "name")));
	assert_memory_equal(job.name, text_get(item, "name"), job.name_len);
	assert_int_equal(job.code_len, strlen(text_get(item, "code")));
	assert_memory_equal(job.code, text_get(item, "code"), job.code_len);
	assert_int_equal(pl_job_len(&job), len);
	pl_job_print(made_payload, &job);
	assert_memory_equal(made, frame, PL_FRAME_HEADER_LEN + len);
}

static void result_compare(json_t *item)
{
	size_t len = frame_get(item, PL_FRAME_RESULT);
	struct pl_guest_result result;

	assert_int_equal(pl_guest_result_parse(payload, len, &result), 0);
	assert_int_equal(result.exit_code, number_get(item, "exit_code"));
	assert_int_equal(result.oom, number_get(item, "oom"));
	assert_true(result.stdout_total == number_get(item, "stdout_total"));
	assert_true(result.stderr_total == number_get(item, "stderr_total"));
	pl_guest_result_print(made_payload, &result);
	assert_memory_equal(made, frame, PL_FRAME_HEADER_LEN + len);
}

static void dropped_compare(json_t *item)
{
	size_t len = frame_get(item, PL_FRAME_DROPPED);
	enum pl_stream stream;
	uint64_t total;

	assert_int_equal(pl_dropped_parse(payload, len, &stream, &total), 0);
	assert_int_equal(stream, number_get(item, "stream"));
	assert_true(total == number_get(item, "total"));
	pl_dropped_print(made_payload, stream, total);
	assert_memory_equal(made, frame, PL_FRAME_HEADER_LEN + len);
}

static void each(const char *key, void (*compare)(json_t *item))
{
	json_t *all = file_load("wire.json"), *list = json_object_get(all, key), *item;
	size_t i;

	assert_true(json_array_size(list) >= 2);
	json_array_foreach(list, i, item)
		compare(item);
	json_decref(all);
}

static void test_hello(void **state)
{
	(void)state;
	each("hello", hello_compare);
}

static void test_job(void **state)
{
	(void)state;
	each("job", job_compare);
}

static void test_result(void **state)
{
	(void)state;
	each("result", result_compare);
}

static void test_dropped(void **state)
{
	(void)state;
	each("dropped", dropped_compare);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evidence), cmocka_unit_test(test_hello),   cmocka_unit_test(test_job),
		cmocka_unit_test(test_result),   cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
