/* SPDX-License-Identifier: Apache-2.0 */
/* text: see text.h. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

/* How many bytes a character has that begins with first, and what its second may be (Unicode 15, table 3-7). 0: none can. */
static size_t lead_read(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	*ret_high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Takes one character, or the longest start of one: its length; *ret_whole says which. At least 1. */
static size_t character_take(const uint8_t *bytes, size_t len, int *ret_whole)
{
	uint8_t low, high;
	size_t want = lead_read(bytes[0], &low, &high), n = 1;

	while (n < want && n < len && bytes[n] >= low && bytes[n] <= high) {
		low = 0x80;
		high = 0xbf;
		n++;
	}
	*ret_whole = n == want;
	return n;
}

char *text_utf8(const uint8_t *bytes, size_t len, size_t *ret_len)
{
	/* Every byte becomes at most one U+FFFD. */
	char *text = len > (SIZE_MAX - 1) / 3 ? NULL : malloc(len * 3 + 1);
	size_t at = 0;

	if (!text)
		return NULL;
	while (len) {
		int whole;
		size_t n = character_take(bytes, len, &whole);
		const void *from = whole ? (const void *)bytes : replacement;
		size_t from_len = whole ? n : sizeof replacement - 1;

		memcpy(text + at, from, from_len);
		at += from_len;
		bytes += n;
		len -= n;
	}
	text[at] = 0;
	*ret_len = at;
	return text;
}

char *text_base64(const uint8_t *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	char *text = len > SIZE_MAX / 2 ? NULL : malloc((len + 2) / 3 * 4 + 1);
	char *at = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		uint32_t group = (uint32_t)bytes[i] << 16;

		if (i + 1 < len)
			group |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < len)
			group |= bytes[i + 2];
		*at++ = digits[group >> 18];
		*at++ = digits[group >> 12 & 63];
		*at++ = digits[i + 1 < len ? group >> 6 & 63 : 64];
		*at++ = digits[i + 2 < len ? group & 63 : 64];
	}
	*at = 0;
	return text;
}
