/* SPDX-License-Identifier: Apache-2.0 */
/* The walls' own tables of facts, in every configuration: each required fact broken in turn, and what must be true of a table
 * (names that differ, no tier on a guest's word, every fact of the contract there). The container wall makes its table only
 * where namespaces can be had: elsewhere its tests are skipped, by its name. */
#include "unit/facts.h"

#include "wall/wall.h"

/* What contract.md asks of each wall, by name. */
static const char *const container_facts[] = {
	"host.view", "host.task", "guest.image", "launcher.digest", "ns.pid", "ns.mnt", "ns.net", "ns.ipc", "ns.uts", "ns.user",
	"ns.cgroup", "ns.time", "cred.uid", "cred.gid", "cred.groups", "cred.caps", "cred.no_new_privs", "cred.tracer", "seccomp",
	"limit.memory", "limit.pids", "limit.cpu", "fs.root", "fs.writable", "net.links", "fd.open", "stream.holders",
};
static const char *const microvm_facts[] = {
	"host.view", "guest.image", "launcher.digest", "monitor.digest", "ns.pid", "ns.mnt", "ns.net", "ns.ipc", "ns.uts", "ns.user",
	"ns.cgroup", "ns.time", "cred.uid", "cred.gid", "cred.groups", "cred.caps", "cred.no_new_privs", "cred.tracer", "seccomp",
	"limit.memory", "limit.pids", "limit.cpu", "fd.open", "stream.holders", "kvm.exits", "kvm.flavour", "vm.image",
};
static const char *const process_facts[] = {
	"guest.image", "launcher.digest", "host.task", "stream.holders", "fd.open", "limit.memory", "limit.pids",
};

struct configuration {
	const struct pl_wall *wall;
	bool root, can_dump, cgroup_memory, cgroup_pids;
	struct pl_settings settings;
	struct pl_cgroup_host cgroups;
	struct pl_wall_env env;
	void *own;
	const struct pl_profile *profile;
};

static bool configuration_open(struct configuration *c)
{
	char found[PL_WALL_TEXT_LEN], remedy[PL_WALL_TEXT_LEN];
	struct pl_msg_open open = { .build_id = "", .walls = "", .floor = "", .microvm_flavours = "vmx,svm,pvm" };

	assert_int_equal(pl_settings_check(&open, &c->settings, NULL), 0);
	c->cgroups.found[PL_CGROUP_MEMORY].usable = c->cgroup_memory;
	c->cgroups.found[PL_CGROUP_PIDS].usable = c->cgroup_pids;
	c->env = (struct pl_wall_env){ .settings = &c->settings, .root = c->root, .can_dump = c->can_dump, .cgroups = &c->cgroups };
	if (c->wall->start(&c->env, &c->own, found, remedy) < 0) {
		print_message("%s: %s\n", c->wall->name, found);
		return false;
	}
	c->profile = c->wall->profile(c->own);
	return true;
}

static const struct pl_fact_spec *spec_find(const struct pl_profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->specs_n; i++)
		if (strcmp(profile->specs[i].name, name) == 0)
			return &profile->specs[i];
	return NULL;
}

static void table_check(const struct pl_profile *profile, const char *const *wanted, size_t wanted_n)
{
	assert_true(profile->specs_n <= PL_FACTS_MAX && profile->specs_n <= PL_MSG_FACTS_MAX);
	for (size_t i = 0; i < profile->specs_n; i++) {
		const struct pl_fact_spec *spec = &profile->specs[i];

		assert_ptr_equal(spec_find(profile, spec->name), spec);
		assert_true(strlen(spec->name) < sizeof ((struct plimsoll_error *)0)->fact);
		assert_true(spec->expected[0]);
		/* No tier may rest on what only a guest or a tool says, and what is not compared carries nothing. */
		assert_true(!spec->required || spec->source == PL_FACT_HOST);
		assert_true(!spec->required || spec->predicate != PL_STATED);
	}
	for (size_t i = 0; i < wanted_n; i++) {
		const struct pl_fact_spec *spec = spec_find(profile, wanted[i]);

		if (!spec || !spec->required)
			fail_msg("%s is %s the %s wall", wanted[i], spec ? "not required of" : "no fact of", profile->wall);
	}
}

/* Sixteen configurations: each its own table, and what differs between two of them shows in the words. */
static void configurations_check(const struct pl_wall *wall, enum plimsoll_tier tier, const char *const *facts, size_t facts_n)
{
	static struct configuration c;
	static char words[16][4096];

	for (unsigned n = 0; n < 16; n++) {
		size_t len = 0;

		c = (struct configuration){ .wall = wall, .root = n & 1, .can_dump = n & 2, .cgroup_memory = n & 4,
					    .cgroup_pids = n & 8 };
		if (!configuration_open(&c))
			skip();
		assert_int_equal(c.profile->tier, tier);
		assert_string_equal(c.profile->wall, wall->name);
		table_check(c.profile, facts, facts_n);
		facts_break_each(c.profile);
		for (size_t i = 0; i < c.profile->specs_n; i++)
			len += (size_t)snprintf(words[n] + len, sizeof words[n] - len, "%s;", c.profile->specs[i].expected);
		assert_true(len < sizeof words[n]);
		for (unsigned earlier = 0; earlier < n; earlier++)
			assert_string_not_equal(words[n], words[earlier]);
		wall->stop(c.own);
	}
}

static void test_container(void **state)
{
	(void)state;
	configurations_check(&pl_wall_container, PLIMSOLL_TIER_CONTAINER, container_facts, N_OF(container_facts));
}

static void test_microvm(void **state)
{
	(void)state;
	configurations_check(&pl_wall_microvm, PLIMSOLL_TIER_VM, microvm_facts, N_OF(microvm_facts));
}

static void test_process(void **state)
{
	static struct configuration c;

	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		c = (struct configuration){ .wall = &pl_wall_process, .root = n & 1, .can_dump = n & 2 };
		assert_true(configuration_open(&c));
		assert_int_equal(c.profile->tier, PLIMSOLL_TIER_PROCESS);
		assert_string_equal(c.profile->wall, "process");
		table_check(c.profile, process_facts, N_OF(process_facts));
		facts_break_each(c.profile);
		pl_wall_process.stop(c.own);
	}
}

/* A wall is a table without gaps. */
static void test_every_slot_is_set(void **state)
{
	static const struct pl_wall *const walls[] = { &pl_wall_container, &pl_wall_process };

	(void)state;
	for (size_t w = 0; w < N_OF(walls); w++) {
		const char *at = (const char *)walls[w] + offsetof(struct pl_wall, start);

		assert_non_null(walls[w]->name);
		for (; at < (const char *)(walls[w] + 1); at += sizeof(void *)) {
			void *slot;

			memcpy(&slot, at, sizeof slot);
			assert_non_null(slot);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_container), cmocka_unit_test(test_microvm),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_every_slot_is_set),
	};

	return cmocka_run_group_tests_name("walls", tests, NULL, NULL);
}
