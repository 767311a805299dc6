/* SPDX-License-Identifier: Apache-2.0 */
/* digest: see digest.h. */
#include "base/digest.h"

#include <string.h>

void pl_digest_init(struct pl_digest *digest)
{
	sha256_init(&digest->ctx);
}

void pl_digest_bytes(struct pl_digest *digest, const void *bytes, size_t len)
{
	sha256_update(&digest->ctx, len, bytes);
}

void pl_digest_text(struct pl_digest *digest, const char *text)
{
	sha256_update(&digest->ctx, strlen(text) + 1, (const uint8_t *)text);
}

void pl_digest_end(struct pl_digest *digest, uint8_t ret[PL_SHA256_LEN])
{
	sha256_digest(&digest->ctx, PL_SHA256_LEN, ret);
}

void pl_hex(const uint8_t *bytes, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * len] = 0;
}
