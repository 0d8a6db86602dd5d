/* SPDX-License-Identifier: Apache-2.0 */
/* What came of comparing a function's sites with what it returns (checks.h). */
#ifndef BPF_CHECK_VERDICT_H
#define BPF_CHECK_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

struct check_verdict {
	const char *function; /* static */
	const char *module;   /* file name for people; borrowed from the tracer */
	/* Calls that returned what a site had said, or something else, or of which no
	 * site had said anything. */
	uint64_t agreed, differed, missed;
	bool is_wrong; /* the function's results are seen at its `ret`s now */
	bool is_lost;  /* they should be, but no probe could be put there */
};

#endif
