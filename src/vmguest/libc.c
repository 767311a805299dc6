/* SPDX-License-Identifier: Apache-2.0 */
/* libc: the image is linked with musl's objects that only compute (strings, printing of numbers, mathematics) and, for the few
 * that would make a system call or look at a thread's own memory, with these. The linker takes a name from here before it
 * looks into musl's archive; the build then proves that no system call is left (scripts/check-image). */
#include "vmguest/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <wchar.h>

/* Of musl's own, and the compiler's. */
int *__errno_location(void);
int *___errno_location(void); /* the same, as musl's own files call it */
int __lockfile(FILE *file);
void __unlockfile(FILE *file);
_Noreturn void __assert_fail(const char *text, const char *file, int line, const char *function);
_Noreturn void __stack_chk_fail(void);
int __fprintf_chk(FILE *file, int flag, const char *format, ...);
char *secure_getenv(const char *name);
char *getenv(const char *name);

int *__errno_location(void)
{
	static int error;

	return &error;
}

int *___errno_location(void)
{
	return __errno_location();
}

/* The files that snprintf makes for itself are never shared. */
int __lockfile(FILE *file)
{
	(void)file;
	return 0;
}

void __unlockfile(FILE *file)
{
	(void)file;
}

/* Nobody prints wide characters; %lc would need a locale. */
int wctomb(char *bytes, wchar_t c)
{
	(void)bytes, (void)c;
	return -1;
}

size_t wcrtomb(char *restrict bytes, wchar_t c, mbstate_t *restrict state)
{
	(void)bytes, (void)c, (void)state;
	return (size_t)-1;
}

char *strerror(int error)
{
	static char text[] = "error";

	(void)error;
	return text;
}

_Noreturn void abort(void)
{
	pl_machine_stop();
}

_Noreturn void __assert_fail(const char *text, const char *file, int line, const char *function)
{
	(void)text, (void)file, (void)line, (void)function;
	pl_machine_stop();
}

_Noreturn void __stack_chk_fail(void)
{
	pl_machine_stop();
}

/* There are no files: what QuickJS and nettle would print for their developers goes nowhere. */
int printf(const char *restrict format, ...)
{
	(void)format;
	return 0;
}

int fprintf(FILE *restrict file, const char *restrict format, ...)
{
	(void)file, (void)format;
	return 0;
}

int __fprintf_chk(FILE *file, int flag, const char *format, ...)
{
	(void)file, (void)flag, (void)format;
	return 0;
}

int fputc(int c, FILE *file)
{
	(void)file;
	return c;
}

int putchar(int c)
{
	return c;
}

int puts(const char *text)
{
	(void)text;
	return 0;
}

FILE *const stdout = NULL, *const stderr = NULL;

/* There is no environment. */
char *getenv(const char *name)
{
	(void)name;
	return NULL;
}

char *secure_getenv(const char *name)
{
	return getenv(name);
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	int64_t us = pl_machine_real_ns() / 1000;

	(void)zone;
	ret->tv_sec = us / 1000000;
	ret->tv_usec = us % 1000000;
	return 0;
}

/* Local time is UTC, as on every wall. gmtime_r only computes. */
struct tm *localtime_r(const time_t *restrict t, struct tm *restrict ret)
{
	return gmtime_r(t, ret);
}
