// SPDX-License-Identifier: Apache-2.0
/* Thousands of processes that map the library of --lib: the resources that memtrace
 * needs. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/family.h"
#include "live/files.h"
#include "live/taken.h"
#include "live/trace.h"

#define CROWD 1000

static void a_library_of_many_processes(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("shared.so");
	struct taken taken;
	json_t *report;

	files_copy(LOADED_MALLOC, library);
	oracle_do(loader, "keep %s 1", library);
	oracle_do(loader, "fork - %d", CROWD);
	memtrace = memtrace_with("--lib %s --top 3", library);
	REQUIRE(live_wait_stderr(memtrace, "at present", 60));
	oracle_do(loader, "call - 1");
	report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.totals.allocations"), CROWD);
	CHECK_INT(live_int(report, "heap.live_blocks"), CROWD);
	CHECK_INT(json_array_size(live_get(report, "targets")), CROWD + 1);
	check_books(report);
	json_decref(report);
	json_decref(memtrace_report(memtrace));
	taken = taken_by(memtrace);
	/* One descriptor for each process, one more for each of the 256 processes whose
	 * symbols are open, and some for the run. */
	CHECK(taken.files < CROWD + 500);
	CHECK(taken.rss_kib < 64 * 1024 + CROWD * 32);
	json_decref(memtrace_stop(memtrace));
	live_destroy(loader);
	free(library);
}

/* --- the C library ----------------------------------------------------------------- */

/* MEMTRACE_TEST_CROWD overrides the number of processes, for example with 10000. */
static int crowd_of_libc(void)
{
	const char *text = getenv("MEMTRACE_TEST_CROWD");

	return text ? atoi(text) : 2000;
}

/* How many processes have exactly one live block. Each child has allocated one. */
static int count_holders(const json_t *report)
{
	const json_t *row;
	int holders = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.processes"), i, row)
		holders += live_int(row, "live_blocks") == 1;
	return holders;
}

/*
 * Other processes of the machine map libc, too. Their counts are not checked: each child
 * has one block. If memtrace copied the unwind rules of the program for each child, they
 * would not fit the table.
 */
static void the_c_library_of_many_processes(void)
{
	const int crowd = crowd_of_libc();
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	unsigned processes;
	struct taken taken;
	double begin_s;
	json_t *report;

	oracle_do(loader, "fork - %d", crowd);
	begin_s = live_now_s();
	memtrace = memtrace_with("--all --lib libc.so.6 --top 10");
	REQUIRE(live_wait_stderr(memtrace, "9 functions of libc.so.6; Ctrl-C ends", 300));
	printf("     %d processes are traced after %.1f s\n", crowd,
	       live_now_s() - begin_s);
	oracle_do(loader, "sites - 1");
	oracle_do(loader, "call - 1");
	for (int i = 0; i < 2; i++) {
		begin_s = live_now_s();
		report = memtrace_report(memtrace);
		printf("     report %d took %.1f s\n", i + 1, live_now_s() - begin_s);
		CHECK(count_holders(report) >= crowd);
		CHECK(live_int(report, "heap.live_blocks") >= crowd + 128);
		CHECK_INT(live_int(report, "losses.rules_refused"), 0);
		processes = (unsigned)json_array_size(live_get(report, "targets"));
		CHECK(processes > (unsigned)crowd);
		json_decref(report);
		CHECK(live_now_s() - begin_s < 60);
	}
	taken = taken_by(memtrace);
	/* One descriptor for each process, and some for each process whose symbols are
	 * open. */
	CHECK(taken.files < processes + 700);
	CHECK(taken.rss_kib < 256 * 1024 + 32 * (int64_t)processes);
	live_signal(memtrace, SIGINT);
	json_decref(live_read_json(memtrace, 60));
	CHECK_INT(live_wait(memtrace, 60), 0);
	live_destroy(memtrace);
	live_destroy(loader);
}

int main(void)
{
	live_require_root();
	RUN_WITH_RETURN_PROBES(a_library_of_many_processes);
	RUN(the_c_library_of_many_processes);
	return check_done();
}
