/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a target under memtrace: start the oracle (oracle/oracle.h) and the tracer, compare
 * the two, and look for leftover probes.
 */
#ifndef LIVE_TRACE_H
#define LIVE_TRACE_H

#include "live/live.h"

/* Paths of the binaries that were built. */
extern const char *const memtrace_path, *const oracle_path;

/* Start the oracle, or another target that prints {"ready":..}, and wait for that
 * line. */
struct live_process *oracle_start(void);
struct live_process *target_start(const char *path);

/* target_start() with `library` in LD_PRELOAD. NULL: with the environment unchanged. */
struct live_process *target_start_with(const char *library, const char *path);
/* Send one command and return the answer, owned. Fails on an error or without an
 * answer. */
json_t *oracle_ask(struct live_process *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Send a command whose answer does not matter. */
void oracle_do(struct live_process *oracle, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Start memtrace on `pid` with `--format json --top 0 --older 0 -i 3600` and `options`
 * (words separated by blanks, which may override these), and wait until its probes are
 * attached.
 */
struct live_process *memtrace_start(pid_t pid, const char *options);
/* Start memtrace without these defaults, and do not wait. */
struct live_process *memtrace_start_plain(pid_t pid, const char *options);
/* Request a report. Owned. */
json_t *memtrace_report(struct live_process *memtrace);
/* The next report of this cause ("demand", "stopped"). Owned. Others that come before are
 * dropped, and counted in *before unless that is NULL. */
json_t *memtrace_report_of(struct live_process *memtrace, const char *cause,
			   unsigned *before);
/* Send Ctrl-C and return the final report, owned. Checks for exit status 0. Destroys
 * `memtrace`. */
json_t *memtrace_stop(struct live_process *memtrace);

/* The call path of one row of "stacks": the symbol of the innermost frame that begins
 * with "site_". NULL if no frame does. Borrowed. */
const char *row_site(const json_t *row);
/* Does a frame of the row have this symbol? */
bool row_has_symbol(const json_t *row, const char *symbol);
/* The sums of one call path in the report's `section` ("heap", "mappings"). */
struct site_sum {
	int64_t bytes, blocks;
	int64_t estimated_bytes, estimated_blocks; /* 0 without sampling */
};
struct site_sum report_site(const json_t *report, const char *section, const char *site);

/*
 * Compare a report with the oracle's truth. Each function prints the differences on
 * stderr and returns their number.
 *
 * compare_heap() compares the bytes and blocks of each call path and the sums within the
 * report. No "site_" may be in the report that the truth does not have. `strict`: blocks
 * outside of all call paths are differences, too.
 */
unsigned compare_heap(const json_t *truth, const json_t *report, bool strict);
unsigned compare_mappings(const json_t *truth, const json_t *report);
/* Compares the heap's totals: every call must have been seen. */
unsigned compare_totals(const json_t *truth, const json_t *report);
/* The losses that are not zero, except the one named `allowed` (NULL: none is
 * allowed). */
unsigned compare_losses(const json_t *report, const char *allowed);

/* The probes in this kernel: BPF programs and links by id, tracefs events. */
struct probes;
struct probes *probes_find(void);
/* Wait until all probes are gone that are not in `before`, and until the processes that
 * remove memtrace's breakpoints have ended. After 30 s prints what is left and returns
 * false. */
bool probes_gone(const struct probes *before);
/* How many programs of type kprobe the kernel has that are not in `before`. */
unsigned probes_new(const struct probes *before);
void probes_destroy(struct probes *probes);
/* How many instructions the verifier followed in the program of this name: the largest
 * count if there are several programs. 0: no such program, or the kernel does not report
 * it. */
unsigned probes_verified(const char *program);

/* Trace the oracle with `-v` and these options while it allocates and frees in all ways.
 * Checks that the figures are right, that nothing is lost and that stderr contains
 * `said`. */
void trace_mixed(struct live_process *oracle, const char *options, const char *said);

#endif
