/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of checking a function's probe sites against what the function returns
 * (checks.h). */
#ifndef ATTACH_CHECK_VERDICT_H
#define ATTACH_CHECK_VERDICT_H

#include <stdint.h>

enum check_outcome {
	CHECK_RIGHT,
	/* sites were wrong; probes at the function's `ret`s replace them */
	CHECK_REPLACED,
	/* sites were wrong, and some process could not be probed at its `ret`s */
	CHECK_LOST,
	/* Sites were wrong, but were kept. Probes at the `ret`s would be in every process
	 * that maps the file: a process that patches its own memory must not slow down
	 * the others. */
	CHECK_KEPT,
};

struct check_verdict {
	const char *function; /* static string */
	const char *module;   /* file name for messages; borrowed from the tracer */
	/* Calls whose result was what a site had read, was something else, or had not
	 * been read by any site. */
	uint64_t agreed, differed, missed;
	enum check_outcome outcome;
};

#endif
