/* SPDX-License-Identifier: Apache-2.0 */
/* utf8: whether bytes are well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF). */
#ifndef PL_BASE_UTF8_H
#define PL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* 1 or 0. */
int pl_utf8_valid(const uint8_t *bytes, size_t len);

#endif
