/* SPDX-License-Identifier: Apache-2.0 */
/* buf: see buf.h. */
#include "base/buf.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>

void pl_buf_init(struct pl_buf *buf, size_t max)
{
	*buf = (struct pl_buf){ .max = max };
}

void pl_buf_fini(struct pl_buf *buf)
{
	pl_free(buf->bytes);
	*buf = (struct pl_buf){ .max = buf->max };
}

static int buf_grow(struct pl_buf *buf, size_t want)
{
	size_t capacity = buf->capacity ? buf->capacity : 256;
	uint8_t *bytes;

	while (capacity < want)
		capacity *= 2;
	if (capacity > buf->max)
		capacity = buf->max;
	bytes = pl_realloc(buf->bytes, capacity);
	if (!bytes)
		return -ENOMEM;
	buf->bytes = bytes;
	buf->capacity = capacity;
	return 0;
}

uint8_t *pl_buf_reserve(struct pl_buf *buf, size_t n)
{
	if (n > buf->max || buf->len > buf->max - n)
		return NULL;
	if (buf->start && (buf->start + buf->len + n > buf->capacity || !buf->len)) {
		memmove(buf->bytes, buf->bytes + buf->start, buf->len);
		buf->start = 0;
	}
	if ((!buf->bytes || buf->len + n > buf->capacity) && buf_grow(buf, buf->len + n) < 0)
		return NULL;
	return buf->bytes + buf->start + buf->len;
}

void pl_buf_commit(struct pl_buf *buf, size_t n)
{
	buf->len += n;
}

int pl_buf_append(struct pl_buf *buf, const void *bytes, size_t n)
{
	uint8_t *to;

	if (!n)
		return 0;
	if (n > buf->max || buf->len > buf->max - n)
		return -ENOBUFS;
	to = pl_buf_reserve(buf, n);
	if (!to)
		return -ENOMEM;
	memcpy(to, bytes, n);
	buf->len += n;
	return 0;
}

void pl_buf_consume(struct pl_buf *buf, size_t n)
{
	buf->start += n;
	buf->len -= n;
	if (!buf->len)
		buf->start = 0;
}
