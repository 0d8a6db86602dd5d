// SPDX-License-Identifier: Apache-2.0
/*
 * Processes whose main thread has exited, or exits while memtrace traces, while other
 * threads go on: each block is counted, and each stack is whole and has symbols.
 */
#include <signal.h>
#include <string.h>

#include "check.h"
#include "live/breakpoints.h"
#include "live/trace.h"

#define OPTIONS "--no-lines --unwind auto"

/* As library_a of targets/library.c. */
#define LIBRARY_SIZE 2001

static struct live_process *target_start_as(const char *how)
{
	const char *const argv[] = {HEADLESS_BINARY, how, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 30);

	if (!ready || !json_object_get(ready, "ready"))
		live_fail("the target did not start: %s", live_stderr(target));
	json_decref(ready);
	return target;
}

/* Waits for two answers: with "left" the first comes a little before the main thread
 * exits. */
static struct live_process *start_left(void)
{
	struct live_process *target = target_start_as("left");

	oracle_do(target, "leave");
	return target;
}

static bool has_names(const json_t *row, const char *const names[])
{
	const json_t *frames = json_object_get(row, "frames");
	size_t i = 0;

	for (; names[i]; i++) {
		const json_t *frame = json_array_get(frames, i);
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));

		if (!symbol || strcmp(symbol, names[i]) != 0)
			return false;
	}
	return true;
}

/* Checks that the stack with these names is whole and has `blocks` blocks of `size`
 * bytes, and that no other stack begins at the same site. */
static void check_stack(const json_t *report, const char *site, int64_t blocks,
			int64_t size, const char *const names[])
{
	struct site_sum sum = report_site(report, "heap", site);
	const json_t *row;
	size_t i;

	CHECK_INT(sum.blocks, blocks);
	CHECK_INT(sum.bytes, blocks * size);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *of = row_site(row);

		if (!of || strcmp(of, site) != 0)
			continue;
		CHECK(has_names(row, names));
		CHECK_STR(json_string_value(json_object_get(row, "end")), "complete");
	}
}

static const char *const keep_path[] = {"site_keep", "keep", "obey", "work", NULL};
static const char *const call_path[] = {"library_inner", "library_outer", "site_call",
					"obey",          "work",          NULL};

static const char *const loaded_path[] = {"allocate", "site_allocate", "obey", "work",
					  NULL};

static void work(struct live_process *target)
{
	oracle_do(target, "keep 100 1000");
	oracle_do(target, "drop 30");
	oracle_do(target, "load %s", LIBRARY_A);
	oracle_do(target, "call 40");
}

static void check_work(const json_t *report)
{
	check_stack(report, "site_keep", 70, 1000, keep_path);
	check_stack(report, "site_call", 40, LIBRARY_SIZE, call_path);
	CHECK_INT(compare_losses(report, NULL), 0);
}

/* Loads a library with its own allocator, and waits until it is probed. */
static void load_allocator(struct live_process *target, struct live_process *memtrace,
			   const char *path)
{
	char said[512];

	snprintf(said, sizeof(said), "has loaded %s", path);
	oracle_do(target, "load %s", path);
	REQUIRE(live_wait_stderr(memtrace, said, 30));
}

/* The run must end with the process, and not earlier. */
static void check_end(struct live_process *target, struct live_process *memtrace)
{
	REQUIRE(live_is_running(memtrace));
	live_send(target, "end");

	json_t *report = live_read_json(memtrace, 60);

	REQUIRE(report);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 70);
	CHECK_INT(live_wait(memtrace, 30), 0);
	json_decref(report);
	live_destroy(memtrace);
	live_destroy(target);
}

static void attached_after(void)
{
	struct live_process *target = start_left();
	struct live_process *memtrace = memtrace_start(live_pid(target), OPTIONS);
	json_t *report;

	work(target);
	report = memtrace_report(memtrace);
	check_work(report);
	CHECK(live_int(report, "target.vm_rss_bytes") > 0);
	json_decref(report);
	check_end(target, memtrace);
}

/* memtrace waits some milliseconds for the other threads to end, too. Then a child keeps
 * the probes. memtrace makes no report meanwhile. */
static void await_hold(struct live_process *memtrace)
{
	live_sleep(0.5);
	json_decref(memtrace_report(memtrace));
}

static void ends_while_traced(void)
{
	struct live_process *target = target_start_as("stay");
	struct live_process *memtrace = memtrace_start(live_pid(target), OPTIONS);
	json_t *report;

	load_allocator(target, memtrace, LOADED_MALLOC);
	oracle_do(target, "leave");
	await_hold(memtrace);
	/* The library is loaded again: probes are attached to its file a second time. */
	oracle_do(target, "unload");
	oracle_do(target, "load %s", LOADED_MALLOC);
	oracle_do(target, "allocate 20 320");
	/* And to another file for the first time. */
	load_allocator(target, memtrace, LOADED_APART);
	oracle_do(target, "again 10 160");
	work(target);
	report = memtrace_report(memtrace);
	check_work(report);
	check_stack(report, "site_allocate", 20, 320, loaded_path);
	CHECK_INT(report_site(report, "heap", "site_again").blocks, 10);
	json_decref(report);
	check_end(target, memtrace);
}

/* The thread whose id memtrace uses for the process ends every 500 ms. */
static void threads_come_and_go(void)
{
	struct live_process *target = start_left(), *memtrace;
	json_t *report;

	oracle_do(target, "relay");
	memtrace = memtrace_start(live_pid(target), OPTIONS);
	work(target);
	report = memtrace_report(memtrace);
	check_work(report);
	json_decref(report);
	check_end(target, memtrace);
}

/* --- probes in all processes ------------------------------------------------------- */

/* The kernel can set breakpoints for this process only through a thread that lives long
 * enough, and with perf events through none. So the breakpoints are in all processes that
 * map the same files, but only the target is counted. */
static void probed_with_all(const char *options, bool has_short_threads)
{
	struct live_process *target = start_left(), *memtrace;
	struct live_process *other = target_start_as("stay");
	json_t *report;

	if (has_short_threads)
		oracle_do(target, "relay 3");
	memtrace = memtrace_start(live_pid(target), options);
	CHECK(live_wait_stderr(memtrace, "now probes all processes", 30));
	CHECK(breakpoints_count(live_pid(other)) > 0);
	oracle_do(target, "keep 100 1000");
	oracle_do(other, "keep 50 1000");
	oracle_do(target, "drop 30");
	oracle_do(other, "drop 50");
	report = memtrace_report(memtrace);
	check_stack(report, "site_keep", 70, 1000, keep_path);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	oracle_do(target, "settle");
	check_end(target, memtrace);
	oracle_do(other, "keep 50 1000");
	oracle_do(other, "drop 50");
	live_destroy(other);
}

static void by_perf_events(void)
{
	probed_with_all(OPTIONS " --attach perf", false);
}

static void by_links(void)
{
	probed_with_all(OPTIONS, true);
}

int main(void)
{
	live_require_root();

	struct probes *before = probes_find();

	RUN(attached_after);
	RUN_WITH_RETURN_PROBES(ends_while_traced);
	RUN(threads_come_and_go);
	RUN(by_links);
	/* Last: targets that start later return through the trampoline, too. */
	RUN_WITH_RETURN_PROBES(by_perf_events);
	CHECK(probes_gone(before));
	probes_destroy(before);
	return check_done();
}
