/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: see utf8.h. */
#include "engine/utf8.h"

#include <string.h>

/* How long the sequence is that a byte begins, and in what range its second byte must lie; 0 for a byte that begins none. */
static size_t sequence_len(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

/* How many bytes from the start are a sequence or the beginning of one; *ret_len is what the whole one would have. */
static size_t sequence_prefix(const uint8_t *bytes, size_t len, size_t *ret_len)
{
	uint8_t low, high;
	size_t n = 1;

	*ret_len = sequence_len(bytes[0], &low, &high);
	while (n < *ret_len && n < len && bytes[n] >= low && bytes[n] <= high) {
		low = 0x80;
		high = 0xbf;
		n++;
	}
	return n;
}

void pl_utf8_repair(const uint8_t *bytes, size_t len, uint8_t *out, struct pl_utf8_repair *ret)
{
	size_t whole, n;

	*ret = (struct pl_utf8_repair){ 0 };
	for (size_t at = 0; at < len; at += n) {
		n = sequence_prefix(bytes + at, len - at, &whole);
		if (n == whole) {
			memcpy(out + ret->out_len, bytes + at, n);
			ret->out_len += n;
		} else if (whole && at + n == len) {
			ret->tail_len = n;
		} else {
			memcpy(out + ret->out_len, "\xef\xbf\xbd", 3);
			ret->out_len += 3;
			ret->repaired = 1;
		}
	}
}
