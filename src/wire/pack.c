/* SPDX-License-Identifier: Apache-2.0 */
/* pack: see pack.h. */
#include "wire/pack.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

/* Printing: appends n bytes. Parsing: borrows n bytes into *ret. */
static int pack_raw(struct pl_pack *pack, const void *bytes, size_t n, const uint8_t **ret)
{
	if (pack->error)
		return pack->error;
	if (pack->out)
		return pack->error = pl_buf_append(pack->out, bytes, n);
	if (n > pack->in_len)
		return pack->error = -EPROTO;
	*ret = pack->in;
	pack->in += n;
	pack->in_len -= n;
	return 0;
}

void pl_pack_u32(struct pl_pack *pack, uint32_t *value)
{
	uint8_t bytes[4];
	const uint8_t *in = bytes;

	pl_put_u32(bytes, *value);
	if (pack_raw(pack, bytes, sizeof bytes, &in) == 0)
		*value = pl_get_u32(in);
}

void pl_pack_i32(struct pl_pack *pack, int32_t *value)
{
	uint32_t u = (uint32_t)*value;

	pl_pack_u32(pack, &u);
	*value = (int32_t)u;
}

void pl_pack_u64(struct pl_pack *pack, uint64_t *value)
{
	uint8_t bytes[8];
	const uint8_t *in = bytes;

	pl_put_u64(bytes, *value);
	if (pack_raw(pack, bytes, sizeof bytes, &in) == 0)
		*value = pl_get_u64(in);
}

void pl_pack_i64(struct pl_pack *pack, int64_t *value)
{
	uint64_t u = (uint64_t)*value;

	pl_pack_u64(pack, &u);
	*value = (int64_t)u;
}

void pl_pack_bytes(struct pl_pack *pack, const uint8_t **bytes, size_t *len)
{
	uint32_t n = (uint32_t)*len;

	if (pack->out && *len > UINT32_MAX)
		pack->error = -ENOBUFS;
	pl_pack_u32(pack, &n);
	if (pack_raw(pack, *bytes, n, bytes) == 0)
		*len = n;
}

void pl_pack_text(struct pl_pack *pack, const char **text)
{
	const uint8_t *bytes = (const uint8_t *)(*text ? *text : "");
	size_t len = pack->out ? strlen((const char *)bytes) + 1 : 0;

	pl_pack_bytes(pack, &bytes, &len);
	if (pack->error || pack->out)
		return;
	if (!len || memchr(bytes, 0, len) != bytes + len - 1)
		pack->error = -EPROTO;
	else
		*text = (const char *)bytes;
}

void pl_pack_array(struct pl_pack *pack, char *array, size_t size)
{
	const char *text = array;

	pl_pack_text(pack, &text);
	if (pack->error || pack->out)
		return;
	if (strlen(text) >= size)
		pack->error = -EPROTO;
	else
		memcpy(array, text, strlen(text) + 1);
}

int pl_pack_end(const struct pl_pack *pack)
{
	if (pack->error)
		return pack->error;
	return pack->out || !pack->in_len ? 0 : -EPROTO;
}
