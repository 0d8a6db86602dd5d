// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks in packaged programs at work. What it calls lost is
 * not freed later; and a leak that a preloaded library adds is found by its call path.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/preload.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define SEARCHES 5

/* A program that works for as long as it runs: `line` is sent to it first. */
struct program {
	const char *name;
	const char *const *argv;
	const char *line;
};

static const char *const python_argv[] = {"/usr/bin/python3", "-i", "-q", NULL};
static const char *const sqlite_argv[] = {"sqlite3", ":memory:", NULL};

static const struct program programs[] = {
	/* Each object in a block of malloc. */
	{"python3", python_argv,
	 "import os, sys\n"
	 "n = os.open('/dev/null', os.O_WRONLY)\n"
	 "def work():\n"
	 "  keep = {}\n"
	 "  for i in range(10**9):\n"
	 "    keep[i % 5000] = [bytes(600 + i % 300), str(i) * 200]\n"
	 "    os.write(n, b'x')\n"
	 "\n"
	 "work()"},
	{"sqlite3", sqlite_argv,
	 "create table t(a integer primary key, b text);\n"
	 "insert into t with recursive c(i) as (select 1 union all select i + 1 from c "
	 "where "
	 "i < 1000000000) select i, hex(randomblob(300)) from c;"},
};

/* What the search says of the call path through drop_pointer(). */
static int64_t dropped(const json_t *report, const char *key)
{
	const json_t *row;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		if (row_has_symbol(row, "drop_pointer"))
			sum += strcmp(key, "blocks")
				       ? json_integer_value(json_object_get(
						 json_object_get(row, "unreachable"),
						 key))
				       : live_int(row, "blocks");
	return sum;
}

static void search(const struct program *program, const char *library)
{
	struct live_process *target = preload_start(library, program->argv), *memtrace;
	json_t *report = NULL;
	int64_t lost = 0, freed = 0;

	live_sleep(0.5);
	live_send(target, "%s", program->line);
	live_sleep(0.5);
	memtrace = memtrace_start(live_pid(target), "--unreachable");
	for (int i = 0; i < SEARCHES; i++) {
		live_sleep(0.5);
		json_decref(report);
		report = memtrace_report(memtrace);
		CHECK_INT(live_int(report, "heap.search.unsearched"), 0);
		if (live_int(report, "heap.search.unsearched"))
			fprintf(stderr, "%s", live_stderr(memtrace));
		CHECK(live_is_running(target));
	}
	lost = live_int(report, "heap.search.lost_blocks");
	freed = live_int(report, "heap.search.lost_but_freed_blocks");
	printf("%s: %" PRId64 " blocks live, %" PRId64 " lost, %" PRId64
	       " freed later, %" PRId64 " dropped, stopped for %.1f ms\n",
	       program->name, live_int(report, "heap.live_blocks"), lost, freed,
	       dropped(report, "blocks"),
	       (double)live_int(report, "heap.search.pause_ns") / 1e6);
	CHECK_INT(freed, 0);
	if (library) {
		int64_t blocks = dropped(report, "blocks");

		CHECK(blocks > 100);
		/* The others are hidden by old values in memory, or by glibc's pointers
		 * to their ends: 3 % in python3, 10 % in sqlite3. */
		CHECK(dropped(report, "lost_blocks") >= blocks / 2);
	}
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	CHECK(live_is_running(target));
	live_destroy(target);
}

static void what_is_lost_is_not_freed(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		search(&programs[i], NULL);
}

static void a_leak_is_found(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		search(&programs[i], DROPPER_LIBRARY);
}

int main(void)
{
	live_require_root();
	if (access("/usr/bin/python3", X_OK) || system("command -v sqlite3 >/dev/null"))
		check_skip("no python3 and sqlite3 (packages python3-minimal, sqlite3)");
	RUN(what_is_lost_is_not_freed);
	RUN(a_leak_is_found);
	return check_done();
}
