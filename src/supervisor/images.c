/* SPDX-License-Identifier: Apache-2.0 */
/* images: the helper programs, copied once into sealed memory and hashed there. From then on the file on disk does not matter:
 * sandboxes execute the sealed copy by descriptor, and a running process is recognised by its inode. */
#include "supervisor/supervisor.h"

#include "base/digest.h"
#include "base/fd.h"
#include "linux/sys.h"

#include <stdio.h>
#include <sys/mman.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3 */
#endif

#define IMAGE_MAX_BYTES (64u << 20)
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Before Linux 6.3 the flag is unknown, and memory files are executable anyway. */
static int memory_file(const char *name)
{
	int fd = (int)PL_SYS("memfd_create", memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC));

	return fd == -EINVAL ? (int)PL_SYS("memfd_create", memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)) : fd;
}

static int image_copy(int from, int to, struct pl_digest *digest)
{
	static uint8_t chunk[64 * 1024];
	size_t total = 0;
	ssize_t n;

	while ((n = pl_sys_read(from, chunk, sizeof chunk)) > 0) {
		total += (size_t)n;
		if (total > IMAGE_MAX_BYTES)
			return -EFBIG;
		pl_digest_bytes(digest, chunk, (size_t)n);
		for (ssize_t done = 0, m; done < n; done += m) {
			m = pl_sys_write(to, chunk + done, (size_t)(n - done));
			if (m <= 0)
				return m < 0 ? (int)m : -EIO;
		}
	}
	return n < 0 ? (int)n : total ? 0 : -ENOEXEC;
}

int image_load(int dirfd, const char *name, struct pl_image *ret)
{
	PL_CLEANUP_FD file = pl_sys_openat(dirfd, name, O_RDONLY, 0);
	PL_CLEANUP_FD memory = file < 0 ? -1 : memory_file(name);
	uint8_t bytes[PL_SHA256_LEN];
	struct pl_digest digest;
	struct stat st = { 0 };
	int rc;

	if (file < 0 || memory < 0)
		return file < 0 ? file : memory;
	pl_digest_init(&digest);
	rc = image_copy(file, memory, &digest);
	if (rc == 0)
		rc = (int)PL_SYS("fchmod", fchmod(memory, 0555));
	if (rc == 0)
		rc = (int)PL_SYS("fcntl", fcntl(memory, F_ADD_SEALS, SEALS));
	if (rc == 0)
		rc = pl_sys_fstat(memory, &st);
	if (rc < 0)
		return rc;
	pl_digest_end(&digest, bytes);
	pl_hex(bytes, sizeof bytes, ret->digest);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->fd = pl_fd_take(&memory);
	return 0;
}
