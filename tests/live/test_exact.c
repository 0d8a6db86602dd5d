/* SPDX-License-Identifier: Apache-2.0 */
/* memtrace's JSON equals the oracle's counts, to the byte and the block. */
#include "check.h"
#include "live/trace.h"

struct scenario {
	const char *name;
	unsigned blocks;
	const char *options; /* for memtrace */
	const char *allowed; /* the loss that the scenario causes, or NULL */
	bool threads_come;   /* the scenario starts threads, which allocates outside of
			      * all call paths */
	bool before;         /* the oracle makes as many blocks before the attach */
};

static void print_notes(const json_t *truth)
{
	const json_t *note;
	size_t i;

	json_array_foreach (live_get(truth, "notes"), i, note)
		printf("note: %s\n", json_string_value(note));
}

static void check_against(struct live_process *oracle, const json_t *report,
			  const struct scenario *scenario)
{
	json_t *truth = oracle_ask(oracle, "truth");

	CHECK_INT(compare_heap(truth, report, !scenario->threads_come), 0);
	if (!scenario->threads_come)
		CHECK_INT(compare_totals(truth, report), 0);
	if (!json_is_null(live_get(report, "mappings")))
		CHECK_INT(compare_mappings(truth, report), 0);
	CHECK_INT(compare_losses(report, scenario->allowed), 0);
	CHECK(live_int(report, "heap.totals.frees_unknown") >=
	      live_int(truth, "frees_before"));
	/* Calls that never return may be noticed late, but memtrace must not invent
	 * any. */
	CHECK(live_int(report, "losses.calls_abandoned") <= live_int(truth, "abandoned"));
	print_notes(truth);
	json_decref(truth);
}

static void check_scenario(const struct scenario *scenario, unsigned threads)
{
	struct live_process *oracle = oracle_start();
	unsigned before = check_state.failures;
	double start_s = live_now_s();

	if (scenario->before)
		oracle_do(oracle, "before %u", scenario->blocks);
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), scenario->options);
	oracle_do(oracle, "run %s %u %u", scenario->name, scenario->blocks, threads);
	json_t *report = memtrace_report(memtrace);
	check_against(oracle, report, scenario);
	json_decref(report);

	oracle_do(oracle, "run release 1 %u", threads);
	report = memtrace_stop(memtrace);
	check_against(oracle, report, scenario);
	json_decref(report);
	CHECK(live_is_running(oracle));
	live_destroy(oracle);
	printf("%s %s %u blocks, %u threads, %.1f s\n",
	       check_state.failures == before ? "  ok  " : "  FAIL", scenario->name,
	       scenario->blocks, threads, live_now_s() - start_s);
	fflush(stdout);
}

static void both(struct scenario scenario)
{
	if (!scenario.options)
		scenario.options = "";
	check_scenario(&scenario, 1);
	check_scenario(&scenario, 8);
}

static void every_function_1e3(void)
{
	both((struct scenario){.name = "mixed", .blocks = 1000});
}

static void every_function_1e5(void)
{
	both((struct scenario){.name = "mixed", .blocks = 100000});
}

static void every_function_1e6(void)
{
	check_scenario(
		&(struct scenario){.name = "mixed", .blocks = 1000000, .options = ""}, 8);
}

static void calls_that_fail(void)
{
	both((struct scenario){.name = "failures", .blocks = 1000});
}

static void blocks_from_before_the_attach(void)
{
	both((struct scenario){.name = "before", .blocks = 1000, .before = true});
}

static void freed_by_another_thread(void)
{
	both((struct scenario){.name = "handover", .blocks = 100000});
}

static void threads_that_come_and_go(void)
{
	both((struct scenario){
		.name = "short_threads", .blocks = 1000, .threads_come = true});
}

static void threads_that_die_inside_a_call(void)
{
	both((struct scenario){.name = "death",
			       .blocks = 500,
			       .allowed = "calls_abandoned",
			       .threads_come = true});
}

static void longjmp_out_of_a_call(void)
{
	both((struct scenario){
		.name = "longjmp", .blocks = 1000, .allowed = "calls_abandoned"});
}

static void blocks_beyond_4_gib(void)
{
	both((struct scenario){.name = "huge", .blocks = 16});
}

static void a_child_of_fork(void)
{
	both((struct scenario){.name = "fork", .blocks = 1000});
}

static void mappings(void)
{
	both((struct scenario){
		.name = "mappings", .blocks = 80, .options = "--mappings"});
}

static void many_mappings(void)
{
	int count = live_is_long() ? 50000 : 10000;
	struct live_process *target = target_start(ALLOCATORS_DIR "/allocators");
	struct live_process *memtrace = memtrace_start(live_pid(target), "--mappings");
	json_t *report, *truth;

	oracle_do(target, "map %d", count);
	report = memtrace_report(memtrace);
	truth = oracle_ask(target, "truth");
	CHECK_INT(compare_mappings(truth, report), 0);
	CHECK_INT(live_int(report, "mappings.totals.allocations"), 3 * count);
	CHECK_INT(compare_losses(report, NULL), 0);
	printf("     %d calls of mmap, %d of mremap\n", 2 * count, count);
	json_decref(report);
	json_decref(truth);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* With --mappings the counts of the heap must not change. */
static void every_function_with_mappings(void)
{
	both((struct scenario){
		.name = "mixed", .blocks = 10000, .options = "--mappings"});
}

/* Attach by perf events, as on older kernels. */
static void attached_by_perf_events(void)
{
	both((struct scenario){
		.name = "mixed", .blocks = 10000, .options = "--attach perf"});
	both((struct scenario){
		.name = "mappings", .blocks = 80, .options = "--attach perf --mappings"});
}

/* Hash tables, as on kernels whose BPF lacks compare-and-exchange. Eight threads call
 * from the same sites at once, so they add the same stacks, and they free each other's
 * blocks. */
static void tables_are_hashes(void)
{
	const char *options = "--tables hashes";

	check_scenario(
		&(struct scenario){.name = "mixed", .blocks = 20000, .options = options},
		8);
	check_scenario(&(struct scenario){.name = "handover",
					  .blocks = 20000,
					  .options = options},
		       8);
	check_scenario(
		&(struct scenario){.name = "huge", .blocks = 16, .options = options}, 1);
	check_scenario(
		&(struct scenario){.name = "fork", .blocks = 500, .options = options}, 1);
	check_scenario(&(struct scenario){.name = "death",
					  .blocks = 50,
					  .options = options,
					  .allowed = "calls_abandoned",
					  .threads_come = true},
		       8);
}

int main(void)
{
	live_require_root();
	RUN(every_function_1e3);
	RUN(calls_that_fail);
	RUN(blocks_from_before_the_attach);
	RUN(freed_by_another_thread);
	RUN(threads_that_come_and_go);
	RUN(threads_that_die_inside_a_call);
	RUN(longjmp_out_of_a_call);
	RUN(blocks_beyond_4_gib);
	RUN(a_child_of_fork);
	RUN(mappings);
	RUN(many_mappings);
	RUN(every_function_with_mappings);
	RUN(attached_by_perf_events);
	RUN(tables_are_hashes);
	RUN(every_function_1e5);
	if (live_is_long())
		RUN(every_function_1e6);
	return check_done();
}
