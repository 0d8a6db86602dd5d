/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler of the probes knows of a trace mode: one member of struct trace_mode
 * (trace/trace_mode.h).
 */
#ifndef COMPILE_SOURCE_MODE_H
#define COMPILE_SOURCE_MODE_H

#include <stdbool.h>

struct run_values;
struct source_flags;
struct source_run;
struct strbuf;

/* What a mode can do, one bit each. A fragment of probes/ and an option name what they
 * need of a mode (source_fragments.c, struct option_row). */
enum mode_ability {
	MODE_BLOCKS = 1 << 0,    /* has a table of live blocks */
	MODE_CALLS = 1 << 1,     /* has probes at numbered sites of allocators */
	MODE_FUNCTIONS = 1 << 2, /* traces calls of allocation functions */
	MODE_TRAFFIC = 1 << 3,   /* counts by call path and thread */
	MODE_HITS = 1 << 4,      /* counts hits of stacks, without blocks */
	MODE_PROCESSES = 1 << 5, /* follows processes, and unwinds their stacks */
	MODE_FORKS = 1 << 6,     /* follows forks */
	MODE_SAMPLE_BYTES = 1 << 7,
};

/* Longest list of a mode's own fragments, with the NULL at its end. */
#define MODE_FRAGMENTS_MAX 4

struct source_mode {
	unsigned able; /* set of enum mode_ability */
	/* Fragments of probes/ that are compiled after the common ones. Ended by NULL. */
	const char *fragments[MODE_FRAGMENTS_MAX];
	bool traces_mappings; /* always, without --mappings */
	/* Its programs run where hashes that allocate are refused, or would be traced. */
	bool preallocates;
	/* Its programs leave no BPF stack for the unwind tables of whole files. */
	bool lacks_stack;
	/* Is the first frame the probed instruction, and not the return address of a
	 * probed call? NULL: no. */
	bool (*is_exact)(const struct source_run *run);
	/* Add the mode's own -D flags. False: memory is out. NULL: it has none. */
	bool (*add_flags)(struct source_flags *flags, const struct source_run *run);
	/* Set values that are neither in the text nor in the flags. NULL: none. */
	void (*set_values)(struct run_values *values, const struct source_run *run);
	/* Append text before and after the fragments. NULL: none. */
	void (*append_before)(struct strbuf *text, const struct source_run *run);
	void (*append_after)(struct strbuf *text, const struct source_run *run);
};

/* Can the mode do all of `abilities`? */
static inline bool source_mode_can(const struct source_mode *mode, unsigned abilities)
{
	return !(abilities & ~mode->able);
}

#endif
