// SPDX-License-Identifier: Apache-2.0
/*
 * C that is called from another stack, as Go does: the walk goes on there. By a stand-in
 * for Go's runtime, and by real programs in Go where a compiler is installed.
 */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMES 1000

/* --- a stand-in ------------------------------------------------------------------- */

struct scenario {
	const char *name;
	int64_t size;
};

static bool is_symbol(const json_t *row, size_t at, const char *before, const char *after)
{
	const json_t *frame = json_array_get(json_object_get(row, "frames"), at);
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "%s%s", before, after);
	return symbol && !strcmp(symbol, wanted);
}

/* From the allocation to the outermost function of the other stack. */
static bool is_whole(const json_t *row, const struct scenario *s)
{
	return !strcmp(json_string_value(live_get(row, "end")), "complete") &&
	       json_array_size(live_get(row, "frames")) == 5 &&
	       is_symbol(row, 0, "allocate", "") &&
	       is_symbol(row, 1, s->name, "_allocates") &&
	       is_symbol(row, 2, "call_on_thread", "") &&
	       is_symbol(row, 3, s->name, "_calls") &&
	       is_symbol(row, 4, "run_on_stack", "");
}

/* Those that are not whole end at the switch. */
static int64_t count_whole(const json_t *report, const struct scenario *s,
			   int64_t *ret_cut)
{
	int64_t whole = 0;
	const json_t *row;
	size_t i;

	*ret_cut = 0;
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");

		if (live_int(row, "size_bytes") != blocks * s->size)
			continue;
		if (is_whole(row, s)) {
			whole += blocks;
			continue;
		}
		CHECK(strcmp(json_string_value(live_get(row, "end")), "complete") != 0);
		CHECK_INT(json_array_size(live_get(row, "frames")), 3);
		CHECK(is_symbol(row, 2, "call_on_thread", ""));
		*ret_cut += blocks;
	}
	return whole;
}

static void check_losses(const json_t *report)
{
	CHECK_INT(live_int(report, "losses.walks_lost"), 0);
	CHECK_INT(live_int(report, "losses.walks_over_budget"), 0);
}

/* The copy for the miss handler is of one stack, so the first walks end at the switch.
 * The rule is known then; what follows is whole, though it looks the same. */
static void switches(const char *options)
{
	static const struct scenario plain = {"plain", 4001}, edge = {"edge", 4002},
				     moved = {"moved", 4003}, bad = {"bad", 4004};
	struct live_process *target = target_start(STACK_SWITCHER_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	int64_t cut, later;
	json_t *report;

	oracle_do(target, "work");
	report = memtrace_report(memtrace);
	check_losses(report);
	CHECK_INT(count_whole(report, &plain, &cut) + cut, TIMES);
	if (cut > TIMES / 2)
		CHECK_FAIL("%lld of %d stacks are cut short", (long long)cut, TIMES);
	CHECK_INT(count_whole(report, &bad, &later), 0);
	CHECK_INT(later, TIMES);
	json_decref(report);

	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	check_losses(report);
	CHECK_INT(count_whole(report, &plain, &later), 2 * TIMES - cut);
	CHECK_INT(later, cut);
	CHECK_INT(count_whole(report, &edge, &cut), 2 * TIMES - cut);
	CHECK_INT(count_whole(report, &moved, &cut), 2 * TIMES - cut);
	CHECK_INT(count_whole(report, &bad, &cut), 0);
	CHECK_INT(cut, 2 * TIMES);
	json_decref(report);
	live_destroy(target);
}

static void stand_in(void)
{
	switches("--no-lines");
	switches("--no-lines --attach perf");
	switches("--no-lines --traffic");
}

int main(void)
{
	live_require_root();
	RUN(stand_in);
	return check_done();
}
