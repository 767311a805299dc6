/* SPDX-License-Identifier: Apache-2.0 */
/* alloc: the heap as our own code sees it. Everything goes through these, so that a test can make the n-th allocation fail
 * (base/alloc.c reads the countdown that pl_alloc_fail sets; nothing but tests sets it). */
#ifndef PL_BASE_ALLOC_H
#define PL_BASE_ALLOC_H

#include <stddef.h>

void *pl_malloc(size_t size);
/* n * size bytes, zeroed; NULL also when the product overflows. */
void *pl_calloc(size_t n, size_t size);
void *pl_realloc(void *old, size_t size);
/* A copy of at most len bytes of text, with a NUL. */
char *pl_strndup(const char *text, size_t len);
void pl_free(void *p);

/* The n-th allocation from now returns NULL, once; 0: none. For tests. */
void pl_alloc_fail(unsigned long n);
/* Whether the failure asked for has happened. */
int pl_alloc_failed(void);

#endif
