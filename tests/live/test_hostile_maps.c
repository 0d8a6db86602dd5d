// SPDX-License-Identifier: Apache-2.0
/*
 * Targets whose mappings, text and symbols have no end, or change all the time: memtrace
 * stays small, goes on, and counts what it left out.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "large_elf.h"
#include "live/files.h"
#include "live/room.h"
#include "live/trace.h"

/* --- mappings without end ---------------------------------------------------------- */

static int64_t rss_mib(const struct live_process *process)
{
	char *status = files_read("/proc/%d/status", live_pid(process));
	const char *line = strstr(status, "VmHWM:");
	int64_t kib = line ? strtoll(line + 6, NULL, 10) : -1;

	free(status);
	return kib / 1024;
}

/* All 30 blocks have their stack. But if memtrace gets no processor for a while, the
 * kernel's reports of so many mappings are lost. Then rules may be out of date, and the
 * mappings cannot be read: the 20 later stacks are cut, and counted: as
 * walks_over_budget if reading the mappings has used up the processor time, else as
 * walks_lost. */
static void check_whole_or_counted(const json_t *report)
{
	int64_t cut = live_int(report, "losses.walks_lost") +
		      live_int(report, "losses.walks_over_budget");
	int64_t whole = report_site(report, "heap", "site_allocate").blocks;

	CHECK_INT(live_int(report, "heap.live_blocks"), 30);
	if ((cut && cut != 20) || whole + cut != 30) {
		CHECK_FAIL("%" PRId64 " whole stacks, %" PRId64 " cut", whole, cut);
		json_dumpf(live_get(report, "losses"), stdout, 0);
		puts("");
	}
}

/* /proc/PID/maps has gigabytes of text: memtrace does not read it all, says so once, and
 * keeps counting. */
static void mappings_that_cannot_be_read(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S), *report;

	REQUIRE(ready);
	json_decref(ready);

	struct live_process *memtrace = memtrace_start(live_pid(target), "--no-lines");

	oracle_do(target, "allocate 10");
	json_decref(memtrace_report(memtrace));
	oracle_do(target, "map 60000");
	oracle_do(target, "allocate 20");
	report = memtrace_report(memtrace);
	check_whole_or_counted(report);
	CHECK_INT(live_int(report, "losses.mappings_unread"), 1);
	json_decref(report);

	json_decref(memtrace_report(memtrace));

	const char *said = strstr(live_stderr(memtrace), "mappings cannot be read");

	CHECK(said && !strstr(said + 1, "mappings cannot be read"));
	printf("     at most %" PRId64 " MiB\n", rss_mib(memtrace));
	CHECK(rss_mib(memtrace) < 700);
	report = memtrace_stop(memtrace);
	check_whole_or_counted(report);
	json_decref(report);
	live_destroy(target);
}

/* As many mappings as the kernel allows, with short names: memtrace reads them all, and
 * reports have symbols as usual. */
static void as_many_mappings_as_there_can_be(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	double start_s;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "itself 65000");
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	start_s = check_now_s();
	for (int i = 0; i < 3; i++)
		json_decref(memtrace_report(memtrace));
	printf("     3 reports: %.1f s, at most %" PRId64 " MiB\n",
	       check_now_s() - start_s, rss_mib(memtrace));
	CHECK(check_now_s() - start_s < 30);
	CHECK(rss_mib(memtrace) < 400);
	/* No mapping is left out. */
	CHECK(!strstr(live_stderr(memtrace), "of its mappings"));
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	json_decref(report);
	live_destroy(target);
}

/* --- text that changes all the time ------------------------------------------------- */

static void text_that_changes_all_the_time(void)
{
	const char *const argv[] = {REWRITER_BINARY, LOADED_MALLOC, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *report = live_read_json(target, TIMEOUT_S);

	REQUIRE(report);
	json_decref(report);
	/* The second run finds the changes that the first has left in the target. */
	for (int run = 0; run < 2; run++) {
		memtrace = memtrace_start(live_pid(target), "");
		oracle_do(target, "allocate");
		for (int i = 0; i < 3; i++)
			json_decref(memtrace_report(memtrace));
		oracle_do(target, "allocate");
		report = memtrace_stop(memtrace);
		CHECK_INT(report_site(report, "heap", "site_rewriter").blocks, 200);
		CHECK_INT(report_site(report, "heap", "site_rewriter").bytes, 200 * 64);
		json_decref(report);
		CHECK(live_is_running(target));
		CHECK(probes_gone(probes_before));
	}
	live_destroy(target);
}

/* The largest memory use of a child of memtrace. */
static int64_t children_rss_mib(const struct live_process *memtrace)
{
	char *children = files_read("/proc/%d/task/%d/children", live_pid(memtrace),
				    live_pid(memtrace));
	int64_t most = 0;

	for (char *at = strtok(children, " "); at; at = strtok(NULL, " ")) {
		char *status = files_read_if_any("/proc/%d/status", atoi(at));
		const char *line = status ? strstr(status, "VmHWM:") : NULL;
		int64_t mib = line ? strtoll(line + 6, NULL, 10) / 1024 : 0;

		most = mib > most ? mib : most;
		free(status);
	}
	free(children);
	return most;
}

/* The symbol table is a hole in the file. memtrace does not read it, says so once, and
 * needs no memory for it in any of its processes. */
static void a_symbol_table_of_2_gib(void)
{
	char top[] = "/tmp/memtrace-test-XXXXXX", path[48] = "/tmp/memtrace-large-XXXXXX";

	REQUIRE(mkdtemp(top));
	close(mkstemp(path));
	close(large_elf_make(path, ((uint64_t)2 << 30) / sizeof(Elf64_Sym)));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	const char *said;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "library %s", path);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	json_decref(memtrace_report(memtrace));
	printf("     at most %" PRId64 " MiB, its children %" PRId64 " MiB\n",
	       rss_mib(memtrace), children_rss_mib(memtrace));
	CHECK(rss_mib(memtrace) < 300);
	CHECK(children_rss_mib(memtrace) < 300);
	said = strstr(live_stderr(memtrace), "symbol tables of more than 256 MiB");
	CHECK(said && !strstr(said + 1, "symbol tables of more than 256 MiB"));
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	json_decref(report);
	live_destroy(target);
	unlink(path);
}

/* The process maps more files than memtrace opens. memtrace still finds the C library. */
static void files_without_end(void)
{
	enum {
		files = 5000,
		opened = 1024 /* OPENED_MAX of allocator/allocator.c */
	};
	char top[] = "/tmp/memtrace-test-XXXXXX";

	REQUIRE(mkdtemp(top));

	const char *const argv[] = {MANY_MAPS_BINARY, top, NULL};
	struct live_process *target = live_start(argv), *memtrace;
	json_t *report;

	json_decref(live_read_json(target, TIMEOUT_S));
	oracle_do(target, "files %d", files);
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate 20");
	json_decref(memtrace_report(memtrace));
	CHECK_CONTAINS(live_stderr(memtrace), "of its mappings have no function names");
	report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_allocate").blocks, 20);
	/* The files that memtrace did not open are counted. */
	CHECK(live_int(report, "losses.files_untraced") >= files - opened);
	json_decref(report);
	live_destroy(target);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(mappings_that_cannot_be_read);
	RUN(as_many_mappings_as_there_can_be);
	RUN(text_that_changes_all_the_time);
	RUN(a_symbol_table_of_2_gib);
	RUN(files_without_end);
	CHECK(probes_gone(probes_before));
	probes_destroy(probes_before);
	return check_done();
}
