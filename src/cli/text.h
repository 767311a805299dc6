/* SPDX-License-Identifier: Apache-2.0 */
/* text: the guest's bytes in forms that JSON can carry. Pure; any bytes are fine. */
#ifndef PL_CLI_TEXT_H
#define PL_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* UTF-8 with U+FFFD for each longest start of a character that is not continued (Unicode 15, 3.9, U+FFFD substitution, as
 * web browsers do it). For free; NULL: no memory. *ret_len without the NUL that follows. */
char *text_utf8(const uint8_t *bytes, size_t len, size_t *ret_len);
/* Base64 (RFC 4648, 4) with padding. For free; NULL: no memory. */
char *text_base64(const uint8_t *bytes, size_t len);

#endif
