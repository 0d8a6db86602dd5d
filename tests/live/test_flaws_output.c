// SPDX-License-Identifier: Apache-2.0
/*
 * The known flaws of BCC's memleak in what it prints, and in how it ends: one test for
 * each. The comment of a test says how the test would fail with the flaw.
 */
#include <signal.h>
#include <sys/stat.h>

#include "check.h"
#include "live/flaws_trace.h"
#include "live/trace.h"

/*
 * 9. The stack is taken when the call returns, by frame pointers only: a caller without a
 * frame pointer would be missing. 11. Names are cut at 31 characters: the long name would
 * not be found.
 */
static void flaw_9_and_11_the_caller_is_shown_whole(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run names 100 1");
	check_exact(&traced, NULL);
	json_decref(stop(&traced));
}

/* 11. One missing symbol ends the run: the allocator in this test has only four
 * functions. 5. Its realloc and calloc call its malloc. */
static void flaw_11_missing_functions_are_tolerated(void)
{
	struct live_process *target = target_start(OWN_MALLOC_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap", "site_own_malloc").blocks, 100);
	CHECK_INT(report_site(report, "heap", "site_own_malloc").bytes, 2400);
	CHECK_INT(report_site(report, "heap", "site_own_calloc").bytes, 3000);
	CHECK_INT(report_site(report, "heap", "site_own_realloc").bytes, 7000);
	CHECK_INT(live_int(report, "heap.live_blocks"), 300);
	CHECK_INT(live_int(report, "heap.live_bytes"), 12400);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(target);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many addresses the report lists more than once. */
static unsigned repeated_addresses(const json_t *report)
{
	size_t count = 0, i, k, n = 0;
	const json_t *row, *block;
	unsigned repeated = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		count += json_array_size(live_get(row, "allocations"));
	const char **addresses = calloc(count + 1, sizeof(*addresses));
	REQUIRE(addresses);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		json_array_foreach (live_get(row, "allocations"), k, block)
			addresses[n++] = json_string_value(live_get(block, "address"));
	}
	CHECK_INT(n, live_int(report, "heap.listed_blocks"));
	qsort(addresses, n, sizeof(*addresses), compare_strings);
	for (i = 1; i < n; i++)
		repeated += !strcmp(addresses[i - 1], addresses[i]);
	free(addresses);
	return repeated;
}

/* The repeated addresses of reports that are made while eight threads allocate and free
 * for some seconds. */
static unsigned repeated_in_churn(const struct traced *traced, int seconds,
				  unsigned *reports)
{
	double until_s = live_now_s() + seconds - 0.5;
	unsigned repeated = 0;

	live_send(traced->oracle, "churn %d 8", seconds);
	while (live_now_s() < until_s) {
		json_t *report = memtrace_report(traced->memtrace);

		repeated += repeated_addresses(report);
		CHECK_INT(report_site(report, "heap", "site_keep").blocks, 20000);
		json_decref(report);
		++*reports;
	}
	json_t *done = live_read_json(traced->oracle, 60);
	REQUIRE(done);
	json_decref(done);
	return repeated;
}

/* 12. Reading a table while it changes starts over: an address would be listed twice.
 * After the churn the counts must be exact. */
static void no_duplicates_under_load(const char *options, int seconds)
{
	struct traced traced = trace(options);
	unsigned reports = 0, repeated = 0;

	oracle_do(traced.oracle, "run keep 20000 1");
	/* On a busy machine a report may take as long as the churn. */
	for (int i = 0; i < 10 && reports < 2; i++)
		repeated += repeated_in_churn(&traced, seconds, &reports);
	CHECK(reports >= 2);
	CHECK_INT(repeated, 0);
	json_t *truth = oracle_ask(traced.oracle, "truth");
	json_t *report = memtrace_report(traced.memtrace);
	CHECK_INT(compare_totals(truth, report), 0);
	json_decref(truth);
	json_decref(report);
	check_exact(&traced, NULL);
	printf("%u reports under load\n", reports);
	json_decref(stop(&traced));
}

static void flaw_12_no_duplicates_under_load(void)
{
	no_duplicates_under_load("--show-allocs", 5);
	/* Hash tables: changes during a report come through a ring buffer. */
	no_duplicates_under_load("--show-allocs --tables hashes", 2);
}

/* 13. No message when the target exits: there would be no report with cause "exited". */
static void flaw_13_exit_is_reported(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run keep 1000 1");
	json_t *truth = oracle_ask(traced.oracle, "truth");
	live_send(traced.oracle, "quit");
	json_t *report = live_read_json(traced.memtrace, 30);
	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	CHECK(json_is_true(live_get(report, "final")));
	CHECK(json_is_true(live_get(report, "target.exited")));
	CHECK_INT(compare_heap(truth, report, false), 0);
	CHECK_INT(live_wait(traced.memtrace, 30), 0);
	json_decref(truth);
	json_decref(report);
	live_destroy(traced.memtrace);
	live_destroy(traced.oracle);
}

/* 13. Ctrl-C prints no final report: memtrace_stop() would find none. A forked child is
 * confused with its parent: the blocks that the child frees would be missing. */
static void flaw_13_ctrl_c_and_fork(void)
{
	struct traced traced = trace("");

	oracle_do(traced.oracle, "run fork 1000 1");
	json_t *truth = oracle_ask(traced.oracle, "truth");
	json_t *report = stop(&traced);
	CHECK_STR(json_string_value(live_get(report, "cause")), "stopped");
	CHECK(json_is_true(live_get(report, "final")));
	CHECK(json_is_false(live_get(report, "target.exited")));
	CHECK_INT(compare_heap(truth, report, false), 0);
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 1000);
	json_decref(truth);
	json_decref(report);
}

static void replace_bytes(char *bytes, size_t size, const char *from, const char *to)
{
	size_t length = strlen(from);
	unsigned found = 0;
	char *at;

	REQUIRE(strlen(to) == length);
	while ((at = memmem(bytes, size, from, length))) {
		memcpy(at, to, length);
		found++;
	}
	REQUIRE(found);
}

/* Writes a copy of the program, and patches its odd names to be odder. */
static void write_odd_program(const char *path)
{
	FILE *in = fopen(ODD_NAMES_BINARY, "re"), *out = fopen(path, "we");
	static char bytes[1 << 20];

	REQUIRE(in && out);
	size_t size = fread(bytes, 1, sizeof(bytes), in);
	REQUIRE(size && size < sizeof(bytes));
	replace_bytes(bytes, size, "XESCX", "\033[31m");
	replace_bytes(bytes, size, "XBADX", "\xff\xfe\xc3(\x80");
	REQUIRE(fwrite(bytes, 1, size, out) == size);
	fclose(in);
	REQUIRE(!fchmod(fileno(out), 0755) && !fclose(out));
}

/* 14. A name that is not ASCII ends the run: there would be no report. The name must not
 * reach a terminal unchanged: then the text would contain an ESC byte. */
static void flaw_14_odd_names_are_escaped(void)
{
	char *path = live_path("odd_names");

	write_odd_program(path);
	struct live_process *target = target_start(path);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "work");
	json_t *report = memtrace_stop(memtrace);
	CHECK_INT(report_site(report, "heap",
			      "site_gr\xc3\xb6\xc3\x9f"
			      "e_\xe5\xa4\xa7")
			  .bytes,
		  100);
	CHECK_INT(live_int(report, "heap.live_bytes"), 600);
	/* JSON has its own escape for control characters. Invalid UTF-8 is escaped in the
	 * text. */
	CHECK(report_site(report, "heap", "site_\033[31m_end").bytes +
		      report_site(report, "heap", "site_\\x1b[31m_end").bytes ==
	      200);
	CHECK_INT(report_site(report, "heap", "site_\\xff\\xfe\\xc3(\\x80_end").bytes,
		  300);
	json_decref(report);

	memtrace = memtrace_start_plain(live_pid(target), "--older 0 -i 3600");
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", 30));
	oracle_do(target, "work");
	live_signal(memtrace, SIGINT);
	unsigned escapes = 0, shown = 0;
	char *line;
	while ((line = live_read_line(memtrace, 30))) {
		escapes += strchr(line, '\033') != NULL;
		shown += strstr(line, "site_\\x1b[31m_end") ||
			 strstr(line, "site_\\xff\\xfe\\xc3(\\x80_end") ||
			 strstr(line, "site_gr\xc3\xb6\xc3\x9f"
				      "e_\xe5\xa4\xa7");
		free(line);
	}
	CHECK_INT(escapes, 0);
	CHECK_INT(shown, 3);
	CHECK_INT(live_wait(memtrace, 30), 0);
	live_destroy(memtrace);
	live_destroy(target);
	free(path);
}

int main(void)
{
	live_require_root();
	RUN(flaw_9_and_11_the_caller_is_shown_whole);
	RUN_WITH_RETURN_PROBES(flaw_11_missing_functions_are_tolerated);
	RUN(flaw_12_no_duplicates_under_load);
	RUN(flaw_13_exit_is_reported);
	RUN(flaw_13_ctrl_c_and_fork);
	RUN(flaw_14_odd_names_are_escaped);
	return check_done();
}
