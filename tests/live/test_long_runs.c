// SPDX-License-Identifier: Apache-2.0
/*
 * Tables that fill up in a run of days, filled within seconds: unwind rules of code that
 * is gone, and slots of processes that exited between two reports. For libraries see
 * test_turnover.c.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"
#include "live/trace.h"

/* More than the tables hold: 65,536 rules in buckets, and as many elsewhere. */
#define PIECES   80000

#define CHILDREN 3000
#define SLOTS    "1024"

/* --- code that is made and freed --------------------------------------------------- */

/* Checks that the only stack with blocks is complete and leads to main(). */
static void check_whole_stack(const json_t *report)
{
	const json_t *row, *frame;
	bool has_main = false;
	size_t i, k;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *site = row_site(row);

		if (!site || strcmp(site, "site_kept"))
			continue;
		CHECK_STR(json_string_value(live_get(row, "end")), "complete");
		json_array_foreach (live_get(row, "frames"), k, frame) {
			const char *name =
				json_string_value(json_object_get(frame, "symbol"));

			has_main |= name && !strcmp(name, "main");
		}
	}
	CHECK(has_main);
}

static void code_that_comes_and_goes(void)
{
	struct live_process *target = target_start(JIT_MAKER_BINARY);
	struct live_process *memtrace = memtrace_start(
		live_pid(target), "--unwind auto --no-lines --max-stacks 256K");
	json_t *report;

	oracle_do(target, "free %d", PIECES);
	oracle_do(target, "leave %d", PIECES);
	oracle_do(target, "keep 100");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "losses.rules_refused"), 0);
	CHECK_INT(compare_losses(report, "walks_lost"), 0);
	CHECK_INT(report_site(report, "heap", "site_kept").blocks, 100);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100);
	check_whole_stack(report);
	json_decref(report);
	live_destroy(target);
}

/* --- processes that exit between two reports --------------------------------------- */

static struct live_process *begin(struct live_process **target, const char *options)
{
	struct live_process *memtrace;

	*target = family_start(NULL);
	memtrace = memtrace_with("--follow-forks --max-processes " SLOTS " --pid %d %s",
				 (int)live_pid(*target), options);
	memtrace_await(memtrace);
	return memtrace;
}

static void children_between(const char *options)
{
	struct live_process *target, *memtrace = begin(&target, options);
	int64_t listed, dropped;
	json_t *report;

	oracle_do(target, "children %d", CHILDREN);
	report = memtrace_report(memtrace);
	listed = (int64_t)json_array_size(live_get(report, "targets")) - 1;
	dropped = live_int(report, "losses.processes_dropped");
	/* All calls were seen, and the report counts the processes that it does not
	 * list. */
	CHECK_INT(live_int(report, "losses.processes_full"), 0);
	CHECK_INT(live_int(report, "heap.totals.allocations"), CHILDREN * 5);
	CHECK_INT(live_int(report, "heap.totals.frees"), CHILDREN * 2);
	CHECK_INT(live_int(report, "heap.totals.gone"), dropped * 3);
	CHECK_INT(live_int(report, "heap.live_blocks"), listed * 3);
	CHECK_INT(listed + dropped, CHILDREN);
	CHECK(listed >= 128 && listed < 1024);
	check_books_but(report, "processes_dropped");
	json_decref(report);

	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

static void children_between_reports(void)
{
	children_between("");
	children_between("--tables hashes");
}

/* A process that has freed all of its blocks needs no slot after its end. */
static void children_that_leave_nothing(void)
{
	struct live_process *target, *memtrace = begin(&target, "");
	json_t *report;

	oracle_do(target, "tidy %d", CHILDREN);
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations"), CHILDREN * 5);
	CHECK_INT(live_int(report, "heap.totals.frees"), CHILDREN * 5);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK(json_array_size(live_get(report, "targets")) < 1024);
	check_books(report);
	json_decref(report);

	family_finish(target);
	json_decref(memtrace_end(memtrace, 0));
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	RUN(code_that_comes_and_goes);
	RUN(children_between_reports);
	RUN(children_that_leave_nothing);
	return check_done();
}
