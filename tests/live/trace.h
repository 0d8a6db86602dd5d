/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target under memtrace: the oracle, the tracer, the comparison of the two, and the
 * search for probes that were left behind.
 */
#ifndef LIVE_TRACE_H
#define LIVE_TRACE_H

#include "live/live.h"

/* memtrace and the oracle as they were built. */
extern const char *const memtrace_path, *const oracle_path;

/* Start the oracle (or another target that says {"ready":..}) and wait until it is. */
struct live_process *oracle_start(void);
struct live_process *target_start(const char *path);

/* The same with `library` in LD_PRELOAD. NULL: as it is. */
struct live_process *target_start_with(const char *library, const char *path);
/* Send one command and return the answer, owned; an error or silence fails. */
json_t *oracle_ask(struct live_process *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, for commands whose answer does not matter. */
void oracle_do(struct live_process *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Start memtrace on `pid` with `--format json --top 0 --older 0 -i 3600` and `options`
 * (words separated by blanks; may override), and wait until its probes stand.
 */
struct live_process *memtrace_start(pid_t pid, const char *options);
/* The same without those defaults and without waiting. */
struct live_process *memtrace_start_plain(pid_t pid, const char *options);
/* A report on demand, owned. */
json_t *memtrace_report(struct live_process *memtrace);
/* Ctrl-C: the final report, owned. Checks for exit status 0. Destroys `memtrace`. */
json_t *memtrace_stop(struct live_process *memtrace);

/* The name of the call path of one row of "stacks": the innermost frame whose symbol
 * begins with "site_"; NULL when there is none. Borrowed. */
const char *row_site(const json_t *row);
/* Has one of the row's frames this symbol? */
bool row_has_symbol(const json_t *row, const char *symbol);
/* What the report's `section` ("heap", "mappings") says of one call path. */
struct site_sum {
	int64_t bytes, blocks;
	int64_t estimated_bytes, estimated_blocks; /* when sampling */
};
struct site_sum report_site(const json_t *report, const char *section, const char *site);

/*
 * Compare. Each returns the number of differences and prints them on stderr.
 * compare_heap: every call path to the byte and block, nothing that the truth does not
 * know, and the sums of the report among themselves. `strict`: blocks outside of all
 * call paths are differences too.
 */
unsigned compare_heap(const json_t *truth, const json_t *report, bool strict);
unsigned compare_mappings(const json_t *truth, const json_t *report);
/* The totals of the heap against the truth's: every call is known. */
unsigned compare_totals(const json_t *truth, const json_t *report);
/* Losses that are not zero, but for those named in `allowed` (NULL: none). */
unsigned compare_losses(const json_t *report, const char *allowed);

/* Probes of this kernel: BPF programs and links by id, tracefs events. */
struct probes;
struct probes *probes_find(void);
/* Waits until every probe is gone that `before` does not have, and every process has
 * ended that removes memtrace's breakpoints. False when some are left after 30 s: says
 * how many. */
bool probes_gone(const struct probes *before);
/* How many programs of kprobe type there are that `before` does not have. */
unsigned probes_new(const struct probes *before);
void probes_destroy(struct probes *probes);
/* How many instructions the verifier followed in the program of this name, the most if
 * there are several; 0: there is none, or the kernel does not tell. */
unsigned probes_verified(const char *program);

/* Trace the oracle with `-v` and these options while it allocates and frees in all ways:
 * the figures are right, nothing is lost, and standard error says `said`. */
void trace_mixed(struct live_process *oracle, const char *options, const char *said);

#endif
