// SPDX-License-Identifier: Apache-2.0
/*
 * Limits on memory, descriptors and file sizes, reached at each step of the start and
 * later. memtrace says so in one line and continues if it can. A report that is not
 * complete must say so.
 */
#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TIMEOUT_S 60

static struct probes *probes_before;
static struct live_process *target;

/* Runs memtrace briefly with this limit. Returns its status; *ret has its stderr. */
static int run_limited(const char *limit, struct live_process **ret)
{
	char pid[16], option[64];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));
	snprintf(option, sizeof(option), "--%s", limit);

	const char *const argv[] = {"prlimit", option, memtrace_path, "--pid", pid,
				    "-d",      "1",    "--format",    "json",  NULL};

	*ret = live_start(argv);
	return live_wait(*ret, TIMEOUT_S);
}

/* memtrace must trace, or say in one line why not: at once, or at the first report. */
static void check_limited(const char *limit, const char *why)
{
	struct live_process *memtrace;
	int status = run_limited(limit, &memtrace);
	const char *text = live_stderr(memtrace), *line = text;

	if (!strncmp(line, "memtrace: tracing pid", 21) && strchr(line, '\n'))
		line = strchr(line, '\n') + 1;

	bool is_line = !strncmp(line, "memtrace: ", 10) &&
		       strchr(line, '\n') == line + strlen(line) - 1;

	if (status != 0 && status != 1)
		CHECK_FAIL("%s: status %d", limit, status);
	if (!status)
		CHECK_CONTAINS(text, "tracing pid");
	else if (!is_line || !strstr(line, why))
		CHECK_FAIL("%s: %s", limit, text);
	CHECK(probes_gone(probes_before));
	live_destroy(memtrace);
}

static void descriptors_at_the_start(void)
{
	static const unsigned too_few[] = {8, 16, 64, 127};

	for (size_t i = 0; i < sizeof(too_few) / sizeof(*too_few); i++) {
		char limit[64];

		snprintf(limit, sizeof(limit), "nofile=%u:%u", too_few[i], too_few[i]);
		check_limited(limit, "ulimit -Hn 128");
	}
	/* memtrace raises the soft limit. */
	check_limited("nofile=16:4096", "?");
	check_limited("nofile=128:128", "?");
}

static void memory_at_the_start(void)
{
	for (unsigned mib = 40; mib <= 400; mib += 24) {
		char limit[64];

		snprintf(limit, sizeof(limit), "as=%u:%u", mib << 20, mib << 20);
		check_limited(limit, "memory");
	}
}

/* There must be a final report, and the status must say that something is missing. */
static void check_ends_with_1(struct live_process *memtrace)
{
	json_t *report;

	live_signal(memtrace, SIGINT);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK(json_is_true(live_get(report, "final")));
	CHECK(json_is_false(live_get(report, "complete")));
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace),
		       "file descriptors ran out, and not everything was traced");
	live_destroy(memtrace);
}

#define COPIES 100

/* The target loads more libraries with an allocator than memtrace can probe. */
static void descriptors_run_out(void)
{
	struct live_process *loader = target_start(LOADER_BINARY), *memtrace;
	char *library = live_path("library.so"), pid[16];
	json_t *report;
	unsigned traced, said;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(loader));

	const char *const argv[] = {"prlimit",     "--nofile=150:150",
				    memtrace_path, "--pid",
				    pid,           "--format",
				    "json",        "-i",
				    "3600",        NULL};

	files_copy(LOADED_MALLOC, library);
	memtrace = live_start(argv);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(loader, "hold %s %d", library, COPIES);
	report = memtrace_report(memtrace);
	traced = live_count(live_stderr(memtrace), "functions are traced from now on");
	CHECK_INT(live_int(report, "losses.files_untraced"), COPIES - traced);
	/* One line about files that memtrace could not read, one about files that it
	 * could not probe. */
	said = live_count(live_stderr(memtrace), ": Too many open files") +
	       live_count(live_stderr(memtrace), ": too few file descriptors");
	CHECK(said == 1 || said == 2);
	CHECK(json_is_false(live_get(report, "complete")));
	json_decref(report);
	/* Files that were traced before still are. */
	oracle_do(loader, "cycle %s 1", library);
	check_ends_with_1(memtrace);
	CHECK(live_is_running(loader));
	CHECK(probes_gone(probes_before));
	live_destroy(loader);
	free(library);
}

/* There are more processes than memtrace has descriptors for. */
static void descriptors_run_out_for_processes(void)
{
	const char *const argv[] = {"prlimit",     "--nofile=150:150",
				    memtrace_path, "--follow-forks",
				    "--format",    "json",
				    "-i",          "3600",
				    "--",          SPAWNER_BINARY,
				    "1",           "150",
				    "1500",        NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK(live_int(report, "losses.processes_full") > 0);
	CHECK(json_is_false(live_get(report, "complete")));
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_INT(live_count(live_stderr(memtrace), "no file descriptor is left"), 1);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

/* The kernel refuses memtrace's epoll watches. memtrace polls instead, and notices the
 * end of the target. */
static void watches_run_out_with(const char *option, const char *value)
{
	struct live_process *oracle = oracle_start(), *memtrace;
	char pid[16];
	json_t *report;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));

	const char *const argv[] = {WITHOUT_WATCHES_BINARY,
				    memtrace_path,
				    "--pid",
				    pid,
				    "--format",
				    "json",
				    "-i",
				    "3600",
				    option,
				    value,
				    NULL};

	memtrace = live_start(argv);
	if (!live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S))
		CHECK_FAIL("status %d: %s", live_wait(memtrace, 1),
			   live_stderr(memtrace));
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
	report = live_read_json(memtrace, TIMEOUT_S);
	if (report) {
		CHECK_INT(live_int(report, "heap.live_blocks"), 10);
		CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	} else {
		CHECK_FAIL("no report");
	}
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_INT(live_count(live_stderr(memtrace), "cannot report when processes exit"),
		  1);
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
}

/* The rings of the unwinder, of the checks and of perf events need no watch. */
static void watches_run_out(void)
{
	watches_run_out_with("--attach", "auto");
	watches_run_out_with("--attach", "perf");
	watches_run_out_with("--mappings", NULL);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	target = oracle_start();
	RUN(descriptors_at_the_start);
	RUN(memory_at_the_start);
	RUN(descriptors_run_out);
	RUN(descriptors_run_out_for_processes);
	RUN(watches_run_out);
	live_destroy(target);
	probes_destroy(probes_before);
	return check_done();
}
