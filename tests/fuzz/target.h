/* SPDX-License-Identifier: Apache-2.0 */
/* target: what a fuzz target is, and how it says that something is wrong. */
#ifndef PL_TESTS_FUZZ_TARGET_H
#define PL_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MUST(condition)                                                                                                \
	do {                                                                                                               \
		if (!(condition)) {                                                                                            \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
			abort();                                                                                                   \
		}                                                                                                              \
	} while (0)

#endif
