// SPDX-License-Identifier: Apache-2.0
/*
 * memtrace must not slow down the machine. A target that always calls malloc from new
 * call sites makes memtrace resolve misses all the time. The miss handler runs at normal
 * priority and stays within --unwind-cpu; the stacks that it skips are counted.
 */
#include <inttypes.h>

#include "check.h"
#include "live/files.h"
#include "live/threads.h"
#include "live/trace.h"

#define TIMEOUT_S 60

/* memtrace averages the miss handler's CPU share over this time, s. */
#define WINDOW_S 20

static struct live_process *hostile_start(const char *how)
{
	const char *const argv[] = {ENDLESS_SITES_BINARY, how, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	REQUIRE(ready);
	json_decref(ready);
	return target;
}

static double others_cpu_s(const struct live_process *memtrace)
{
	return threads_sum(live_pid(memtrace)).others_cpu_s;
}

/* The share of a processor that the miss handler uses, per cent, after it has used up the
 * allowance for the first seconds. */
static double measure_share(const struct live_process *memtrace, double percent,
			    double seconds)
{
	double start_s = live_now_s(), begin_s, before_s;

	while (others_cpu_s(memtrace) <
		       percent / 100 * (0.9 * WINDOW_S + live_now_s() - start_s) &&
	       live_now_s() < start_s + TIMEOUT_S)
		live_sleep(0.1);
	begin_s = live_now_s();
	before_s = others_cpu_s(memtrace);
	live_sleep(seconds);
	return 100 * (others_cpu_s(memtrace) - before_s) / (live_now_s() - begin_s);
}

static int64_t blocks_that_end(const json_t *report, const char *end)
{
	const json_t *row;
	int64_t blocks = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (!strcmp(json_string_value(json_object_get(row, "end")), end))
			blocks += live_int(row, "blocks");
	return blocks;
}

static void check_hostile(const char *how, const char *options, double percent)
{
	struct live_process *target = hostile_start(how);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	double share = measure_share(memtrace, percent, 6), begin_s = live_now_s();
	json_t *report = memtrace_report(memtrace);
	double report_s = live_now_s() - begin_s;
	int64_t over = live_int(report, "losses.walks_over_budget");

	printf("%s%s: %.1f %% of a processor, %" PRId64 " walks over budget, %" PRId64
	       " lost, a report took %.2f s\n",
	       how, options, share, over, live_int(report, "losses.walks_lost"),
	       report_s);
	/* A share of a slice too many, and what the clock tick rounds: more on a busy
	 * machine. */
	CHECK(share <= 1.5 * percent + 5);
	/* New mappings are made more slowly than the ring fills. */
	CHECK(over > 0 || !strcmp(how, "maps"));
	if (over)
		CHECK(json_is_false(live_get(report, "complete")));
	CHECK(blocks_that_end(report, "unlearned") <= over);
	CHECK(report_s < 30);
	json_decref(report);

	/* It did not cost the counts: the target has as many as memtrace saw. */
	live_send(target, "stop");
	json_decref(live_read_json(target, TIMEOUT_S));
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK(live_int(report, "heap.totals.allocations") > 1000);
	CHECK_INT(live_int(report, "heap.totals.allocations"),
		  live_int(report, "heap.totals.frees"));
	json_decref(report);
	live_destroy(target);
}

static void new_call_sites_without_end(void)
{
	check_hostile("sites", " --no-lines --unwind auto --unwind-cpu 10", 10);
	check_hostile("sites", " --no-lines --unwind auto --unwind-cpu 2", 2);
}

static void new_mappings_without_end(void)
{
	check_hostile("maps", " --no-lines --unwind auto --unwind-cpu 2", 2);
}

/* Waits until no thread of memtrace has another nice value: on a crowded machine memtrace
 * changes it for short times. */
static struct thread_sums wait_for_normal_priority(const struct live_process *memtrace)
{
	struct thread_sums sums = threads_sum(live_pid(memtrace));

	for (int i = 0; i < 20 && sums.renice; i++) {
		live_sleep(0.1);
		sums = threads_sum(live_pid(memtrace));
	}
	return sums;
}

/* A program with few call sites loses nothing. */
static void no_thread_has_another_priority(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "--unwind auto");
	struct thread_sums sums = wait_for_normal_priority(memtrace);

	CHECK(sums.count >= 2);
	CHECK_INT(sums.renice, 0);
	oracle_do(oracle, "run keep 100 1");

	json_t *report = memtrace_stop(memtrace);

	CHECK_INT(live_int(report, "losses.walks_over_budget"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(oracle);
}

#define IDLE_S 8

/* Processes that this machine has started so far (proc_stat(5)). */
static unsigned long processes_started(void)
{
	char *text = files_read("/proc/stat");
	const char *line = strstr(text, "\nprocesses ");
	unsigned long count = line ? strtoul(line + strlen("\nprocesses "), NULL, 10) : 0;

	REQUIRE(count);
	free(text);
	return count;
}

/* While the target sleeps, memtrace sleeps, too: its threads wait for events, and none
 * polls for work. */
static void sleeps_while_the_target_sleeps(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--unwind auto --interval 60");
	unsigned long before, started;
	double per_s;

	oracle_do(oracle, "run keep 100 1");
	/* Wait until the unwind tables of all files are built. */
	live_sleep(5);
	started = processes_started();
	before = threads_sum(live_pid(memtrace)).wakeups;
	live_sleep(IDLE_S);
	per_s = (double)(threads_sum(live_pid(memtrace)).wakeups - before) / IDLE_S;
	printf("%.1f wakeups a second\n", per_s);
	CHECK(before > 0);
	/* If others execute programs, their events come up to twice a second to two
	 * threads, and memtrace waits a moment for more each time. A thread that polls
	 * wakes up 50 times. */
	CHECK(per_s <= (processes_started() == started ? 3 : 12));
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(no_thread_has_another_priority);
	RUN(sleeps_while_the_target_sleeps);
	RUN(new_call_sites_without_end);
	RUN(new_mappings_without_end);
	return check_done();
}
