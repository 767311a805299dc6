/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over files, as an ordinary test: each file as it is, cut at every length, with one byte more, and with
 * every bit flipped (large files: at some places). The target aborts when it finds something wrong.
 * usage: TARGET FOLDER|FILE... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/target.h"

static size_t files_n;

/* On the heap at its exact size, so that a sanitizer sees a read one past the end. */
static void input_try(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		abort();
	memcpy(copy, bytes, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void variants_try(uint8_t *bytes, size_t len)
{
	size_t step = len / 400 + 1;

	input_try(bytes, len);
	for (size_t n = 0; n < len; n += step)
		input_try(bytes, n);
	bytes[len] = 0;
	input_try(bytes, len + 1);
	for (size_t i = 0; i < len; i += step) {
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1u << bit);
			input_try(bytes, len);
			bytes[i] ^= (uint8_t)(1u << bit);
		}
	}
}

static int file_replay(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes = malloc(1 << 20);
	size_t len;

	if (!file || !bytes) {
		perror(path);
		return -1;
	}
	len = fread(bytes, 1, (1 << 20) - 1, file);
	fclose(file);
	variants_try(bytes, len);
	free(bytes);
	files_n++;
	return 0;
}

static int path_replay(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int rc = 0, n;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return file_replay(path);
	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0) {
		perror(path);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && file_replay(name) < 0)
			rc = -1;
		free(entries[i]);
	}
	free(entries);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		if (path_replay(argv[i]) < 0)
			rc = -1;
	/* No file at all is a test that looked at nothing. */
	printf("%zu passed, %d failed\n", files_n, rc < 0 || !files_n);
	return rc < 0 || !files_n;
}
