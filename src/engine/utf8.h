/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: decoding of bytes that may be anything, as TextDecoder does it: each maximal part of a sequence that cannot be
 * completed becomes one U+FFFD (WHATWG Encoding Standard, "UTF-8 decoder"). */
#ifndef PL_ENGINE_UTF8_H
#define PL_ENGINE_UTF8_H

#include <stddef.h>
#include <stdint.h>

struct pl_utf8_repair {
	size_t out_len;	 /* bytes written, all of them valid */
	size_t tail_len; /* bytes at the end that begin a sequence and do not complete it; they were not written */
	int repaired;
};

/* out has room for three times len. */
void pl_utf8_repair(const uint8_t *bytes, size_t len, uint8_t *out, struct pl_utf8_repair *ret);

#endif
