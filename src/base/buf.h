/* SPDX-License-Identifier: Apache-2.0 */
/* buf: a growing byte buffer with a hard maximum, given when it is made. The caller owns the struct; pl_buf_fini frees what
 * it holds. Bytes are consumed from the front by moving `start`; `len` counts what is left. */
#ifndef PL_BASE_BUF_H
#define PL_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct pl_buf {
	uint8_t *bytes;
	size_t start, len, capacity, max;
};

void pl_buf_init(struct pl_buf *buf, size_t max);
void pl_buf_fini(struct pl_buf *buf);
/* Makes room for n more bytes and returns where they go, or NULL: over the maximum, or no memory. Counts nothing yet. */
uint8_t *pl_buf_reserve(struct pl_buf *buf, size_t n);
/* Counts n bytes that were written to what pl_buf_reserve returned. */
void pl_buf_commit(struct pl_buf *buf, size_t n);
/* 0, or -ENOBUFS (over the maximum) or -ENOMEM; then nothing was appended. */
int pl_buf_append(struct pl_buf *buf, const void *bytes, size_t n);
void pl_buf_consume(struct pl_buf *buf, size_t n);

static inline uint8_t *pl_buf_head(const struct pl_buf *buf)
{
	return buf->bytes + buf->start;
}

#endif
