/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a function prints on standard error, for tests of notes. */
#ifndef TESTS_SAID_H
#define TESTS_SAID_H

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct said {
	int real; /* standard error */
	int kept; /* what is printed instead */
};

/* From now on standard error is kept. */
static inline struct said said_begin(void)
{
	struct said said = {.real = dup(STDERR_FILENO), .kept = memfd_create("said", 0)};

	REQUIRE(said.real >= 0 && said.kept >= 0);
	fflush(stderr);
	REQUIRE(dup2(said.kept, STDERR_FILENO) == STDERR_FILENO);
	return said;
}

/* Give standard error back. Returns what was printed since said_begin(). The caller frees
 * it. */
static inline char *said_end(struct said said)
{
	struct stat st;
	char *text;

	fflush(stderr);
	dup2(said.real, STDERR_FILENO);
	REQUIRE(!fstat(said.kept, &st));
	text = calloc(1, (size_t)st.st_size + 1);
	REQUIRE(text && pread(said.kept, text, (size_t)st.st_size, 0) == st.st_size);
	close(said.real);
	close(said.kept);
	return text;
}

#endif
