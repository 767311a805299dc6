/* SPDX-License-Identifier: Apache-2.0 */
/* request: from a call of the library to a box, and from a box to the answer. Refusals are decided here in the order of the
 * contract: is the request well formed, is there a wall for it, is there a slot; only then is anything opened. */
#include "supervisor/supervisor.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "contract/error.h"
#include "linux/sys.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static struct slot *slot_find(struct supervisor *s, const char *name)
{
	for (size_t i = 0; i < PL_WALLS_N; i++)
		if (strcmp(s->slots[i].wall->name, name) == 0)
			return &s->slots[i];
	return NULL;
}

static bool slot_usable(const struct slot *slot)
{
	return slot->configured && slot->available && !slot->out_of_service;
}

static int slot_refused(const struct slot *slot, struct plimsoll_error *error)
{
	if (!slot->available)
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "choose wall",
			 "the %s wall cannot be had here: %s; %s", slot->wall->name, slot->found, slot->remedy);
	else
		pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "choose wall",
			 "the %s wall is out of service: fact %s was contradicted; it returns when a spare sandbox measures right",
			 slot->wall->name, slot->out_fact);
	snprintf(error->fact, sizeof error->fact, "%s", slot->out_fact);
	return error->code;
}

static int slot_named(struct supervisor *s, const char *name, enum plimsoll_tier floor, struct slot **ret,
		      struct plimsoll_error *error)
{
	struct slot *slot = slot_find(s, name);

	if (!slot)
		return pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "choose wall",
				"wall \"%.40s\" is not known; this build has microvm, container and process, or auto", name);
	if (!slot->configured)
		return pl_error(error, PLIMSOLL_ERROR_UNSUPPORTED, PLIMSOLL_REASON_UNSUPPORTED, "choose wall",
				"the %s wall is not configured; name it in the option walls", name);
	if (slot->wall->tier < floor)
		return pl_floor_compare(slot->wall->tier, slot->wall->tier, floor, s->settings.floor, error);
	if (!slot_usable(slot))
		return slot_refused(slot, error);
	*ret = slot;
	return 0;
}

/* The strongest that can be had and meets the floor; a wall that cannot be had now does not hide a weaker one that meets it. */
static int slot_auto(struct supervisor *s, enum plimsoll_tier floor, struct slot **ret, struct plimsoll_error *error)
{
	struct slot *strongest = NULL;
	int rc;

	for (size_t i = 0; i < PL_WALLS_N; i++) {
		struct slot *slot = &s->slots[i];

		if (!slot->configured)
			continue;
		strongest = strongest ? strongest : slot;
		if (slot->wall->tier < floor || !slot_usable(slot))
			continue;
		*ret = slot;
		return 0;
	}
	if (strongest->wall->tier < floor)
		return pl_floor_compare(strongest->wall->tier, strongest->wall->tier, floor, s->settings.floor, error);
	rc = slot_refused(strongest, error);
	if (floor > PLIMSOLL_TIER_UNKNOWN) {
		size_t len = strlen(error->message);

		snprintf(error->message + len, sizeof error->message - len, "; the floor is %s", plimsoll_tier_name(floor));
	}
	return rc;
}

static int slot_choose(struct supervisor *s, const char *name, enum plimsoll_tier floor, struct slot **ret,
		       struct plimsoll_error *error)
{
	if (floor < s->settings.floor)
		floor = s->settings.floor;
	if (!s->slots_configured)
		return pl_error(error, PLIMSOLL_ERROR_UNSUPPORTED, PLIMSOLL_REASON_UNSUPPORTED, "choose wall",
				"no wall is configured, so execution is disabled; name one in the option walls");
	if (!name[0] || strcmp(name, "auto") == 0)
		return slot_auto(s, floor, ret, error);
	return slot_named(s, name, floor, ret, error);
}

static int capacity_check(struct supervisor *s, struct plimsoll_error *error)
{
	if (s->runs < s->settings.runs_max)
		return 0;
	return pl_error(error, PLIMSOLL_ERROR_CAPACITY, PLIMSOLL_REASON_CAPACITY, "take slot",
			"all %u slots are taken; try again later, or raise the option runs_max", s->settings.runs_max);
}

static int request_new(uint64_t id, const struct pl_msg_run *msg, const struct pl_limits *limits, struct request **ret,
		       struct plimsoll_error *error)
{
	struct request *r = pl_calloc(1, sizeof *r);
	uint8_t seed[PL_SEED_LEN];
	int rc = r ? (int)PL_SYS("getrandom", getrandom(seed, sizeof seed, 0)) : -ENOMEM;

	if (rc >= 0)
		rc = pl_run_init(&r->run, id, msg, limits, seed, pl_wall_clock_ms());
	if (rc < 0) {
		pl_free(r);
		return pl_error(error, rc, PLIMSOLL_REASON_ENVIRONMENT, "take request", "the request could not be held: %s",
				strerror(-rc));
	}
	pl_buf_init(&r->out, limits->stdout_max_bytes);
	pl_buf_init(&r->err, limits->stderr_max_bytes);
	*ret = r;
	return 0;
}

void request_free(struct request *request)
{
	if (!request)
		return;
	pl_run_fini(&request->run);
	pl_buf_fini(&request->out);
	pl_buf_fini(&request->err);
	pl_free(request);
}

static struct box *pool_take(struct supervisor *s, const struct slot *slot, uint64_t memory_bytes)
{
	for (struct box *b = s->pool; b; b = b->next)
		if (b->slot == slot && (!slot->wall->memory_fixed || b->sandbox.limits.memory_bytes == memory_bytes))
			return b;
	return NULL;
}

/* Counts the request and finds it a box; on failure it is answered. */
static void request_place(struct supervisor *s, struct slot *slot, struct request *r)
{
	struct box *waiting = r->measure_only ? NULL : pool_take(s, slot, r->run.limits.memory_bytes);
	struct plimsoll_error error;

	s->runs++;
	if (waiting) {
		box_pass(waiting, r);
		return;
	}
	if (box_open(s, slot, r, false, &error) < 0) {
		s->runs--;
		lifeline_answer_error(s, r->run.id, &error);
		request_free(r);
	}
}

void request_run(struct supervisor *s, uint64_t id, const struct pl_msg_run *msg)
{
	enum plimsoll_tier floor = PLIMSOLL_TIER_UNKNOWN;
	struct plimsoll_error error;
	struct request *r = NULL;
	struct pl_limits limits;
	struct slot *slot = NULL;
	int rc = pl_request_check(msg, &error);

	if (rc == 0)
		rc = pl_limits_fill(msg, &s->settings, &limits, &error);
	if (rc == 0)
		limits.fail_allocation = pl_fault_engine();
	if (rc == 0 && msg->floor[0])
		(void)plimsoll_tier_parse(msg->floor, &floor);
	if (rc == 0)
		rc = slot_choose(s, msg->wall, floor, &slot, &error);
	if (rc == 0)
		rc = capacity_check(s, &error);
	if (rc == 0)
		rc = request_new(id, msg, &limits, &r, &error);
	if (rc < 0) {
		lifeline_answer_error(s, id, &error);
		return;
	}
	request_place(s, slot, r);
}

void request_measure(struct supervisor *s, uint64_t id, const struct pl_msg_measure *msg)
{
	/* The limits of a run that asks for nothing; the job is made and never dispatched. */
	struct pl_msg_run nothing = { .code = (const uint8_t *)";", .code_len = 1, .name = "", .floor = "", .wall = "" };
	struct plimsoll_error error;
	struct request *r = NULL;
	struct pl_limits limits;
	struct slot *slot = NULL;
	int rc = pl_limits_fill(&nothing, &s->settings, &limits, &error);

	if (rc < 0) { /* a context whose memory maximum is below the default measures at its maximum */
		nothing.memory_bytes = s->settings.memory_max_bytes;
		rc = pl_limits_fill(&nothing, &s->settings, &limits, &error);
	}
	if (rc == 0)
		rc = slot_choose(s, msg->wall, PLIMSOLL_TIER_UNKNOWN, &slot, &error);
	if (rc == 0)
		rc = capacity_check(s, &error);
	if (rc == 0)
		rc = request_new(id, &nothing, &limits, &r, &error);
	if (rc < 0) {
		lifeline_answer_error(s, id, &error);
		return;
	}
	r->measure_only = true;
	request_place(s, slot, r);
}

void request_cancel(struct supervisor *s, uint64_t id)
{
	struct plimsoll_error error;

	for (struct box *b = s->boxes; b; b = b->next) {
		if (!b->request || b->request->run.id != id)
			continue;
		pl_error(&error, PLIMSOLL_ERROR_CANCELLED, PLIMSOLL_REASON_REQUEST, "cancel", "cancelled by the caller%s",
			 b->request->run.dispatched ? " after dispatch" : " before dispatch");
		request_refuse(b, &error);
		box_kill(b);
		return;
	}
	/* Its answer is on its way already. */
}

static struct request *request_take(struct box *box)
{
	struct request *r = box->request;

	box->request = NULL;
	box->supervisor->runs--;
	return r;
}

void request_refuse(struct box *box, const struct plimsoll_error *error)
{
	struct supervisor *s = box->supervisor;
	struct plimsoll_error marked = *error;
	struct request *r;

	if (!box->request)
		return;
	r = request_take(box);
	pl_run_mark(&r->run, &marked);
	lifeline_answer_error(s, r->run.id, &marked);
	lifeline_flush(s);
	request_free(r);
}

static void evidence_fill(struct box *box, const enum pl_change *changes, struct pl_msg_evidence *ret)
{
	const struct pl_profile *profile = box->slot->wall->profile(box->slot->state);

	*ret = (struct pl_msg_evidence){
		.tier = box->sandbox.gate.tier,
		.wall = box->slot->wall->name,
		.policy = box->slot->policy,
		.instance = box->instance,
		.facts_n = (uint32_t)profile->specs_n,
	};
	for (size_t i = 0; i < profile->specs_n; i++) {
		const struct pl_fact_spec *spec = &profile->specs[i];

		ret->facts[i] = (struct plimsoll_fact){
			.name = spec->name,
			.value = spec->hidden ? "" : box->sandbox.facts[i].value,
			.expected = spec->expected,
			.source = pl_fact_source_name(spec->source),
			.verdict = spec->required ? "met" : "stated",
			.after = changes ? pl_change_name(changes[i]) : "",
			.required = spec->required,
		};
	}
}

static int result_print(struct box *box, struct request *r, struct pl_msg_result *msg)
{
	msg->out = r->out.len ? pl_buf_head(&r->out) : (const uint8_t *)"";
	msg->out_len = r->out.len;
	msg->err = r->err.len ? pl_buf_head(&r->err) : (const uint8_t *)"";
	msg->err_len = r->err.len;
	msg->out_total = r->out_total;
	msg->err_total = r->err_total;
	msg->duration_us = pl_now_us() - r->run.dispatched_us;
	msg->timeout_ms = r->run.limits.timeout_ms;
	msg->memory_bytes = r->run.limits.memory_bytes;
	return pl_msg_result_print(&box->supervisor->line.out, r->run.id, msg);
}

void request_answer(struct box *box, int exit_code, bool timed_out, bool oom, int64_t cpu_us, uint64_t peak_bytes,
		    const enum pl_change *changes)
{
	static struct pl_msg_result msg; /* 3 KiB; one thread */
	struct supervisor *s = box->supervisor;
	struct request *r = request_take(box);
	int rc;

	msg = (struct pl_msg_result){
		.exit_code = exit_code, .timed_out = timed_out, .oom = oom, .peak_bytes = peak_bytes,
		.cpu_us = cpu_us > box->cpu_before_us ? cpu_us - box->cpu_before_us : 0,
	};
	evidence_fill(box, changes, &msg.evidence);
	if (r->measure_only)
		rc = pl_msg_evidence_print(&s->line.out, r->run.id, &msg.evidence);
	else
		rc = result_print(box, r, &msg);
	if (rc < 0)
		s->ending = true;
	lifeline_flush(s);
	request_free(r);
}
