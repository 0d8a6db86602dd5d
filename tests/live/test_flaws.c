// SPDX-License-Identifier: Apache-2.0
/*
 * The known flaws of BCC's memleak in what it counts, which memtrace replaces: one test
 * for each. The comment of a test says how the test would fail with the flaw. Those in
 * what it prints are in test_flaws_output.c.
 */
#include <math.h>
#include <signal.h>
#include <time.h>

#include "check.h"
#include "live/flaws_trace.h"
#include "live/paths.h"
#include "live/trace.h"

/*
 * 1. A full table of blocks loses blocks silently: live + lost would be less than the
 * truth. After the table was full, new blocks are not seen: the blocks made after the
 * release would be missing.
 */
static void flaw_1_full_table_is_counted(void)
{
	const int64_t many = 20000;
	struct traced traced = trace("--max-allocations 1024");

	oracle_do(traced.oracle, "run keep %d 1", (int)many);
	json_t *report = memtrace_report(traced.memtrace);
	int64_t tracked = live_int(report, "heap.live_blocks");
	int64_t lost = live_int(report, "losses.blocks_full");
	CHECK(tracked >= 512 && tracked < many);
	CHECK(lost > 0);
	CHECK_INT(tracked + lost, many);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, tracked);
	CHECK(json_is_false(live_get(report, "complete")));
	json_decref(report);

	oracle_do(traced.oracle, "run release 1 1");
	oracle_do(traced.oracle, "run names 100 1");
	report = stop(&traced);
	CHECK_INT(live_int(report, "heap.live_blocks"), 200);
	CHECK_INT(report_site(report, "heap", "site_no_frame_pointer").blocks, 100);
	CHECK_INT(live_int(report, "heap.totals.frees"), tracked);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), lost);
	CHECK_INT(live_int(report, "losses.blocks_full"), lost);
	json_decref(report);
}

/*
 * 1 and 15. A pending call stays in its table if its thread dies. After more deaths than
 * the table has entries (10,240 in memleak) no call would be tracked any more, and the
 * blocks of running threads would be missing.
 */
static void flaw_1_and_15_dead_threads_leave_no_pending_call(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run death 11000 8");
	check_exact(&traced, "calls_abandoned");
	json_decref(stop(&traced));
}

/* 15. A new thread with the id of one that died inside a call is confused with it: its
 * first blocks would be missing. The same for two threads whose ids have the same low
 * bits. */
static void flaw_15_thread_ids_are_used_again(void)
{
	static const char setting[] = "/proc/sys/kernel/pid_max";
	char old[32] = "";
	FILE *file = fopen(setting, "r+e");

	/* Allow ids beyond 65536 during this test. */
	if (file && fgets(old, sizeof(old), file) && strtoul(old, NULL, 10) < 262144) {
		rewind(file);
		fputs("262144", file);
		fflush(file);
	} else {
		old[0] = '\0';
	}
	struct traced traced = trace("");
	oracle_do(traced.oracle, "run tid_reuse 20000 2");
	json_t *truth = oracle_ask(traced.oracle, "truth");
	for (size_t i = 0; i < json_array_size(live_get(truth, "notes")); i++)
		printf("note: %s\n",
		       json_string_value(json_array_get(live_get(truth, "notes"), i)));
	json_decref(truth);
	check_exact(&traced, "calls_abandoned");
	json_decref(stop(&traced));
	if (file && old[0]) {
		rewind(file);
		fputs(old, file);
	}
	if (file)
		fclose(file);
}

/* Processor time of a process in seconds. */
static double cpu_s(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	REQUIRE(!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &time));
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Checks that each of `paths` paths is a stack of its own. Returns how much processor
 * time memtrace takes for the report of them, in seconds. */
static double report_of_paths(int paths)
{
	struct traced traced = trace("");
	pid_t pid = live_pid(traced.memtrace);

	oracle_do(traced.oracle, "run paths %d 1", paths);
	double spent_s = cpu_s(pid);
	json_t *report = memtrace_report(traced.memtrace);
	spent_s = cpu_s(pid) - spent_s;

	paths_check(report, paths, 1);
	json_decref(report);
	paths_stop(traced.oracle, traced.memtrace);
	return spent_s;
}

/*
 * 2. Stacks that collide in the stack map, or that come when it is full, hide their
 * blocks or are shown as another stack: a path would be missing, or hold more than one
 * block, or not its own size. 12. Grouping takes quadratic time: eight times as many
 * stacks would take 64 times as long.
 */
static void flaw_2_and_12_each_of_12000_stacks_is_its_own(void)
{
	double few_s = report_of_paths(1500), many_s = report_of_paths(12000);

	printf("reports of 1500 and 12000 stacks: %.3f and %.3f s of processor time\n",
	       few_s, many_s);
	CHECK(many_s < 24 * few_s);
}

/* 2. Stacks that several threads add at the same time: a path would have two rows, or
 * another path's blocks. */
static void new_stacks_at_once(const char *options)
{
	enum {
		paths = 2000,
		threads = 8
	};
	struct traced traced = trace(options);
	json_t *report;

	/* All threads start with the first path. */
	oracle_do(traced.oracle, "run paths %d %d", paths * threads, threads);
	report = memtrace_report(traced.memtrace);
	paths_check(report, paths, threads);
	json_decref(report);
	paths_stop(traced.oracle, traced.memtrace);
}

static void flaw_2_stacks_that_are_new_to_eight_threads(void)
{
	new_stacks_at_once("");
	new_stacks_at_once("--tables hashes");
}

/* 2. A full stack map hides blocks: the sum would be less than the truth. memtrace lists
 * such blocks without a stack, and counts them. */
static void flaw_2_full_stack_table_is_counted(void)
{
	const int64_t paths = 20000;
	struct traced traced = trace("--max-stacks 1024");

	oracle_do(traced.oracle, "run paths %d 1", (int)paths);
	json_t *report = stop(&traced), *row;
	int64_t without = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (json_is_null(live_get(row, "stack")))
			without += live_int(row, "blocks");
	CHECK_INT(live_int(report, "heap.live_blocks"), paths);
	CHECK_INT(live_int(report, "heap.live_bytes"), paths * (paths + 1) / 2);
	CHECK(without > 0);
	CHECK_INT(live_int(report, "losses.stacks_full"), without);
	CHECK_INT(report_site(report, "heap", "site_path").blocks, paths - without);
	CHECK(json_is_false(live_get(report, "complete")));
	json_decref(report);
}

/* 2. By default memtrace has room for more stacks than a build by make has. */
static void flaw_2_many_stacks_have_room(void)
{
	const int64_t paths = 110000;
	struct traced traced = trace("--top 10");

	oracle_do(traced.oracle, "run paths %d 1", (int)paths);
	json_t *report = stop(&traced);

	CHECK_INT(live_int(report, "losses.stacks_full"), 0);
	CHECK_INT(live_int(report, "heap.live_blocks"), paths);
	CHECK(json_is_true(live_get(report, "complete")));
	json_decref(report);
}

/*
 * 3. realloc, mremap and munmap remove the old block at their entry: if the call fails,
 * the block would be missing. With partial munmap, bytes and pieces would be wrong. 4.
 * posix_memalign's error is not seen: a stale pointer is recorded, in this test the
 * address of a live block, which would then have the wrong call path. MAP_FAILED is
 * recorded as a mapping.
 */
static void flaw_3_and_4_calls_that_fail_change_nothing(void)
{
	struct traced traced = trace("--mappings");

	oracle_do(traced.oracle, "run failures 1000 1");
	oracle_do(traced.oracle, "run mappings 20 1");
	check_exact(&traced, NULL);
	json_t *truth = oracle_ask(traced.oracle, "truth");
	json_t *report = stop(&traced);
	CHECK_INT(compare_mappings(truth, report), 0);
	CHECK_INT(report_site(report, "heap", "site_posix_memalign_bad").blocks, 0);
	CHECK_INT(report_site(report, "heap", "site_posix_memalign_fail").blocks, 0);
	CHECK_INT(report_site(report, "mappings", "site_mmap_fail").blocks, 0);
	CHECK_INT(report_site(report, "mappings", "site_mremap_fail").blocks, 0);
	/* 5. malloc's own mmap is not a mapping. */
	CHECK_INT(report_site(report, "mappings", "site_malloc_large").blocks, 0);
	json_decref(truth);
	json_decref(report);
}

/*
 * 5. Nested calls count twice, or the outer one is lost: the totals, or the blocks of
 * reallocarray, realloc(NULL) and memalign, would be wrong. 6. free deletes the record
 * before it reads it: the freed bytes would differ from the allocated ones.
 */
static void flaw_5_and_6_each_call_counts_once(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run mixed 20000 8");
	json_t *truth = oracle_ask(traced.oracle, "truth");
	json_t *report = memtrace_report(traced.memtrace);
	CHECK_INT(compare_totals(truth, report), 0);
	json_decref(truth);
	json_decref(report);
	check_exact(&traced, NULL);
	oracle_do(traced.oracle, "run release 1 8");
	report = stop(&traced);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK_INT(live_int(report, "heap.totals.freed_bytes"),
		  live_int(report, "heap.totals.allocated_bytes"));
	json_decref(report);
}

/* 7. 40-bit sizes wrap at 1 TiB: the sum of one stack would be too small. */
static void flaw_7_more_than_1_tib(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run huge 260 1");
	check_exact(&traced, NULL);
	json_t *truth = oracle_ask(traced.oracle, "truth");
	json_t *report = stop(&traced);
	size_t notes = json_array_size(live_get(truth, "notes"));
	for (size_t i = 0; i < notes; i++)
		printf("note: %s\n",
		       json_string_value(json_array_get(live_get(truth, "notes"), i)));
	if (notes < 2)
		CHECK(report_site(report, "heap", "site_huge").bytes > (int64_t)1 << 40);
	json_decref(truth);
	json_decref(report);
}

/* 7. The default age is 500 ns instead of 500 ms: new blocks would be listed. */
static void flaw_7_default_age_is_half_a_second(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(oracle), "--format json --top 0 -i 3600");

	unsigned earlier = 0; /* rounds whose report came too late */
	json_t *report = NULL;
	double begin_s;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", 30));
	oracle_do(oracle, "run keep 100 1");
	for (;;) {
		live_sleep(0.7);
		begin_s = live_now_s();
		oracle_do(oracle, "run names 100 1");
		report = memtrace_report(memtrace);
		if (live_now_s() - begin_s < 0.5)
			break;
		REQUIRE(++earlier < 20);
		json_decref(report);
	}
	CHECK_INT(live_int(report, "filter.older_ns"), 500000000);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100 + 200 * (earlier + 1));
	CHECK_INT(live_int(report, "heap.listed_blocks"), 100 + 200 * earlier);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 100);
	CHECK_INT(report_site(report, "heap", "site_no_frame_pointer").blocks,
		  100 * earlier);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	live_destroy(oracle);
}

static void check_estimate(const json_t *report, const char *site, int64_t truth,
			   unsigned every)
{
	struct site_sum sum = report_site(report, "heap", site);
	/* Independent samples: binomial. Better schemes have a smaller sigma. */
	double sigma = every * sqrt((double)truth * (every - 1) / every / every);

	printf("%s, 1 in %u: %lld of %lld, estimated %lld\n", site, every,
	       (long long)sum.blocks, (long long)truth, (long long)sum.estimated_blocks);
	CHECK_INT(sum.estimated_blocks, sum.blocks * every);
	CHECK_INT(sum.estimated_bytes, sum.bytes * every);
	CHECK(fabs((double)(sum.estimated_blocks - truth)) <= 5 * sigma);
}

/*
 * 8. Sampling by `time % N` is biased and not scaled: the estimate would be wrong. Plain
 * "every Nth" sampling follows patterns in the target: one of two functions that
 * alternate would have all samples.
 */
static void flaw_8_sampling_is_unbiased_and_scaled(void)
{
	static const unsigned everies[] = {2, 10};

	for (size_t i = 0; i < 2; i++) {
		char options[32];

		snprintf(options, sizeof(options), "--sample-every %u", everies[i]);
		struct traced traced = trace(options);
		oracle_do(traced.oracle, "run alternate 200000 1");
		json_t *report = memtrace_report(traced.memtrace);
		CHECK_INT(live_int(report, "sample_every"), everies[i]);
		check_estimate(report, "site_even", 100000, everies[i]);
		check_estimate(report, "site_odd", 100000, everies[i]);
		json_decref(report);
		oracle_do(traced.oracle, "run release 1 1");
		report = stop(&traced);
		CHECK_INT(live_int(report, "heap.live_blocks"), 0);
		CHECK_INT(compare_losses(report, NULL), 0);
		json_decref(report);
	}
}

int main(void)
{
	live_require_root();
	RUN(flaw_1_full_table_is_counted);
	RUN(flaw_1_and_15_dead_threads_leave_no_pending_call);
	RUN(flaw_15_thread_ids_are_used_again);
	RUN(flaw_2_and_12_each_of_12000_stacks_is_its_own);
	RUN(flaw_2_stacks_that_are_new_to_eight_threads);
	RUN(flaw_2_full_stack_table_is_counted);
	RUN(flaw_2_many_stacks_have_room);
	RUN(flaw_3_and_4_calls_that_fail_change_nothing);
	RUN(flaw_5_and_6_each_call_counts_once);
	RUN(flaw_7_more_than_1_tib);
	RUN(flaw_7_default_age_is_half_a_second);
	RUN(flaw_8_sampling_is_unbiased_and_scaled);
	return check_done();
}
