/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target that never notices: it behaves and says the same alone and under memtrace,
 * attached, launched and by its library. See targets/answer.h for such targets.
 */
#ifndef LIVE_UNNOTICED_H
#define LIVE_UNNOTICED_H

#include <stdbool.h>

/* Base names of the libraries to preload, the program's own libc ("libc.so.6") first;
 * NULL at the end. */
extern const char *const unnoticed_allocators[];

struct unnoticed {
	const char *program, *work; /* its path, and its first argument */
	const char *allocator;      /* base name of the library to preload */
	/* The program fails alone as well, which is to be the same then. */
	bool fails;
};

/*
 * Check that the program does and says the same alone and under memtrace, and that what
 * it counts is what memtrace counts. Skipped, with a note, when the allocator is not
 * installed.
 */
void unnoticed_check(const struct unnoticed *target);

#endif
