/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's flags for the BPF program of a run. */
#ifndef COMPILE_SOURCE_FLAGS_H
#define COMPILE_SOURCE_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "compile/source_sizes.h"

#define SOURCE_FLAGS_MAX 96

struct source_flags {
	char **list; /* `count` strings */
	size_t count;
};

/* What the flags follow from. */
struct source_facts {
	const struct source_run *run;
	const struct source_sizes *sizes;
	unsigned registers; /* bit n: an argument may be in register n */
	/* on_free_here replaces on_free, and on_session also serves only one process */
	bool one_process;
	bool keeps_tids; /* there is a program on_thread_end */
};

/* Fill an empty list. False: memory is out. The caller calls source_flags_deinit(), also
 * after a failure. */
bool source_flags_init(struct source_flags *ret, const struct source_facts *facts)
	__attribute__((warn_unused_result));

/* Do the probes search the unwind rules of whole files? */
bool source_flags_want_tables(const struct source_run *run);

/* Add a flag, printf-style. False: memory is out, or there are SOURCE_FLAGS_MAX. */
bool source_flags_add(struct source_flags *flags, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

void source_flags_deinit(struct source_flags *flags);

#endif
