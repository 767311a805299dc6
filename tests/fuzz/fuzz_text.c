/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are meant to be text: what is called UTF-8 stays as it is when it is made UTF-8, what is not becomes so; and base64
 * has the length that it must have. */
#include "base/utf8.h"
#include "cli/text.h"

#include <string.h>

#include "fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	size_t text_len;
	char *text = text_utf8(bytes, len, &text_len), *base64 = text_base64(bytes, len);

	MUST(text && base64);
	MUST(pl_utf8_valid((const uint8_t *)text, text_len));
	MUST(pl_utf8_valid(bytes, len) == (text_len == len && memcmp(text, bytes, len) == 0));
	MUST(strlen(base64) == (len + 2) / 3 * 4);
	free(text);
	free(base64);
	return 0;
}
