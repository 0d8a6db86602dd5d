/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that sit inside functions see what probes at their beginning see: of 100,000
 * calls of each function, every entry and every return.
 */
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define ROUNDS 25
#define CALLS  4000 /* of each function in a round, one half of them kept */

static void print_places(pid_t pid, const char *options)
{
	char words[64], *line;

	snprintf(words, sizeof(words), "--dry-run %s", options);

	struct live_process *memtrace = memtrace_start_plain(pid, words);
	unsigned emulated = 0, all = 0;

	while ((line = live_read_line(memtrace, 10))) {
		emulated += strstr(line, "emulated") != NULL;
		all += strstr(line, " entry ") || strstr(line, " return ");
		free(line);
	}
	CHECK_INT(live_wait(memtrace, 10), 0);
	CHECK(all > 0);
	printf("     %u of %u probes are emulated\n", emulated, all);
	live_destroy(memtrace);
}

static void check(struct live_process *target, struct live_process *memtrace)
{
	json_t *report = memtrace_report(memtrace), *truth = oracle_ask(target, "truth");

	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	json_decref(report);
	json_decref(truth);
}

static void run(const char *program, const char *preload, const char *options)
{
	char *path = NULL;

	REQUIRE(asprintf(&path, "%s/%s", ALLOCATORS_DIR, program) > 0);
	if (access(path, X_OK) || (preload && access(preload, R_OK))) {
		printf("  SKIPPED: no %s\n", preload ? preload : path);
		free(path);
		return;
	}
	if (preload)
		setenv("LD_PRELOAD", preload, 1);

	struct live_process *target = target_start(path);

	unsetenv("LD_PRELOAD");
	print_places(live_pid(target), strstr(options, "--mappings") ? options : "");

	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	json_t *count = oracle_ask(target, "count");
	int64_t functions = live_int(count, "count");

	for (unsigned i = 0; i < ROUNDS; i++) {
		oracle_do(target, "run %d", CALLS / 2);
		if (i == 0)
			check(target, memtrace);
		oracle_do(target, "release");
	}
	check(target, memtrace);

	json_t *report = memtrace_stop(memtrace);

	CHECK(live_int(report, "heap.totals.allocations") >= functions * CALLS * ROUNDS);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK(live_is_running(target));
	json_decref(report);
	json_decref(count);
	live_destroy(target);
	free(path);
}

static void every_call(void)
{
	run("allocators", NULL, "");
	run("allocators", NULL, "--mappings");
	run("allocators", NULL, "--attach perf");
	run("allocators_musl_static", NULL, "");
}

static void every_call_of_jemalloc(void)
{
	run("allocators", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "");
}

int main(void)
{
	live_require_root();
	RUN(every_call);
	RUN(every_call_of_jemalloc);
	return check_done();
}
