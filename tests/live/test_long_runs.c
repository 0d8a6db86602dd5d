// SPDX-License-Identifier: Apache-2.0
/*
 * What fills up in a run of days, in seconds: unwind rules of code that is gone, and
 * slots of processes that have exited between two reports.
 */
#include <signal.h>

#include "check.h"
#include "live/family.h"
#include "live/trace.h"

/* More than there is room for: 65,536 rules in buckets, and as many besides. */
#define PIECES   80000

/* --- code that is made and freed --------------------------------------------------- */

/* The end of the only stack that holds blocks, and whether it leads to main(). */
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
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--unwind auto --no-lines --max-stacks 256K");
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

int main(void)
{
	live_require_root();
	RUN(code_that_comes_and_goes);
	return check_done();
}
