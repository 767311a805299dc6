/* SPDX-License-Identifier: Apache-2.0 */
/* pack: one walk over the fields of a message that either prints or parses it, so that the order of the fields stands in
 * one place. A pack is in error once any field did not fit or did not parse; later fields are then left alone, and the
 * caller looks once, at the end. Pure; input is untrusted. */
#ifndef PL_WIRE_PACK_H
#define PL_WIRE_PACK_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct pl_pack {
	struct pl_buf *out;  /* printing: where to; NULL when parsing */
	const uint8_t *in;   /* parsing: what is left */
	size_t in_len;
	int error;           /* 0, -EPROTO (parse), -ENOBUFS or -ENOMEM (print) */
};

#define PL_PACK_PRINT(buf) ((struct pl_pack){ .out = (buf) })
#define PL_PACK_PARSE(bytes, len) ((struct pl_pack){ .in = (bytes), .in_len = (len) })

void pl_pack_u32(struct pl_pack *pack, uint32_t *value);
void pl_pack_i32(struct pl_pack *pack, int32_t *value);
void pl_pack_u64(struct pl_pack *pack, uint64_t *value);
void pl_pack_i64(struct pl_pack *pack, int64_t *value);
/* Bytes with their length before them; parsed bytes borrow from the input. */
void pl_pack_bytes(struct pl_pack *pack, const uint8_t **bytes, size_t *len);
/* Text with its NUL; parsed text borrows from the input, is NUL-terminated there and holds no other NUL. NULL prints as "". */
void pl_pack_text(struct pl_pack *pack, const char **text);
/* Text into a fixed array of the receiver's; longer text is an error. */
void pl_pack_array(struct pl_pack *pack, char *array, size_t size);
/* 0, or the error; trailing bytes after a parse are an error too. */
int pl_pack_end(const struct pl_pack *pack);

#endif
