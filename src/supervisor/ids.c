/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/ids.h"

#include "base/alloc.h"
#include "linux/sys.h"
#include "linux/textfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX (16u << 20)    /* a passwd file of some hundred thousand users */
#define RANGE_MAX (1u << 20)    /* ids in a range; the order below takes five bytes a pair */
#define TRIES_MAX 1024u         /* pairs that others hold, looked at in one take */
#define SETTING "set the id range (ids.first, ids.last) to one that nobody uses"

struct pl_ids {
	uint32_t first;
	uint32_t pairs_n;
	int lock_fd;
	uint32_t head, free_n; /* order[head] is next; the free pairs follow it, the oldest first */
	uint32_t *order;       /* a ring of pairs_n pair numbers */
	uint8_t *taken;        /* by pair number */
};

/* What the lines of a file look like: fields parted by colons, counted from 0. */
struct id_file {
	const char *name;
	unsigned id_fields[2]; /* fields that are one id; 0: none */
	unsigned start_field;  /* the start of a range, its length in the next field; 0: none */
};

static const struct id_file id_files[] = {
	{ "passwd", { 2, 3 }, 0 },
	{ "group", { 2, 0 }, 0 },
	{ "subuid", { 0, 0 }, 1 },
	{ "subgid", { 0, 0 }, 1 },
};

/* The number in the n-th field. A field that is not a number names no id for the system either. */
static bool field_number(const char *line, unsigned n, uint64_t *ret_number)
{
	const char *end;

	for (; n; n--) {
		line = strchr(line, ':');
		if (!line)
			return false;
		line++;
	}
	return pl_text_number(line, ret_number, &end) == 0 && (*end == ':' || *end == 0);
}

/* Whether the line names an id within the range; *ret_from and *ret_n say which ids it names. */
static bool line_conflicts(const struct id_file *file, const char *line, const struct pl_ids_config *config,
			   uint64_t *ret_from, uint64_t *ret_n)
{
	*ret_n = 1;
	for (unsigned i = 0; i < 2; i++)
		if (file->id_fields[i] && field_number(line, file->id_fields[i], ret_from) && *ret_from >= config->first &&
		    *ret_from <= config->last)
			return true;
	if (!file->start_field || !field_number(line, file->start_field, ret_from) ||
	    !field_number(line, file->start_field + 1, ret_n) || *ret_n == 0)
		return false;
	return *ret_from <= config->last && (*ret_from >= config->first || *ret_n > config->first - *ret_from);
}

static int file_check(int etc_fd, const struct id_file *file, const struct pl_ids_config *config, const char *etc_dir,
		      char *why)
{
	char *text, *cursor, *line;
	unsigned number = 0;
	uint64_t from, n;
	int rc;

	rc = pl_text_read(etc_fd, file->name, FILE_MAX, &text);
	if (rc == -ENOENT)
		return 0;
	if (rc < 0) {
		snprintf(why, PL_IDS_WHY_LEN, "%s/%s cannot be read: %s", etc_dir, file->name, strerror(-rc));
		return rc;
	}
	cursor = text;
	while ((line = pl_text_line(&cursor))) {
		number++;
		if (line[0] == '#' || !line_conflicts(file, line, config, &from, &n))
			continue;
		snprintf(why, PL_IDS_WHY_LEN, "%s/%s:%u: %.32s has id %llu%s within the range %u-%u; " SETTING, etc_dir, file->name,
			 number, line, (unsigned long long)from, n > 1 ? " and those behind it," : "", config->first,
			 config->last);
		rc = -EADDRINUSE;
		break;
	}
	pl_free(text);
	return rc;
}

static int files_check(const struct pl_ids_config *config, char *why)
{
	const char *etc_dir = config->etc_dir ? config->etc_dir : "/etc";
	int etc_fd, rc = 0;

	etc_fd = pl_sys_openat(AT_FDCWD, etc_dir, O_RDONLY | O_DIRECTORY, 0);
	if (etc_fd < 0) {
		snprintf(why, PL_IDS_WHY_LEN, "%s cannot be opened: %s", etc_dir, strerror(-etc_fd));
		return etc_fd;
	}
	for (size_t i = 0; i < sizeof id_files / sizeof id_files[0] && rc == 0; i++)
		rc = file_check(etc_fd, &id_files[i], config, etc_dir, why);
	close(etc_fd);
	return rc;
}

static int range_check(const struct pl_ids_config *config, char *why)
{
	if (config->first < 65536 || config->last >= UINT32_MAX || config->last <= config->first ||
	    config->last - config->first >= RANGE_MAX) {
		snprintf(why, PL_IDS_WHY_LEN,
			 "the id range %u-%u is not usable: it must begin at 65536 or later and hold 2 to %u ids; the default is %u-%u",
			 config->first, config->last, RANGE_MAX, PL_IDS_DEFAULT_FIRST, PL_IDS_DEFAULT_LAST);
		return -EINVAL;
	}
	return 0;
}

/* Root in a user namespace can give a sandbox only the ids that his namespace has. One line must hold the whole range. */
static int map_check(const char *path, const struct pl_ids_config *config, char *why)
{
	char *text, *cursor, *line;
	bool mapped = false;
	int rc;

	rc = pl_text_read(AT_FDCWD, path, FILE_MAX, &text);
	if (rc < 0) {
		snprintf(why, PL_IDS_WHY_LEN, "%s cannot be read: %s", path, strerror(-rc));
		return rc;
	}
	cursor = text;
	while ((line = pl_text_line(&cursor))) {
		unsigned long long inside, outside, n;

		if (sscanf(line, "%llu %llu %llu", &inside, &outside, &n) == 3)
			mapped = mapped || (inside <= config->first && config->last - inside < n);
	}
	pl_free(text);
	if (mapped)
		return 0;
	snprintf(why, PL_IDS_WHY_LEN, "the id range %u-%u is not mapped in this user namespace (%s); " SETTING " and is mapped",
		 config->first, config->last, path);
	return -ERANGE;
}

/* Opened step by step: nobody but root may have been able to put the folder, the file or a link there. */
static int lock_open(const char *run_dir, char *why)
{
	int dir_fd, fd, rc;
	struct stat st;

	rc = pl_sys_mkdirat(AT_FDCWD, run_dir, 0700);
	if (rc < 0 && rc != -EEXIST) {
		snprintf(why, PL_IDS_WHY_LEN,
			 "%s cannot be made: %s; as root it holds the locks on user ids: make it writable (a tmpfs will do), or start "
			 "plimsoll as an ordinary user",
			 run_dir, strerror(-rc));
		return rc;
	}
	dir_fd = pl_sys_openat(AT_FDCWD, run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	rc = dir_fd < 0 ? dir_fd : pl_sys_fstat(dir_fd, &st);
	if (rc >= 0 && (st.st_uid != geteuid() || st.st_mode & 077))
		rc = -EACCES;
	fd = rc < 0 ? rc : pl_sys_openat(dir_fd, "ids.lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	rc = fd < 0 ? fd : pl_sys_fstat(fd, &st);
	if (rc >= 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077))
		rc = -EACCES;
	if (dir_fd >= 0)
		close(dir_fd);
	if (rc >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(why, PL_IDS_WHY_LEN, "%s/ids.lock: %s; folder and file must be the supervisor's own, of modes 0700 and 0600", run_dir,
		 strerror(-rc));
	return rc;
}

/* Starts at a random place, so that supervisors do not all begin with the same pairs, nor one that was restarted with those
 * of its predecessor. */
static int order_init(struct pl_ids *ids)
{
	uint32_t start = 0;
	ssize_t n = pl_sys_getrandom(&start, sizeof start);

	if (n != (ssize_t)sizeof start)
		return n < 0 ? (int)n : -EIO;
	for (uint32_t i = 0; i < ids->pairs_n; i++)
		ids->order[i] = (uint32_t)(((uint64_t)start + i) % ids->pairs_n);
	ids->free_n = ids->pairs_n;
	return 0;
}

int pl_ids_open(const struct pl_ids_config *config, struct pl_ids **ret_ids, char why[PL_IDS_WHY_LEN])
{
	struct pl_ids *ids;
	int rc;

	rc = range_check(config, why);
	if (rc == 0)
		rc = map_check("/proc/self/uid_map", config, why);
	if (rc == 0)
		rc = map_check("/proc/self/gid_map", config, why);
	if (rc == 0)
		rc = files_check(config, why);
	if (rc < 0)
		return rc;
	snprintf(why, PL_IDS_WHY_LEN, "no memory for the table of ids");
	ids = pl_calloc(1, sizeof *ids);
	if (!ids)
		return -ENOMEM;
	ids->lock_fd = -1;
	ids->first = config->first;
	ids->pairs_n = (config->last - config->first + 1) / 2;
	ids->order = pl_calloc(ids->pairs_n, sizeof *ids->order);
	ids->taken = pl_calloc(ids->pairs_n, sizeof *ids->taken);
	rc = ids->order && ids->taken ? order_init(ids) : -ENOMEM;
	if (rc == 0) {
		ids->lock_fd = lock_open(config->run_dir ? config->run_dir : "/run/plimsoll", why);
		rc = ids->lock_fd < 0 ? ids->lock_fd : 0;
	}
	if (rc < 0) {
		pl_ids_close(ids);
		return rc;
	}
	why[0] = 0;
	*ret_ids = ids;
	return 0;
}

static uint32_t order_pop(struct pl_ids *ids)
{
	uint32_t pair = ids->order[ids->head];

	ids->head = (ids->head + 1) % ids->pairs_n;
	ids->free_n--;
	return pair;
}

static void order_push(struct pl_ids *ids, uint32_t pair)
{
	ids->order[(ids->head + ids->free_n) % ids->pairs_n] = pair;
	ids->free_n++;
}

int pl_ids_take(struct pl_ids *ids, uint32_t *ret_first)
{
	uint32_t tries = ids->free_n < TRIES_MAX ? ids->free_n : TRIES_MAX;

	while (tries--) {
		uint32_t pair = order_pop(ids);
		int rc = pl_sys_lock_range(ids->lock_fd, F_WRLCK, pair, 1);

		if (rc == 0) {
			ids->taken[pair] = 1;
			*ret_first = ids->first + 2 * pair;
			return 0;
		}
		order_push(ids, pair);
		if (rc != -EAGAIN && rc != -EACCES)
			return rc;
	}
	return -EAGAIN;
}

int pl_ids_give(struct pl_ids *ids, uint32_t first)
{
	uint32_t pair = (first - ids->first) / 2;
	int rc;

	if (first < ids->first || (first - ids->first) % 2 || pair >= ids->pairs_n || !ids->taken[pair])
		return -EINVAL;
	rc = pl_sys_lock_range(ids->lock_fd, F_UNLCK, pair, 1);
	ids->taken[pair] = 0;
	order_push(ids, pair); /* also where unlocking failed: the lock is ours, and taking it again succeeds */
	return rc;
}

void pl_ids_close(struct pl_ids *ids)
{
	if (!ids)
		return;
	if (ids->lock_fd >= 0)
		close(ids->lock_fd);
	pl_free(ids->order);
	pl_free(ids->taken);
	pl_free(ids);
}
