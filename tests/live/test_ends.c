/* SPDX-License-Identifier: Apache-2.0 */
/* All ways to end a run, and where the reports go. */
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define STANDS    "tracing pid"
#define TIMEOUT_S 30

static struct live_process *oracle;
static struct probes *probes_before;

/* Every test ends with this: the oracle answers, and no probe is left. */
static void check_untouched(void)
{
	CHECK(probes_gone(probes_before));
	oracle_do(oracle, "run keep 10 1");
	oracle_do(oracle, "run release 1 1");
}

static void check_last(const json_t *report, const char *cause, int sequence)
{
	CHECK_STR(json_string_value(live_get(report, "schema")), "memtrace-report");
	CHECK_INT(live_int(report, "version"), 1);
	CHECK_STR(json_string_value(live_get(report, "cause")), cause);
	CHECK_INT(live_int(report, "sequence"), sequence);
	CHECK(json_is_true(live_get(report, "final")));
	CHECK_INT(live_int(report, "target.pid"), live_pid(oracle));
	CHECK_STR(json_string_value(live_get(report, "target.command")), "oracle");
	CHECK(live_int(report, "target.vm_rss_bytes") > 0);
}

static void count_ends_the_run(void)
{
	long long since_ns = 0;
	double start_s = live_now_s();
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(oracle), "--format json --interval 0.3 --count 3");

	for (int i = 1; i <= 3; i++) {
		json_t *report = live_read_json(memtrace, TIMEOUT_S);

		REQUIRE(report);
		if (i == 3) {
			check_last(report, "count", 3);
		} else {
			CHECK_STR(json_string_value(live_get(report, "cause")),
				  "interval");
			CHECK(json_is_false(live_get(report, "final")));
			CHECK_INT(live_int(report, "sequence"), i);
		}
		since_ns += live_int(report, "since_previous_ns");
		json_decref(report);
	}
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	/* One report may come late, and the next one then after less than the
	 * interval. */
	CHECK(since_ns > 750000000);
	CHECK((double)since_ns < (live_now_s() - start_s) * 1e9);
	live_destroy(memtrace);
	check_untouched();
}

static void duration_ends_the_run(void)
{
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(oracle), "--format json -i 3600 --duration 2");

	REQUIRE(live_wait_stderr(memtrace, STANDS, TIMEOUT_S));
	double start_s = live_now_s();
	json_t *report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	double took_s = live_now_s() - start_s;
	CHECK(took_s > 1);
	check_last(report, "duration", 1);
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	check_untouched();
}

static void check_signal(int signal, const char *options)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);

	oracle_do(oracle, "run keep 100 1");
	live_signal(memtrace, signal);
	json_t *report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	check_last(report, "stopped", 1);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100);
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	oracle_do(oracle, "run release 1 1");
	check_untouched();
}

static void ctrl_c_and_sigterm_end_the_run(void)
{
	check_signal(SIGINT, "");
	check_signal(SIGTERM, "");
	check_signal(SIGINT, "--attach perf");
	check_signal(SIGTERM, "--attach perf --mappings");
}

static void sigusr1_reports_now(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	for (int i = 1; i <= 5; i++) {
		oracle_do(oracle, "run keep 100 1");
		json_t *report = memtrace_report(memtrace);
		CHECK_STR(json_string_value(live_get(report, "cause")), "demand");
		CHECK(json_is_false(live_get(report, "final")));
		CHECK_INT(live_int(report, "sequence"), i);
		CHECK_INT(live_int(report, "heap.live_blocks"), 100 * i);
		const json_t *row = json_array_get(live_get(report, "heap.stacks"), 0);
		REQUIRE(row);
		if (i > 1)
			CHECK_INT(live_int(row, "growth_blocks"), 100);
		json_decref(report);
	}
	json_t *report = memtrace_stop(memtrace);
	check_last(report, "stopped", 6);
	json_decref(report);
	oracle_do(oracle, "run release 1 1");
	check_untouched();
}

/* Signals in quick succession: none is lost, and none does harm. */
static void signals_in_a_row(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	for (int i = 0; i < 20; i++)
		live_signal(memtrace, SIGUSR1);
	live_signal(memtrace, SIGTERM);
	bool final = false;
	json_t *report;
	while ((report = live_read_json(memtrace, TIMEOUT_S))) {
		CHECK(!final);
		final = json_is_true(live_get(report, "final"));
		json_decref(report);
	}
	CHECK(final);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	check_untouched();
}

static void check_exit(bool kill_it)
{
	struct live_process *target = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	oracle_do(target, "run keep 500 1");
	if (kill_it)
		live_signal(target, SIGKILL);
	else
		live_send(target, "quit");
	json_t *report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	CHECK(json_is_true(live_get(report, "final")));
	CHECK(json_is_true(live_get(report, "target.exited")));
	CHECK_INT(report_site(report, "heap", "site_keep").blocks, 500);
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(target);
	check_untouched();
}

static void exit_of_the_target_ends_the_run(void)
{
	check_exit(false);
	check_exit(true);
}

static void kill_under_load(const char *options)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);

	/* Checks that the search for probes finds attached ones. */
	CHECK(probes_new(probes_before) > 0);
	live_send(oracle, "churn 1 8");
	live_sleep(0.3);
	live_signal(memtrace, SIGKILL);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGKILL);
	live_destroy(memtrace);
	json_t *done = live_read_json(oracle, TIMEOUT_S);
	REQUIRE(done);
	json_decref(done);
	check_untouched();
}

/* kill -9 at any moment leaves no probe, and the target keeps running. */
static void kill_9_leaves_nothing(void)
{
	static const double moments_s[] = {0.005, 0.02, 0.06, 0.12, 0.2, 0.3, 0.45};

	for (size_t i = 0; i < sizeof(moments_s) / sizeof(moments_s[0]); i++) {
		struct live_process *memtrace =
			memtrace_start_plain(live_pid(oracle), i % 2 ? "--no-cache" : "");

		live_sleep(moments_s[i]);
		live_signal(memtrace, SIGKILL);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGKILL);
		live_destroy(memtrace);
		check_untouched();
	}
	kill_under_load("");
	kill_under_load("--attach perf");
}

/* The reader closed the pipe, as `head` does: the run ends quietly and cleans up. */
static void closed_output_ends_the_run(void)
{
	static const char *const formats[] = {"json", "text", "brief"};

	for (size_t i = 0; i < 3; i++) {
		struct live_process *memtrace;
		char options[64];

		snprintf(options, sizeof(options), "-i 0.2 --format %s", formats[i]);
		memtrace = memtrace_start(live_pid(oracle), options);
		live_close_stdout(memtrace);
		CHECK_INT(live_wait(memtrace, 10), 128 + SIGPIPE);
		CHECK(!strstr(live_stderr(memtrace), "cannot write"));
		live_destroy(memtrace);
		check_untouched();
	}
}

static unsigned count_reports(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned count = 0;
	json_t *report;

	REQUIRE(file);
	while ((report = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
		CHECK_STR(json_string_value(live_get(report, "schema")),
			  "memtrace-report");
		json_decref(report);
		count++;
	}
	fclose(file);
	return count;
}

static struct live_process *write_to(const char *path, const char *options)
{
	char words[256];

	snprintf(words, sizeof(words), "--format json -i 0.2 %s -o %s", options, path);
	return memtrace_start_plain(live_pid(oracle), words);
}

static void output_file(void)
{
	char *path = live_path("report");
	struct live_process *memtrace = write_to(path, "-n 2");

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	CHECK_INT(count_reports(path), 2);

	/* memtrace does not overwrite an existing file. */
	memtrace = write_to(path, "-n 1");
	int status = live_wait(memtrace, TIMEOUT_S);
	CHECK(status == 1 || status == 2);
	CHECK_CONTAINS(live_stderr(memtrace), path);
	CHECK_CONTAINS(live_stderr(memtrace), "-f");
	live_destroy(memtrace);
	CHECK_INT(count_reports(path), 2);

	memtrace = write_to(path, "-n 1 -f");
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	CHECK_INT(count_reports(path), 1);
	free(path);
	check_untouched();
}

static regex_t compiled(const char *pattern)
{
	regex_t regex;

	REQUIRE(!regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB));
	return regex;
}

/* The lines that scripts know from memleak. */
static void text_is_memleaks(void)
{
	regex_t head = compiled("^\\[[0-9]{2}:[0-9]{2}:[0-9]{2}\\] Top [0-9]+ stacks "
				"with outstanding allocations:");
	regex_t stack = compiled("^\t[0-9]+ bytes in [0-9]+ allocations from stack");
	regex_t frame = compiled("^\t\t0x[0-9a-f]{16}\t.+\\+0x[0-9a-f]+ \\[[^]]+\\]"
				 "( at [^ ]+:[0-9]+)?$");
	regex_t inlined = compiled("^\t\t0x[0-9a-f]{16}\t.+ \\[inlined\\] \\[[^]]+\\]"
				   " at [^ ]+:[0-9]+$");
	regex_t unknown = compiled("^\t\t0x[0-9a-f]{16}\t\\[.+\\]$");
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(oracle), "--older 0 -i 3600");
	unsigned heads = 0, stacks = 0, frames = 0;
	static const char row[] = "\t130816 bytes in 512 allocations from stack";
	bool found = false;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, STANDS, TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		heads += !regexec(&head, line, 0, NULL, 0);
		stacks += !regexec(&stack, line, 0, NULL, 0);
		if (!strncmp(line, "\t\t0x", 4)) {
			frames++;
			if (regexec(&frame, line, 0, NULL, 0) &&
			    regexec(&inlined, line, 0, NULL, 0) &&
			    regexec(&unknown, line, 0, NULL, 0))
				CHECK_FAIL("not a frame as memleak has it: %s", line);
		}
		/* 0 + 1 + ... + 511 bytes, with the call site below. */
		found = found || !strncmp(line, row, strlen(row));
		free(line);
	}
	CHECK_INT(heads, 1);
	CHECK_INT(stacks, 1);
	CHECK(frames >= 2);
	CHECK(found);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	oracle_do(oracle, "run release 1 1");
	regfree(&head);
	regfree(&stack);
	regfree(&frame);
	regfree(&inlined);
	regfree(&unknown);
	check_untouched();
}

static void quiet_and_dry_run(void)
{
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(oracle), "-q -i 0.2 -n 1");
	char *line;

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_STR(live_stderr(memtrace), "");
	live_destroy(memtrace);

	memtrace = memtrace_start_plain(live_pid(oracle), "--dry-run");
	bool has_malloc = false;
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		has_malloc = has_malloc || strstr(line, "malloc");
		free(line);
	}
	CHECK(has_malloc);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	check_untouched();
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	oracle = oracle_start();
	RUN(count_ends_the_run);
	RUN(duration_ends_the_run);
	RUN(ctrl_c_and_sigterm_end_the_run);
	RUN(sigusr1_reports_now);
	RUN(signals_in_a_row);
	RUN(exit_of_the_target_ends_the_run);
	RUN(kill_9_leaves_nothing);
	RUN(closed_output_ends_the_run);
	RUN(output_file);
	RUN(text_is_memleaks);
	RUN(quiet_and_dry_run);
	live_destroy(oracle);
	probes_destroy(probes_before);
	return check_done();
}
