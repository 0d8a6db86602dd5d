// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks that a program reports by otel_memory's USDT probes: all numbers must equal the
 * target's own counts.
 */
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "live/refused.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

/* The value of each semaphore while memtrace traces: the kernel counts one tracer for
 * each place of a probe. */
#define ALLOC_PLACES 6
#define FREE_PLACES  2

static bool sees_tracers(struct live_process *target, int alloc, int free)
{
	json_t *truth = oracle_ask(target, "ask");
	bool sees = live_int(truth, "alloc_semaphore") == alloc &&
		    live_int(truth, "free_semaphore") == free;

	json_decref(truth);
	return sees;
}

static void check_traced(struct live_process *target)
{
	CHECK(sees_tracers(target, ALLOC_PLACES, FREE_PLACES));
}

/* Waits until the kernel has removed the probes. With perf events this takes a while. */
static void check_untraced(struct live_process *target)
{
	double end = live_now_s() + TIMEOUT_S;

	while (!sees_tracers(target, 0, 0) && live_now_s() < end)
		live_sleep(0.02);
	CHECK(sees_tracers(target, 0, 0));
}

/* Let memtrace find the unwind rules of the call sites first. On a busy machine it may
 * not run for a while, and its ring holds only some hundred new stacks. */
static void find_unwind_rules(struct live_process *target, struct live_process *memtrace)
{
	oracle_do(target, "make 1");
	oracle_do(target, "threads 2");
	json_decref(memtrace_report(memtrace));
}

static void check_report(const json_t *truth, const json_t *report)
{
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
}

/* A whole run, once with each of the options. */
static void exact(const char *options)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace;
	json_t *truth, *report, *allocator;

	/* Not reported: nothing traces the target yet. */
	oracle_do(target, "make 10");
	check_untraced(target);
	memtrace = memtrace_start(live_pid(target), options);
	check_traced(target);
	find_unwind_rules(target, memtrace);
	oracle_do(target, "make 699");
	/* Drops also the unreported blocks. */
	oracle_do(target, "drop 210");
	oracle_do(target, "threads 1000");
	truth = oracle_ask(target, "fail 3");
	report = memtrace_report(memtrace);
	check_report(truth, report);
	/* Most of the sites pass operands in memory, as constants or in parts of
	 * registers. */
	CHECK_INT(report_site(report, "heap", "site_indexed").blocks, 500);
	CHECK_INT(report_site(report, "heap", "site_sampled").bytes, 500 * 524288);
	CHECK_INT(report_site(report, "heap", "site_thread").blocks, 2004);
	allocator = json_array_get(live_get(report, "allocators"), 0);
	CHECK_STR(json_string_value(live_get(allocator, "name")), "otel_memory");
	CHECK_INT(json_array_size(live_get(report, "allocators")), 1);
	json_decref(truth);
	json_decref(report);
	truth = oracle_ask(target, "drop 500");
	report = memtrace_stop(memtrace);
	check_report(truth, report);
	CHECK_INT(report_site(report, "heap", "site_indexed").blocks, 0);
	json_decref(truth);
	json_decref(report);
	check_untraced(target);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

static void every_reported_block_is_counted(void)
{
	exact("--otel-memory --unwind auto");
}

static void every_reported_block_is_counted_with_perf(void)
{
	exact("--otel-memory --unwind auto --attach perf");
}

/* What was allocated and freed in total, and the peak, which was before the frees. With
 * frame pointers: a stack with a missing unwind rule may be known too late for the
 * peak. */
static void traffic(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--otel-memory --unwind fp --traffic");
	json_t *truth, *report;
	int64_t peak;

	truth = oracle_ask(target, "make 400");
	peak = live_int(truth, "allocated_bytes");
	json_decref(truth);
	oracle_do(target, "drop 100");
	truth = oracle_ask(target, "threads 50");
	report = memtrace_stop(memtrace);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(live_int(report, "heap.traffic.allocated_bytes"),
		  live_int(truth, "allocated_bytes"));
	CHECK_INT(live_int(report, "heap.traffic.freed_bytes"),
		  live_int(truth, "freed_bytes"));
	CHECK_INT(live_int(report, "heap.peak.bytes"), peak);
	json_decref(truth);
	json_decref(report);
	live_destroy(target);
}

/* --min-size and --max-size compare the sizes of blocks, not their weights. */
static void bounds(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace = memtrace_start(
		live_pid(target), "--otel-memory --unwind auto --min-size 256");
	json_t *report;

	find_unwind_rules(target, memtrace);
	oracle_do(target, "make 299");
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_sampled").blocks, 0);
	CHECK_INT(report_site(report, "heap", "site_narrow").blocks, 0);
	CHECK_INT(report_site(report, "heap", "site_constant").blocks, 300);
	json_decref(report);
	live_destroy(target);
}

/* memtrace samples one in ten of the blocks that the program has sampled. The tolerance
 * is ten standard deviations of the sum, which no run exceeds. */
static void sampled(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace = memtrace_start(
		live_pid(target), "--otel-memory --unwind auto --sample-every 10");
	json_t *truth, *report;
	int64_t blocks;

	find_unwind_rules(target, memtrace);
	oracle_do(target, "make 2999");
	truth = oracle_ask(target, "drop 1000");
	report = memtrace_stop(memtrace);
	blocks = report_site(report, "heap", "site_constant").blocks;
	CHECK(blocks > 200 - 10 * 14 && blocks < 200 + 10 * 14);
	CHECK_INT(report_site(report, "heap", "site_constant").bytes, blocks * 4096);
	CHECK_INT(report_site(report, "heap", "site_sampled").bytes,
		  report_site(report, "heap", "site_sampled").blocks * 524288);
	json_decref(truth);
	json_decref(report);
	live_destroy(target);
}

/* memtrace is killed: only the kernel can lower the semaphores. */
static void killed(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);

	for (int perf = 0; perf < 2; perf++) {
		struct live_process *memtrace = memtrace_start(
			live_pid(target), perf ? "--otel-memory --attach perf"
					       : "--otel-memory --attach multi");

		check_traced(target);
		oracle_do(target, "make 10");
		live_signal(memtrace, SIGKILL);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGKILL);
		live_destroy(memtrace);
		check_untraced(target);
	}
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* A library that is loaded later, with its own semaphores. */
static void loaded(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--otel-memory --unwind auto");
	json_t *truth, *report;

	oracle_do(target, "load " REPORTER_LIBRARY);
	if (!live_wait_stderr(memtrace, "traced from now on", TIMEOUT_S))
		live_fail("%s", live_stderr(memtrace));
	find_unwind_rules(target, memtrace);
	truth = oracle_ask(target, "make 99");
	report = memtrace_stop(memtrace);
	check_report(truth, report);
	CHECK_INT(report_site(report, "heap", "site_library").blocks, 100);
	json_decref(truth);
	json_decref(report);
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* A static program without symbols: memtrace cannot find its malloc, but it reports
 * blocks. */
static void stripped(void)
{
	struct live_process *target = target_start(REPORTER_STRIPPED);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), "--dry-run");
	json_t *truth, *report;

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "no allocator found");
	CHECK_CONTAINS(live_stderr(memtrace), "which --otel-memory traces");
	live_destroy(memtrace);
	memtrace = memtrace_start(live_pid(target), "--otel-memory --unwind auto");
	oracle_do(target, "make 20");
	truth = oracle_ask(target, "drop 5");
	report = memtrace_stop(memtrace);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	/* One stack for each site, although they have no symbols. */
	CHECK_INT(live_int(report, "heap.stack_count"), 6);
	json_decref(truth);
	json_decref(report);
	live_destroy(target);
}

/* The text report says that the numbers are the program's, and --dry-run says where the
 * probes are. */
static void words(void)
{
	struct live_process *target = target_start(REPORTER_BINARY);
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(target), "--otel-memory --top 1 --older 0");
	unsigned reported = 0, listed = 0, probes = 0, gated = 0;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, "8 static probes of reporter; Ctrl-C ends",
				 TIMEOUT_S));
	oracle_do(target, "make 2");
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		reported += !!strstr(line,
				     "  reported    by the program's otel_memory probes");
		listed += !!strstr(line, "\t1048576 bytes in 2 allocations from stack");
		free(line);
	}
	CHECK_INT(reported, 1);
	CHECK_INT(listed, 1);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);

	memtrace = memtrace_start_plain(live_pid(target), "--otel-memory --dry-run");
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		probes += !!strstr(line, "  otel_memory:");
		gated += !!strstr(line, "static probe, semaphore at 0x");
		free(line);
	}
	CHECK_INT(probes, ALLOC_PLACES + FREE_PLACES);
	CHECK_INT(gated, ALLOC_PLACES + FREE_PLACES);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(target);
}

/* --- bad input -------------------------------------------------------------------- */

static void refused(void)
{
	struct live_process *target = oracle_start();
	char pid[16];
	const char *const none[] = {memtrace_path, "--otel-memory", "-p", pid, NULL};
	const char *const file[] = {memtrace_path, "--otel-memory", "-p", pid,
				    "--lib",       "libc.so.6",     NULL};
	const char *const later[] = {memtrace_path, "--otel-memory", "--lib",
				     EVENTS_BINARY, NULL};
	const char *const both[] = {memtrace_path, "--otel-memory", "-p",
				    pid,           "--mappings",    NULL};
	const char *const event[] = {memtrace_path, "--otel-memory", "-p", pid,
				     "--event",     "profile:hz:9",  NULL};
	const char *const spec[] = {memtrace_path, "--event", "otel_memory",
				    "-p",          pid,       NULL};

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	check_refused(none, 0, 1, "no file with static probes otel_memory:alloc",
		      "oracle");
	check_refused(file, 0, 1, "libc.so.6 has no static probes", "otel_memory:free");
	check_refused(later, 0, 1, "events has no static probes", "otel_memory:free");
	check_refused(both, 0, 2, "--otel-memory", "--mappings");
	check_refused(event, 0, 2, "--event", "--otel-memory");
	check_refused(spec, 0, 2, "otel_memory", "--otel-memory");
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(every_reported_block_is_counted);
	RUN(every_reported_block_is_counted_with_perf);
	RUN(traffic);
	RUN(bounds);
	RUN(sampled);
	RUN(killed);
	RUN(loaded);
	RUN(stripped);
	RUN(words);
	RUN(refused);
	probes_destroy(probes_before);
	return check_done();
}
