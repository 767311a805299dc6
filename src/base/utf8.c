/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: see utf8.h. */
#include "base/utf8.h"

/* The length of the sequence that lead begins and the range of its second byte, or 0. */
static size_t sequence_len(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef) {
		if (lead == 0xe0)
			*ret_low = 0xa0;
		if (lead == 0xed)
			*ret_high = 0x9f;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		if (lead == 0xf0)
			*ret_low = 0x90;
		if (lead == 0xf4)
			*ret_high = 0x8f;
		return 4;
	}
	return 0;
}

int pl_utf8_valid(const uint8_t *bytes, size_t len)
{
	size_t i = 0;

	while (i < len) {
		uint8_t low, high;
		size_t n;

		if (bytes[i] < 0x80) {
			i++;
			continue;
		}
		n = sequence_len(bytes[i], &low, &high);
		if (!n || n > len - i || bytes[i + 1] < low || bytes[i + 1] > high)
			return 0;
		for (size_t k = 2; k < n; k++)
			if ((bytes[i + k] & 0xc0) != 0x80)
				return 0;
		i += n;
	}
	return 1;
}
