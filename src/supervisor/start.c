/* SPDX-License-Identifier: Apache-2.0 */
/* start: from the options in OPEN to a supervisor that can serve, and its end. What the options ask for and cannot be had
 * stops the start, all of it named at once; a wall that cannot be had here does not: runs are then refused one by one. */
#include "supervisor/supervisor.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "contract/error.h"
#include "linux/sys.h"
#include "wall/jail/filters.h"

#include <stdio.h>
#include <string.h>

#define SWEEP_MS 1000
#define END_US (5 * 1000000)

/* Strongest first. */
static const struct pl_wall *const walls[PL_WALLS_N] = { &pl_wall_microvm, &pl_wall_container, &pl_wall_process };

/* A comma-separated list of wall names; blanks around a name are allowed. */
static int walls_configure(struct supervisor *s, const char *list, struct plimsoll_error *error)
{
	char message[sizeof error->message] = "";
	struct pl_text bad = PL_TEXT(message);

	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ","), blanks = strspn(at, " "), n;
		bool known = false;

		blanks = blanks < len ? blanks : len;
		n = len - blanks;
		while (n && at[blanks + n - 1] == ' ')
			n--;
		for (size_t i = 0; i < PL_WALLS_N; i++) {
			if (strlen(walls[i]->name) != n || strncmp(walls[i]->name, at + blanks, n) != 0)
				continue;
			s->slots_configured += !s->slots[i].configured;
			s->slots[i].configured = known = true;
		}
		if (!known)
			pl_text_add(&bad, "%s\"%.*s\"", bad.len ? ", " : "", (int)(n < 40 ? n : 40), at + blanks);
		at += len + (at[len] == ',');
	}
	if (bad.len)
		return pl_error(error, PLIMSOLL_ERROR_INVALID, PLIMSOLL_REASON_REQUEST, "check options",
				"walls names %s; this build has microvm, container and process", message);
	return 0;
}

static int images_load(struct supervisor *s, struct plimsoll_error *error)
{
	struct {
		const char *name;
		struct pl_image *image;
	} images[] = {
		{ "plimsoll-launch", &s->env.launch },
		{ "plimsoll-guest", &s->env.guest },
		{ "plimsoll-worker", &s->env.worker },
	};

	for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
		int rc = image_load(s->helpers_fd, images[i].name, images[i].image);

		if (rc < 0)
			return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "load helpers",
					"%s beside plimsoll-supervisor cannot be used: %s; install the whole build", images[i].name,
					strerror(-rc));
	}
	return 0;
}

/* Built for x86-64 only, and needed by one wall: what is missing is that wall's to say. */
static void vm_images_load(struct supervisor *s)
{
	bool wanted = false;

	s->env.vmm.fd = s->env.vm_image.fd = -1;
	for (size_t i = 0; i < PL_WALLS_N; i++)
		wanted |= s->slots[i].configured && s->slots[i].wall == &pl_wall_microvm;
	if (!wanted || image_load(s->helpers_fd, "plimsoll-vmm", &s->env.vmm) < 0)
		return;
	(void)image_load(s->helpers_fd, "plimsoll-vm-image", &s->env.vm_image);
}

static int ids_start(struct supervisor *s, struct plimsoll_error *error)
{
	struct pl_ids_config config = { .first = s->settings.id_first,
					.last = s->settings.id_first + s->settings.id_count - 1 };
	char why[PL_IDS_WHY_LEN];

	if (!s->env.root || pl_ids_open(&config, &s->env.ids, why) == 0)
		return 0;
	return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "check ids", "%s", why);
}

static void filter_digest(const struct pl_jail_filter *filter, char ret[PL_SHA256_HEX_SIZE])
{
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;

	pl_digest_init(&digest);
	pl_digest_bytes(&digest, filter->insns, filter->n * sizeof *filter->insns);
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, ret);
}

static int filters_start(struct supervisor *s, struct plimsoll_error *error)
{
	int rc;

	s->filters = pl_calloc(1, sizeof *s->filters);
	rc = s->filters ? pl_jail_filters_compile(s->filters) : -ENOMEM;
	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "compile filters",
				"the system-call filters could not be compiled: %s; if plimsoll runs under a filter that denies "
				"seccomp, start it outside",
				strerror(-rc));
	s->env.guest_filter = &s->filters->guest;
	s->env.zygote_filter = &s->filters->zygote;
	s->env.init_filter = &s->filters->init;
	s->env.vmm_filter = &s->filters->vmm;
	filter_digest(&s->filters->guest, s->env.guest_filter_digest);
	filter_digest(&s->filters->vmm, s->env.vmm_filter_digest);
	return 0;
}

static int host_start(struct supervisor *s, struct plimsoll_error *error)
{
	char why[HOST_WHY_LEN];
	int rc = host_limits(why);

	if (rc == 0)
		rc = host_look(&s->env, why);
	if (rc == 0) {
		rc = pl_cgroup_find(&s->cgroups, NULL, 0);
		snprintf(why, sizeof why, "the cgroup file systems could not be read: %s", strerror(-rc));
	}
	if (rc < 0)
		return pl_error(error, PLIMSOLL_ERROR_ENVIRONMENT, PLIMSOLL_REASON_ENVIRONMENT, "look at the host", "%s", why);
	s->env.cgroups = &s->cgroups;
	(void)pl_cgroup_sweep(&s->cgroups, SWEEP_MS);
	return 0;
}

static void walls_start(struct supervisor *s)
{
	for (size_t i = 0; i < PL_WALLS_N; i++) {
		struct slot *slot = &s->slots[i];

		s->env.missing_fact = NULL;
		slot->available = slot->wall->start(&s->env, &slot->state, slot->found, slot->remedy) == 0;
		if (!slot->available && s->env.missing_fact)
			snprintf(slot->out_fact, sizeof slot->out_fact, "%s", s->env.missing_fact);
		if (slot->available)
			pl_policy_digest(slot->wall->profile(slot->state), slot->policy);
	}
}

int supervisor_start(struct supervisor *s, const struct pl_msg_open *open, struct plimsoll_error *error)
{
	int rc = pl_settings_check(open, &s->settings, error);

	for (size_t i = 0; i < PL_WALLS_N; i++)
		s->slots[i].wall = walls[i];
	if (rc == 0)
		rc = walls_configure(s, open->walls, error);
	if (rc < 0)
		return rc;
	s->env.loop = &s->loop;
	s->env.settings = &s->settings;
	s->env.challenge = box_challenge;
	s->env.failed = box_failed;
	s->env.ended = box_ended;
	rc = host_start(s, error);
	if (rc == 0)
		rc = ids_start(s, error);
	if (rc == 0)
		rc = images_load(s, error);
	if (rc == 0) {
		vm_images_load(s);
		rc = filters_start(s, error);
	}
	if (rc == 0) {
		namespaces_look(&s->env);
		walls_start(s);
	}
	return rc;
}

static void boxes_end(struct supervisor *s)
{
	int64_t until_us = pl_now_us() + END_US;
	struct box *next;

	for (struct box *b = s->pool; b; b = next) {
		next = b->next;
		box_kill(b);
	}
	for (struct box *b = s->boxes; b; b = b->next)
		box_kill(b);
	/* No wall is asked for anything new, and no pool is filled, while the last ones leave. */
	for (size_t i = 0; i < PL_WALLS_N; i++)
		s->slots[i].configured = false;
	while (s->boxes && pl_now_us() < until_us) {
		(void)boxes_tend(s, pl_now_us());
		if (pl_loop_run(&s->loop, 500) < 0)
			usleep(500);
	}
}

void supervisor_stop(struct supervisor *s)
{
	boxes_end(s);
	for (size_t i = 0; i < PL_WALLS_N; i++)
		if (s->slots[i].state)
			s->slots[i].wall->stop(s->slots[i].state);
	if (s->env.cgroups)
		pl_cgroup_host_close(&s->cgroups);
	pl_ids_close(s->env.ids);
	pl_free(s->filters);
	pl_fd_close(&s->signals.fd);
	pl_fd_close(&s->helpers_fd);
	pl_loop_fini(&s->loop);
}
