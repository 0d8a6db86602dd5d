/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a target of targets/answer.h alone, and under memtrace by --pid, by -- COMMAND and
 * by --lib FILE. Compare the runs: the target must not notice memtrace.
 */
#ifndef LIVE_UNNOTICED_H
#define LIVE_UNNOTICED_H

#include <stdbool.h>

/* Base names of the libraries to preload. The first is the program's own libc
 * ("libc.so.6"). Ends with NULL. */
extern const char *const unnoticed_allocators[];

struct unnoticed {
	const char *program, *work; /* its path, and its first argument */
	const char *allocator;      /* base name of the library to preload */
	/* The program fails when it runs alone. It must fail in the same way under
	 * memtrace. */
	bool fails;
};

/*
 * Check that the program's output and its end are the same alone and under memtrace, and
 * that memtrace's totals equal the program's own counts. Skipped, with a note on stdout,
 * if the allocator is not installed.
 */
void unnoticed_check(const struct unnoticed *target);

/* The same with each of unnoticed_allocators, in two processes at a time. The program
 * fails alone with those that have `failing` in their name. NULL: with none. */
void unnoticed_check_each(const char *program, const char *work, const char *failing);

#endif
