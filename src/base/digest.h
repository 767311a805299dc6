/* SPDX-License-Identifier: Apache-2.0 */
/* digest: SHA-256 in the few shapes that are used. */
#ifndef PL_BASE_DIGEST_H
#define PL_BASE_DIGEST_H

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

#define PL_SHA256_LEN 32u
#define PL_SHA256_HEX_SIZE 65u /* with the NUL */

struct pl_digest {
	struct sha256_ctx ctx;
};

void pl_digest_init(struct pl_digest *digest);
void pl_digest_bytes(struct pl_digest *digest, const void *bytes, size_t len);
/* Text with its NUL, so that neighbouring texts cannot run together. */
void pl_digest_text(struct pl_digest *digest, const char *text);
void pl_digest_end(struct pl_digest *digest, uint8_t ret[PL_SHA256_LEN]);
void pl_hex(const uint8_t *bytes, size_t len, char *ret_hex);

#endif
