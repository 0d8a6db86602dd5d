// SPDX-License-Identifier: Apache-2.0
/*
 * The search for blocks that nothing points to, in a program that keeps a pointer in
 * each place where a program can (targets/holder.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/holder_sites.h"
#include "live/searched.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define MOVES 10 /* searches while an array moves */

static int64_t found(const json_t *report, const char *site, const char *key)
{
	return searched_sum(report, site, true, key);
}

/* `more_lost`: number of lost blocks of the site, in addition to site->lost. */
static void check_site_but(const json_t *report, const struct holder_site *site,
			   int64_t more_lost)
{
	const struct {
		const char *key;
		int64_t want;
	} sums[] = {
		{"lost_blocks", site->lost + more_lost},
		{"held_blocks", site->held},
		{"possible_blocks", site->possible},
		{"unverified_blocks", 0},
		{"lost_but_freed_blocks", 0},
	};
	int64_t blocks = searched_sum(report, site->name, false, "blocks");

	check_state.checks++;
	if (blocks != site->blocks)
		CHECK_FAIL("%s has %" PRId64 " blocks, expected %" PRId64, site->name,
			   blocks, site->blocks);
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		int64_t got = found(report, site->name, sums[i].key);

		if (got != sums[i].want)
			CHECK_FAIL("%s: %s is %" PRId64 ", expected %" PRId64, site->name,
				   sums[i].key, got, sums[i].want);
	}
}

static void check_site(const json_t *report, const struct holder_site *site)
{
	check_site_but(report, site, 0);
}

static int64_t verdict(const json_t *row, const char *key)
{
	return json_integer_value(
		json_object_get(json_object_get(row, "unreachable"), key));
}

/*
 * Check the blocks of no site, which belong to the program's own bookkeeping and glibc's.
 * All are reached except the following, to which glibc 2.36 has interior pointers only.
 * Returns how many these are.
 *
 * - The vector of thread-local data of each of the 4 threads: the pointer is to its
 *   second entry (allocate_dtv(), elf/dl-tls.c).
 * - The table of loaded libraries for _dl_find_object(): the pointer is to the first
 *   multiple of 128 in it (_dlfo_mappings_segment_allocate(), elf/dl-find_object.c). It
 *   depends on the length of the library's path whether this is its start.
 */
static int64_t check_others(const json_t *report)
{
	int64_t vectors = 0, tables = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t possible = verdict(row, "possible_blocks");

		if (row_site(row))
			continue;
		CHECK_INT(verdict(row, "lost_blocks"), 0);
		CHECK_INT(verdict(row, "held_blocks"), 0);
		CHECK_INT(verdict(row, "unverified_blocks"), 0);
		check_state.checks++;
		if (row_has_symbol(row, "allocate_dtv")) {
			vectors += possible;
		} else if (row_has_symbol(row, "_dlfo_mappings_segment_allocate")) {
			tables += possible;
		} else if (possible) {
			_cleanup_(freep) char *text = json_dumps(row, 0);

			CHECK_FAIL("possibly lost, but of no site: %s", text);
		}
	}
	CHECK_INT(vectors, 4);
	CHECK(tables <= 1);
	return vectors + tables;
}

static void each_place_gives_its_verdict(void)
{
	struct live_process *target,
		*memtrace = searched_start("--unreachable -v", &target);
	json_t *report = memtrace_report(memtrace);

	CHECK_CONTAINS(live_stderr(memtrace), "reading the table of live blocks");
	for (size_t i = 0; i < HOLDER_SITES; i++)
		check_site(report, &holder_sites[i]);
	CHECK_INT(live_int(report, "heap.search.searches"), 1);
	CHECK_INT(live_int(report, "heap.search.threads"), 5);
	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	CHECK_INT(live_int(report, "heap.search.held_blocks"), 10);
	CHECK_INT(live_int(report, "heap.search.possible_blocks"),
		  3 + check_others(report));
	CHECK(live_int(report, "heap.search.read_bytes") > 100000);
	CHECK(live_int(report, "heap.search.pause_ns") > 0);
	json_decref(report);
	/* And the program goes on. */
	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.searches"), 2);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	oracle_do(target, "work");
	live_destroy(target);
}

/* All blocks of a program that memtrace starts are known. With --unreachable-strict a
 * pointer in a block that was freed does not count. */
static void free_memory_of_a_command_holds_nothing(void)
{
	struct live_process *memtrace;
	json_t *report = searched_strictly(HOLDER_BINARY, "strict.json", &memtrace);

	for (size_t i = 0; i < HOLDER_SITES; i++)
		check_site_but(report, &holder_sites[i],
			       !strcmp(holder_sites[i].name, "site_freed"));
	CHECK_INT(live_int(report, "heap.search.searches"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 8);
	CHECK_INT(live_int(report, "heap.search.held_blocks"), 10);
	json_decref(report);
	live_destroy(memtrace);
}

/* The report in line `number` of a file that memtrace appends to. */
static json_t *await_line(const char *path, int number)
{
	for (int i = 0; i < 6000; i++) {
		_cleanup_(fclosep) FILE *file = fopen(path, "re");
		json_t *report = NULL;

		for (int at = 0; file && at <= number; at++) {
			json_decref(report);
			report = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL);
		}
		if (report)
			return report;
		live_sleep(0.01);
	}
	return NULL;
}

/* What an array holds that realloc() moves during the stop is not lost, although its new
 * place is in memory that counts as free. */
static void moving_arrays_hold_their_blocks(void)
{
	_cleanup_(freep) char *path = live_path("moving.json");
	struct live_process *memtrace = start_strictly(MOVER_BINARY, "hold", path);

	oracle_do(memtrace, "go");
	for (int k = 0; k < MOVES; k++) {
		json_t *report;

		live_signal(memtrace, SIGUSR1);
		report = await_line(path, k);
		REQUIRE(report);
		CHECK_INT(live_int(report, "heap.search.searches"), k + 1);
		CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
		CHECK_INT(live_int(report, "heap.search.threads"), 1);
		CHECK_INT(live_int(report, "heap.search.lost_blocks"), 1);
		CHECK_INT(live_int(report, "heap.search.held_blocks"), 0);
		CHECK_INT(found(report, "site_held", "lost_blocks"), 0);
		CHECK_INT(found(report, "site_steady", "lost_blocks"), 1);
		json_decref(report);
	}
	live_destroy(memtrace);
}

/* Without blocks, or if all are reached, a process is not even stopped. */
static void there_is_nothing_to_verify(void)
{
	struct live_process *target = target_start(HOLDER_BINARY), *memtrace;
	json_t *report;

	memtrace = memtrace_start(live_pid(target), "--unreachable");
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK_INT(live_int(report, "heap.search.searches"), 1);
	CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
	CHECK_INT(live_int(report, "heap.search.threads"), 0);
	json_decref(report);
	oracle_do(target, "make");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	live_destroy(target);
}

static void low_tags_are_an_option(void)
{
	struct live_process *target,
		*memtrace = searched_start("--unreachable --unreachable-tagged", &target);
	json_t *report = memtrace_stop(memtrace);

	CHECK_INT(found(report, "site_low_tag", "possible_blocks"), 0);
	CHECK_INT(found(report, "site_interior", "possible_blocks"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	json_decref(report);
	live_destroy(target);
}

/* The kernel does not show requests in flight, but that a process can have some. */
static void requests_in_flight_are_said(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	json_t *report = memtrace_report(memtrace);

	CHECK_INT(live_int(report, "heap.search.unseen_rings"), 0);
	json_decref(report);
	oracle_do(target, "submit");
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.search.unseen_rings"), 1);
	CHECK_INT(found(report, "site_request", "lost_blocks"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 8);
	json_decref(report);
	oracle_do(target, "reap");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 1);
	json_decref(report);
	live_destroy(target);
}

/* Who frees a block that was called lost still had a pointer to it. */
static void freed_blocks_were_not_lost(void)
{
	struct live_process *target, *memtrace = searched_start("--unreachable", &target);
	json_t *report = memtrace_report(memtrace);

	CHECK_INT(found(report, "site_hidden", "lost_blocks"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 0);
	json_decref(report);
	oracle_do(target, "free");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 6);
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_blocks"), 1);
	CHECK_INT(live_int(report, "heap.search.lost_but_freed_bytes"), 64);
	CHECK_INT(live_int(report, "heap.search.held_but_freed_blocks"), 0);
	json_decref(report);
	live_destroy(target);
}

/* Reports without a search of their own say what the last one found. */
static void verdicts_hold(void)
{
	struct live_process *target,
		*memtrace = searched_start("--unreachable-every 2 -i 0.5", &target);
	int64_t searches = 0, seen = 0;

	for (int i = 0; i < 20 && searches < 3; i++) {
		json_t *report = live_read_json(memtrace, 60);
		json_t *search;

		REQUIRE(report);
		search = json_object_get(live_get(report, "heap"), "search");
		if (search && found(report, "site_hidden", "lost_blocks") >= 0) {
			searches = live_int(search, "searches");
			seen += live_int(search, "lost_blocks") == 7;
		}
		json_decref(report);
	}
	CHECK_INT(searches, 3);
	CHECK(seen >= 4);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
}

/* Saved snapshots keep the verdicts. */
static void snapshots_keep_them(void)
{
	_cleanup_(freep) char *path = live_path("lost.mts"), *options = NULL;
	struct live_process *target, *memtrace, *replay;
	json_t *report;

	REQUIRE(asprintf(&options, "--unreachable --save %s", path) > 0);
	memtrace = searched_start(options, &target);
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);

	const char *const argv[] = {memtrace_path, "--replay", path,          "--format",
				    "json",        "--top",    "0",           "--older",
				    "0",           "--view",   "unreachable", NULL};

	replay = live_start(argv);
	report = live_read_json(replay, 60);
	REQUIRE(report);
	CHECK_INT(live_int(report, "heap.search.lost_blocks"), 7);
	for (size_t i = 0; i < HOLDER_SITES; i++)
		check_site(report, &holder_sites[i]);
	json_decref(report);
	live_destroy(replay);

	const char *const diff_argv[] = {memtrace_path, "--diff", path, path, NULL};
	_cleanup_(freep) char *line = NULL;
	struct live_process *diff = live_start(diff_argv);

	while ((line = live_read_line(diff, 60)) && strncmp(line, "  lost ", 7) != 0)
		freep(&line);
	REQUIRE(line);
	/* 300 + 48 + 9 * 32 + 2 * 64 + 64 + 64 */
	CHECK_CONTAINS(line, "892 B, now 892 B: nothing points to these blocks");
	live_destroy(diff);
}

int main(void)
{
	live_require_root();
	RUN(each_place_gives_its_verdict);
	RUN(free_memory_of_a_command_holds_nothing);
	RUN(moving_arrays_hold_their_blocks);
	RUN(there_is_nothing_to_verify);
	RUN(low_tags_are_an_option);
	RUN(requests_in_flight_are_said);
	RUN(freed_blocks_were_not_lost);
	RUN(verdicts_hold);
	RUN(snapshots_keep_them);
	return check_done();
}
