/* SPDX-License-Identifier: Apache-2.0 */
/* Ids for sandboxes: real files, a real lock file, real processes that hold locks. */
#include "supervisor/ids.h"

#include "linux/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static char dir[64], etc_dir[80], run_dir[80];

static void file_put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", etc_dir, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void files_reset(void)
{
	file_put("passwd", "root:x:0:0:root:/root:/bin/sh\n# 100000 is not an id here\nnobody:x:65534:65534::/:/bin/false\n");
	file_put("group", "root:x:0:\nstaff:x:50:\n");
	file_put("subuid", "alice:165536:65536\n");
	file_put("subgid", "alice:165536:65536\n");
}

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/plimsoll-ids-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(etc_dir, sizeof etc_dir, "%s/etc", dir);
	snprintf(run_dir, sizeof run_dir, "%s/run", dir);
	return mkdir(etc_dir, 0755);
}

static int tear_down(void **state)
{
	static const char *const names[] = { "etc/passwd", "etc/group", "etc/subuid", "etc/subgid", "run/ids.lock" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(etc_dir) | (rmdir(run_dir) && errno != ENOENT) | rmdir(dir);
}

static int open_range(uint32_t first, uint32_t last, struct pl_ids **ret, char why[PL_IDS_WHY_LEN])
{
	const struct pl_ids_config config = { .first = first, .last = last, .etc_dir = etc_dir, .run_dir = run_dir };

	why[0] = 0;
	return pl_ids_open(&config, ret, why);
}

static struct pl_ids *open_good(uint32_t first, uint32_t last)
{
	char why[PL_IDS_WHY_LEN];
	struct pl_ids *ids = NULL;
	int rc = open_range(first, last, &ids, why);

	if (rc)
		fail_msg("%d: %s", rc, why);
	return ids;
}

static void refused(const char *file, const char *text, const char *named)
{
	char why[PL_IDS_WHY_LEN];
	struct pl_ids *ids = NULL;
	int rc;

	files_reset();
	file_put(file, text);
	rc = open_range(100000, 100999, &ids, why);
	if (rc == 0)
		fail_msg("accepted with %s: %s", file, text);
	assert_int_equal(rc, -EADDRINUSE);
	assert_null(ids);
	if (!strstr(why, named) || !strstr(why, file) || !strstr(why, "100000-100999"))
		fail_msg("does not name %s, the file and the range: %s", named, why);
	files_reset();
	pl_ids_close(open_good(100000, 100999));
}

static void a_named_id_is_refused(void **state)
{
	(void)state;
	refused("passwd", "root:x:0:0::/:/bin/sh\nbob:x:100000:50::/:/bin/sh\n", "passwd:2: bob");
	refused("passwd", "bob:x:100999:50::/:/bin/sh\n", "passwd:1: bob");
	refused("passwd", "bob:x:50:100500::/:/bin/sh\n", "has id 100500");
	refused("passwd", "a:x:1:1::/:\nb:x:100001:1", "passwd:2: b");
	refused("group", "root:x:0:\n\nbuild:x:100010:bob,eve\n", "group:3: build");
	refused("subuid", "bob:100999:1\n", "subuid:1: bob");
	refused("subuid", "bob:99000:1001\n", "has id 99000 and those behind it");
	refused("subuid", "alice:165536:65536\nbob:0:4294967296\n", "subuid:2: bob");
	refused("subuid", "bob:50:18446744073709551615\n", "subuid:1: bob");
	refused("subgid", "bob:100500:10\n", "subgid:1: bob");
}

static void a_near_miss_is_accepted(void **state)
{
	(void)state;
	files_reset();
	file_put("passwd", "a:x:99999:1::/:\nb:x:101000:1::/:\n# c:x:100000:0::/:\nd:x:100000x:1::/:\ne\n:::\n");
	file_put("group", "a:x:99999:\nb:x:101000:\n");
	file_put("subuid", "a:99000:1000\nb:101000:65536\nc:100000:0\n");
	pl_ids_close(open_good(100000, 100999));
	files_reset();
}

static void absent_files_name_nobody(void **state)
{
	char path[128];

	(void)state;
	files_reset();
	snprintf(path, sizeof path, "%s/subuid", etc_dir);
	assert_int_equal(unlink(path), 0);
	pl_ids_close(open_good(100000, 100999));
	/* But one that is there and cannot be read is no reason to go on. */
	assert_int_equal(mkdir(path, 0755), 0);
	{
		char why[PL_IDS_WHY_LEN];
		struct pl_ids *ids = NULL;

		assert_int_equal(open_range(100000, 100999, &ids, why), -EISDIR);
		assert_non_null(strstr(why, "subuid"));
	}
	assert_int_equal(rmdir(path), 0);
	files_reset();
}

static void bad_ranges_are_refused(void **state)
{
	static const struct { uint32_t first, last; } bad[] = {
		{ 0, 999 }, { 65535, 70000 }, { 100000, 100000 }, { 100000, 99999 }, { 100000, 100000 + (1u << 20) },
		{ 4294960000u, UINT32_MAX },
	};

	(void)state;
	files_reset();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char why[PL_IDS_WHY_LEN];
		struct pl_ids *ids = NULL;

		assert_int_equal(open_range(bad[i].first, bad[i].last, &ids, why), -EINVAL);
		assert_non_null(strstr(why, "1966080-1997999"));
	}
}

static void a_lock_file_that_others_can_touch_is_refused(void **state)
{
	char why[PL_IDS_WHY_LEN], path[128];
	struct pl_ids *ids = NULL;

	(void)state;
	files_reset();
	pl_ids_close(open_good(100000, 100999));
	snprintf(path, sizeof path, "%s/ids.lock", run_dir);
	assert_int_equal(chmod(run_dir, 0755), 0);
	assert_int_equal(open_range(100000, 100999, &ids, why), -EACCES);
	assert_int_equal(chmod(run_dir, 0700), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(open_range(100000, 100999, &ids, why), -EACCES);
	assert_non_null(strstr(why, "ids.lock"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(open_range(100000, 100999, &ids, why), -ELOOP);
	assert_int_equal(unlink(path), 0);
	pl_ids_close(open_good(100000, 100999));
}

static void every_pair_once(void **state)
{
	struct pl_ids *ids;
	char seen[50] = { 0 };
	uint32_t first;

	(void)state;
	files_reset();
	ids = open_good(100000, 100099);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pl_ids_take(ids, &first), 0);
		assert_true(first >= 100000 && first <= 100098 && first % 2 == 0);
		assert_int_equal(seen[(first - 100000) / 2]++, 0);
	}
	assert_int_equal(pl_ids_take(ids, &first), -EAGAIN);
	pl_ids_close(ids);
}

static void given_back_is_reused_last(void **state)
{
	uint32_t taken[50], first;
	struct pl_ids *ids;

	(void)state;
	ids = open_good(100000, 100099);
	for (int i = 0; i < 50; i++)
		assert_int_equal(pl_ids_take(ids, &taken[i]), 0);
	for (int i = 0; i < 50; i += 2)
		assert_int_equal(pl_ids_give(ids, taken[i]), 0);
	for (int i = 0; i < 50; i += 2) {
		assert_int_equal(pl_ids_take(ids, &first), 0);
		assert_int_equal(first, taken[i]);
	}
	assert_int_equal(pl_ids_give(ids, taken[1]), 0);
	assert_int_equal(pl_ids_give(ids, taken[1]), -EINVAL);
	assert_int_equal(pl_ids_give(ids, taken[3] + 1), -EINVAL);
	assert_int_equal(pl_ids_give(ids, 99998), -EINVAL);
	assert_int_equal(pl_ids_give(ids, 100100), -EINVAL);
	pl_ids_close(ids);
}

static void two_supervisors_share_no_id(void **state)
{
	struct pl_ids *a, *b;
	char seen[50] = { 0 };
	uint32_t first, kept = 0;

	(void)state;
	a = open_good(100000, 100099);
	b = open_good(100000, 100099); /* an open file of its own: to the kernel another holder */
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pl_ids_take(i % 3 ? b : a, &first), 0);
		assert_int_equal(seen[(first - 100000) / 2]++, 0);
		if (i == 0)
			kept = first;
	}
	assert_int_equal(pl_ids_take(a, &first), -EAGAIN);
	assert_int_equal(pl_ids_take(b, &first), -EAGAIN);
	assert_int_equal(pl_ids_give(a, kept), 0);
	assert_int_equal(pl_ids_take(b, &first), 0);
	assert_int_equal(first, kept);
	pl_ids_close(a);
	pl_ids_close(b);
}

static void a_killed_holder_loses_its_ids(void **state)
{
	struct pl_ids *ids;
	uint32_t first;
	int fds[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		ids = open_good(100000, 100099);
		for (int i = 0; i < 50; i++)
			if (pl_ids_take(ids, &first))
				_exit(1);
		if (write(fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	ids = open_good(100000, 100099);
	assert_int_equal(pl_ids_take(ids, &first), -EAGAIN);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 50; i++)
		assert_int_equal(pl_ids_take(ids, &first), 0);
	pl_ids_close(ids);
	close(fds[0]);
	close(fds[1]);
}

static void starts_differ(void **state)
{
	int different = 0;
	uint32_t last = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		struct pl_ids *ids = open_good(200000 + 100000, 300000 + 31919);
		uint32_t first;

		assert_int_equal(pl_ids_take(ids, &first), 0);
		different += first != last;
		last = first;
		pl_ids_close(ids);
	}
	assert_true(different >= 8);
}

static void what_it_costs(void **state)
{
	struct timespec a, b;
	struct pl_ids *ids;
	uint32_t first;

	(void)state;
	ids = open_good(300000, 331919);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(pl_ids_take(ids, &first), 0);
		assert_int_equal(pl_ids_give(ids, first), 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	print_message("take and give: %.2f us\n", (double)((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec) / 1e6);
	pl_ids_close(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_named_id_is_refused),
		cmocka_unit_test(a_near_miss_is_accepted),
		cmocka_unit_test(absent_files_name_nobody),
		cmocka_unit_test(bad_ranges_are_refused),
		cmocka_unit_test(a_lock_file_that_others_can_touch_is_refused),
		cmocka_unit_test(every_pair_once),
		cmocka_unit_test(given_back_is_reused_last),
		cmocka_unit_test(two_supervisors_share_no_id),
		cmocka_unit_test(a_killed_holder_loses_its_ids),
		cmocka_unit_test(starts_differ),
		cmocka_unit_test(what_it_costs),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
