/* SPDX-License-Identifier: Apache-2.0 */
/* What came of comparing a function's sites with what it returns (checks.h). */
#ifndef BPF_CHECK_VERDICT_H
#define BPF_CHECK_VERDICT_H

#include <stdint.h>

enum check_outcome {
	CHECK_RIGHT,
	CHECK_REPLACED, /* wrong: results are seen at the function's `ret`s now */
	CHECK_LOST,     /* wrong, and in some process no probe could be put there */
	/* Wrong, but probes there would be in all processes that map the file: one that
	 * patches its own memory must not slow down the others. */
	CHECK_KEPT,
};

struct check_verdict {
	const char *function; /* static */
	const char *module;   /* file name for people; borrowed from the tracer */
	/* Calls: their result was the one that a site had read, or another one, or no
	 * site had read it. */
	uint64_t agreed, differed, missed;
	enum check_outcome outcome;
};

#endif
