/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and lines of processes, read by a confined child (confined/confined.h). If the
 * child ends, another one is started, a few times. The process whose request ended the
 * child gets no more new names; all others are unaffected. The lookups of one report have
 * a limit of time (READER_REPORT_NS). Names that are missing then are put off (struct
 * symbol) to the next reports.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include <stdbool.h>

#include "symbol/names_service.h"
#include "symbol/symbolizer.h"
#include "process/proc.h"
#include "util/error.h"

/* 2 min, the time for the fetching of debug files not included. */
#define READER_REPORT_NS (UINT64_C(120) * 1000000000)

struct reader;

struct reader_options {
	struct names_options names;
	size_t open_max;    /* processes open at a time; 0: 256 */
	uint64_t report_ns; /* for the lookups of a report; 0: READER_REPORT_NS */
	int fetch_cache;    /* with names.debuginfod: fetcher_options.cache */
	/* Called with the current phase while the child is busy, or NULL. */
	void (*progress)(void *arg, const char *phase);
	void *progress_arg;
	/* Returns true to stop waiting for servers and files. NULL: never. */
	uint64_t (*stopping_ns)(void *arg);
	void *stopping_arg;
	/* Prints a line to the user; without newline. Or NULL. */
	void (*warn)(void *arg, const char *text);
	void *warn_arg;
};

/* Start the child. `options` is copied; the data that it points to is borrowed. */
struct error *reader_create(const struct reader_options *options, struct reader **ret)
	__attribute__((warn_unused_result));
/* End the child. Destroy all symbolizers first. NULL is fine. */
void reader_destroy(struct reader *reader);

/* A report begins, with the whole time for it (also fetcher_begin_report()). */
void reader_begin_report(struct reader *reader);

/* A snapshot for clients begins, with the whole time for the lookups. */
void reader_begin_observation(struct reader *reader);

/* fetcher_lost(); 0 without names.debuginfod. */
unsigned reader_lost_files(struct reader *reader, const char **ret_why);

/* The child's pid, for tests. */
int reader_pid(const struct reader *reader);

/* A symbolizer for `proc`. Borrows `proc` and the reader. The child opens every file
 * that the process has mapped as code. It does so immediately for the first `open_max`
 * processes; if there are more, the last ones used are open. */
struct error *reader_symbolizer_create(struct reader *reader, const struct proc *proc,
				       struct symbolizer **ret)
	__attribute__((warn_unused_result));

/* True if the child has not opened the files of the process yet. It does so at the next
 * lookup if the process still runs. `symbolizer` belongs to a reader. */
bool reader_is_unopened(const struct symbolizer *symbolizer);

/* A file without lines, as in line_finder_next_missing(). */
struct reader_missing {
	char *path;
	char *why; /* NULL: there are lines, but no inlined functions */
};

/* The next such file of a reader's symbolizer; false: no more. The caller owns the
 * strings. */
bool reader_next_missing(struct symbolizer *symbolizer, struct reader_missing *ret);
void reader_missing_deinit(struct reader_missing *missing);

/* In a forked child: leave the parent's process alone. If `anew`, start another one,
 * which fetches no debug files; otherwise only what is known already has names. */
void reader_cut_off(struct reader *reader, bool anew);

#endif
