// SPDX-License-Identifier: Apache-2.0
/*
 * The search for blocks that nothing points to, in programs without shared libraries
 * (targets/keeper.c): their thread-local data, their allocator and its data lie elsewhere
 * than in others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "live/searched.h"
#include "live/trace.h"

struct site {
	const char *name;
	int64_t blocks, lost, held;
	int64_t lost_strictly; /* with --unreachable-strict */
};

static const struct site sites[] = {
	{"site_data", 1, 0, 0, 0},       {"site_zeroed", 1, 0, 0, 0},
	{"site_tls", 1, 0, 0, 0},        {"site_thread_tls", 1, 0, 0, 0},
	{"site_key", 1, 0, 0, 0},        {"site_main_stack", 1, 0, 0, 0},
	{"site_mapping", 1, 0, 0, 0},    {"site_thread_stack", 1, 0, 0, 0},
	{"site_large", 1, 0, 0, 0},      {"site_in_large", 1, 0, 0, 0},
	{"site_chained", 1, 0, 0, 0},    {"site_neighbour", 2, 0, 0, 0},
	{"site_freed", 1, 0, 0, 1},      {"site_lost", 3, 3, 0, 3},
	{"site_lost_large", 1, 1, 0, 1}, {"site_list_head", 1, 1, 5, 1},
	{"site_list_rest", 5, 0, 0, 0},
};

static void check_sum(const json_t *report, const char *site, bool is_of_search,
		      const char *key, int64_t want)
{
	int64_t got = searched_sum(report, site, is_of_search, key);

	check_state.checks++;
	if (got != want)
		CHECK_FAIL("%s: %s is %" PRId64 ", expected %" PRId64, site, key, got,
			   want);
}

static void check_report(const json_t *report, bool is_strict)
{
	int64_t lost = 0;

	for (size_t i = 0; i < sizeof(sites) / sizeof(*sites); i++) {
		const struct site *s = &sites[i];
		int64_t want = is_strict ? s->lost_strictly : s->lost;

		lost += want;
		check_sum(report, s->name, false, "blocks", s->blocks);
		check_sum(report, s->name, true, "lost_blocks", want);
		check_sum(report, s->name, true, "held_blocks", s->held);
		check_sum(report, s->name, true, "possible_blocks", 0);
	}
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), lost);
	CHECK_INT(live_int(report, "heap.search.held_blocks"), 5);
	CHECK_INT(live_int(report, "heap.search.unverified_blocks"), 0);
	CHECK_INT(live_int(report, "heap.search.threads"), 2);
}

static void search_running(const char *path)
{
	struct live_process *target = target_start(path), *memtrace;
	json_t *report;

	memtrace = memtrace_start(live_pid(target), "--unreachable");
	oracle_do(target, "make");
	report = memtrace_report(memtrace);
	check_report(report, false);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	oracle_do(target, "work");
	live_destroy(target);
}

static void search_strictly(const char *binary)
{
	struct live_process *memtrace;
	json_t *report = searched_strictly(binary, "static.json", &memtrace);

	/* Free memory is left out: nothing is said of blocks that are not known. */
	CHECK(!strstr(live_stderr(memtrace), "not all blocks"));
	check_report(report, true);
	json_decref(report);
	oracle_do(memtrace, "work");
	live_destroy(memtrace);
}

static void glibc(void)
{
	search_running(ALLOCATORS_DIR "/keeper_static");
}

static void glibc_strictly(void)
{
	search_strictly(ALLOCATORS_DIR "/keeper_static");
}

static void musl(void)
{
	search_running(ALLOCATORS_DIR "/keeper_musl");
}

static void musl_strictly(void)
{
	search_strictly(ALLOCATORS_DIR "/keeper_musl");
}

int main(void)
{
	if (access(ALLOCATORS_DIR "/keeper_static", X_OK) ||
	    access(ALLOCATORS_DIR "/keeper_musl", X_OK))
		check_skip("glibc's static library and musl-gcc are not installed");
	RUN(glibc);
	RUN(glibc_strictly);
	RUN(musl);
	RUN(musl_strictly);
	return check_done();
}
