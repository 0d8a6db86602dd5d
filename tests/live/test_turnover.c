// SPDX-License-Identifier: Apache-2.0
/* Libraries that are loaded and unloaded again and again: memtrace's resources must not
 * grow. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/files.h"
#include "live/taken.h"
#include "live/trace.h"

#define CYCLES 200

/* MEMTRACE_TEST_TURNOVER overrides the number of libraries, for example with 100000. */
static int copies(void)
{
	const char *text = getenv("MEMTRACE_TEST_TURNOVER");

	return text ? atoi(text) : live_is_long() ? 1500 : 500;
}

/* Is it an expected loss? Addresses of copies are reused, and a copy may be unloaded
 * before it is probed. Of very many copies, unwind rules exceed --unwind-cpu. */
static bool may_be_lost(const char *loss)
{
	static const char *const names[] = {"blocks_replaced", "walks_lost",
					    "files_untraced"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(loss, names[i]))
			return true;
	return copies() > 10000 && !strcmp(loss, "walks_over_budget");
}

/* How many blocks of the libraries memtrace has seen. They are never freed: each is
 * listed, or another block has replaced it at its address. */
static int64_t blocks_seen(struct live_process *memtrace)
{
	json_t *report = memtrace_report(memtrace), *value;
	int64_t count = report_site(report, "heap", "site_in_library").blocks +
			live_int(report, "losses.blocks_replaced");
	const char *name;

	json_object_foreach(live_get(report, "losses"), name,
			    value) if (json_integer_value(value) && !may_be_lost(name))
		CHECK_FAIL("%s is %" PRId64, name, (int64_t)json_integer_value(value));
	json_decref(report);
	return count;
}

static void libraries_that_come_and_go(const char *options)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("library.so"), *copied = live_path("copied.so");
	struct taken before, after;
	double begin_s;
	int64_t count;

	files_copy(LOADED_MALLOC, library);
	files_copy(LOADED_MALLOC, copied);
	oracle_do(loader, "keep %s 1", library);
	memtrace = memtrace_start(live_pid(loader), options);
	oracle_do(loader, "turn %s 20", copied);
	blocks_seen(memtrace);
	before = taken_by(memtrace);

	oracle_do(loader, "turn %s %d", copied, copies());
	/* The next reports notice the unloaded libraries. Their probes are removed
	 * afterwards. */
	for (int i = 0; i < 3; i++) {
		begin_s = live_now_s();
		blocks_seen(memtrace);
		printf("     report %d took %.2f s\n", i + 1, live_now_s() - begin_s);
		live_sleep(1.2);
	}
	after = taken_by(memtrace);
	printf("     %d libraries: %d descriptors and %" PRId64 " KiB more\n", copies(),
	       (int)(after.files - before.files),
	       (int64_t)after.rss_kib - (int64_t)before.rss_kib);
	CHECK(after.files < before.files + 100);
	CHECK(after.links < before.links + 64);
	CHECK(after.rss_kib < before.rss_kib + 24 * 1024);

	/* A library that stayed traced, and one that is loaded again. */
	oracle_do(loader, "keep %s 1", library);
	count = blocks_seen(memtrace);
	oracle_do(loader, "again - 100");
	CHECK_INT(blocks_seen(memtrace), count + 100);
	oracle_do(loader, "keep %s 1", copied);
	REQUIRE(live_wait_stderr(memtrace, "copied.so: 2 functions are traced", 60));
	oracle_do(loader, "drop - 1");
	blocks_seen(memtrace);
	live_sleep(1.2);
	count = blocks_seen(memtrace);
	oracle_do(loader, "cycle %s %d", copied, CYCLES);
	CHECK_INT(blocks_seen(memtrace), count + CYCLES);
	json_decref(memtrace_stop(memtrace));
	live_destroy(loader);
	free(library);
	free(copied);
}

/* With unwind rules memtrace keeps unwind information of each library on a stack. */
static void libraries_of_one_process(void)
{
	libraries_that_come_and_go("-v");
}

static void libraries_of_a_family(void)
{
	libraries_that_come_and_go("--follow-forks -v");
}

static void libraries_without_rules(void)
{
	libraries_that_come_and_go("--unwind fp -v");
}

/* --- lines ------------------------------------------------------------------------ */

#define LISTED_MAX 64

/* LISTED_MAX - ALONE is a multiple of TOGETHER. */
#define ALONE    8
#define TOGETHER 8

/* How many lines name one of `count` libraries that are loaded. */
static unsigned lines_of(const char *options, int count, bool is_said)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("listed.so");
	unsigned lines;

	files_copy(LOADED_MALLOC, library);
	memtrace = memtrace_start(live_pid(loader), options);
	/* They stay loaded. memtrace sees them one by one, and then several at once. */
	for (int i = 0; i < count; i += i < ALONE ? 1 : TOGETHER) {
		oracle_do(loader, "hold %s %d", library, i < ALONE ? 1 : TOGETHER);
		json_decref(memtrace_report(memtrace));
	}
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, 60), 0);
	lines = live_count(live_stderr(memtrace), "2 functions are traced from now on");
	CHECK_INT(live_count(live_stderr(memtrace), "further ones are not listed"),
		  is_said);
	CHECK_INT(live_count(live_stderr(memtrace), "more libraries and programs were "
						    "loaded (-v lists all)"),
		  is_said);
	if (is_said)
		CHECK_CONTAINS(live_stderr(memtrace),
			       "memtrace: 16 more libraries and programs were loaded");
	live_destroy(memtrace);
	live_destroy(loader);
	free(library);
	return lines;
}

static void lines_are_bounded(void)
{
	CHECK_INT(lines_of("", LISTED_MAX, false), LISTED_MAX);
	CHECK_INT(lines_of("", LISTED_MAX + 16, true), LISTED_MAX);
	CHECK_INT(lines_of("-v", LISTED_MAX + 16, false), LISTED_MAX + 16);
}

/* --- looking at mappings ----------------------------------------------------------- */

/* Pairs; the kernel's default allows 65,530 mappings. */
#define MAPPINGS 32000
#define TRIES    5

static int64_t bytes_read_by(const struct live_process *process)
{
	char *text = files_read("/proc/%d/io", live_pid(process));
	const char *line = strstr(text, "rchar: ");
	int64_t bytes = line ? strtoll(line + 7, NULL, 10) : -1;

	free(text);
	return bytes;
}

/* A process that has loaded a library and maps nothing else since. A report reads its
 * mappings once: it makes no new plan, which would read them again. */
static void mappings_are_read_once(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("read.so"), *maps;
	int64_t before, bytes;
	bool is_once = false;

	files_copy(LOADED_MALLOC, library);
	/* With unwind rules the miss handler reads the mappings, too. */
	memtrace = memtrace_start(live_pid(loader), "--unwind fp");
	oracle_do(loader, "keep %s 1", library);
	REQUIRE(live_wait_stderr(memtrace, "2 functions are traced from now on", 60));
	oracle_do(loader, "map - %d", MAPPINGS);
	json_decref(memtrace_report(memtrace));
	live_sleep(1.2);
	maps = files_read("/proc/%d/maps", live_pid(loader));
	/* On a busy machine memtrace may still read for the report before. */
	for (int i = 0; i < TRIES && !is_once; i++) {
		before = bytes_read_by(memtrace);
		json_decref(memtrace_report(memtrace));
		live_sleep(1.2);
		bytes = bytes_read_by(memtrace) - before;
		printf("     %zu bytes of mappings, %" PRId64 " were read\n",
		       strlen(maps), bytes);
		is_once = bytes > (int64_t)strlen(maps) &&
			  bytes < (int64_t)strlen(maps) * 3 / 2;
	}
	CHECK(is_once);
	json_decref(memtrace_stop(memtrace));
	live_destroy(loader);
	free(maps);
	free(library);
}

/* --- names of allocators ------------------------------------------------------------ */

/* More libraries with allocators than have numbers (ABI_MAX_ALLOCATOR_NUMBERS is 255). */
#define LIBRARIES 260

/* Wait until so many lines say that a library is traced. */
static void await_traced(struct live_process *memtrace, unsigned count)
{
	double until_s = live_now_s() + 120;

	while (live_count(live_stderr(memtrace), "2 functions are traced") < count) {
		REQUIRE(live_now_s() < until_s);
		live_sleep(0.2);
	}
}

/* 100 blocks of the library that was loaded last: they are counted. Returns the name of
 * its allocator, owned; NULL: it has none. */
static char *allocator_of_last(struct live_process *loader, struct live_process *memtrace)
{
	json_t *report, *row;
	char *name = NULL;
	int64_t blocks = 0;
	size_t i;

	oracle_do(loader, "again - 100");
	report = memtrace_report(memtrace);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *site = row_site(row);

		/* The first library is not the last one any more. */
		if (!site || strcmp(site, "site_in_library") != 0 ||
		    live_int(row, "growth_blocks") < 100)
			continue;
		blocks += live_int(row, "growth_blocks");
		if (json_is_string(live_get(row, "allocator")))
			name = strdup(json_string_value(live_get(row, "allocator")));
	}
	CHECK_INT(blocks, 100);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	return name;
}

static void more_allocators_than_names(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("named.so"), *name;

	files_copy(LOADED_MALLOC, library);
	memtrace = memtrace_start(live_pid(loader), "-v");
	oracle_do(loader, "hold %s 1", library);
	await_traced(memtrace, 1);
	name = allocator_of_last(loader, memtrace);
	CHECK_CONTAINS(name, "named.so");
	free(name);
	oracle_do(loader, "hold %s %d", library, LIBRARIES - 1);
	await_traced(memtrace, LIBRARIES);
	oracle_do(loader, "hold %s 1", library);
	await_traced(memtrace, LIBRARIES + 1);
	CHECK(!allocator_of_last(loader, memtrace));
	json_decref(memtrace_stop(memtrace));
	live_destroy(loader);
	free(library);
}

int main(void)
{
	live_require_root();
	RUN_WITH_RETURN_PROBES(libraries_of_one_process);
	RUN_WITH_RETURN_PROBES(libraries_of_a_family);
	RUN_WITH_RETURN_PROBES(libraries_without_rules);
	RUN_WITH_RETURN_PROBES(lines_are_bounded);
	RUN_WITH_RETURN_PROBES(mappings_are_read_once);
	RUN_WITH_RETURN_PROBES(more_allocators_than_names);
	return check_done();
}
