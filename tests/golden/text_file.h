/* SPDX-License-Identifier: Apache-2.0 */
/* Expected text in a file of its own. */
#ifndef GOLDEN_TEXT_FILE_H
#define GOLDEN_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "util/cleanup.h"

/* Compare `got` with the file, or make it the file's contents. */
static inline void text_file_compare(const char *path, bool is_written, const char *got)
{
	_cleanup_(fclosep) FILE *file = fopen(path, is_written ? "we" : "re");
	const size_t cap = 1 << 20;
	_cleanup_(freep) char *want = malloc(cap);

	REQUIRE(file && want);
	if (is_written) {
		fputs(got, file);
		return;
	}
	want[fread(want, 1, cap - 1, file)] = '\0';
	CHECK(*want);
	CHECK_STR(got, want);
}

#endif
