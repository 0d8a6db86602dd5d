// SPDX-License-Identifier: Apache-2.0
/*
 * Whole stacks of code without frame pointers: of a program that knows its call paths,
 * frame by frame; and of stock programs, by how many of their blocks lead to the start of
 * the program or a thread.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMES 100

/* The names of a row's frames within the target's own code, joined by blanks; "?" for
 * frames of no module that is known. Owned. */
static char *own_names(const json_t *row)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	const json_t *frame;
	size_t i;

	REQUIRE(f);
	json_array_foreach (json_object_get(row, "frames"), i, frame) {
		const char *symbol = json_string_value(json_object_get(frame, "symbol"));
		const char *module = json_string_value(json_object_get(frame, "module"));

		/* Libraries may be gone, and their names with them. */
		if (!module || strstr(module, "/liblibrary_"))
			fputs("? ", f);
		else if (strstr(module, "/omitted") &&
			 strcmp(symbol ? symbol : "", "_start"))
			fprintf(f, "%s ", symbol ? symbol : "?");
	}
	fclose(f);
	return text;
}

/* Every block of `size` is on the call path `want`, which ends where a path ends. */
static void check_path(const json_t *report, int64_t size, int64_t blocks,
		       size_t max_rows, const char *want)
{
	const json_t *row;
	int64_t found = 0;
	size_t i, rows = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t n = live_int(row, "blocks");

		if (live_int(row, "size_bytes") != n * size)
			continue;

		char *names = own_names(row);
		const char *end = json_string_value(json_object_get(row, "end"));

		CHECK_STR(names, want);
		CHECK_STR(end, "complete");
		free(names);
		found += n;
		rows++;
	}
	CHECK_INT(found, blocks);
	CHECK(rows <= max_rows);
	printf("size %" PRId64 ": %" PRId64 " blocks in %zu rows\n", size, found, rows);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		live_fail("cannot write \"%s\" to %s", text, path);
	close(fd);
}

#define EVENTS "/sys/kernel/tracing/uprobe_events"
#define ENABLE "/sys/kernel/tracing/events/memtrace_test/outer/enable"

/* Another tool's return probe in the middle of a path. */
static void probe_outer(int64_t offset)
{
	char text[512];

	snprintf(text, sizeof(text), "r:memtrace_test/outer %s:0x%" PRIx64 "\n",
		 OMITTED_BINARY, (uint64_t)offset);
	write_file(EVENTS, text);
	write_file(ENABLE, "1");
}

static void unprobe_outer(void)
{
	write_file(ENABLE, "0");
	write_file(EVENTS, "-:memtrace_test/outer\n");
}

static void ask(struct live_process *target, const char *scenario)
{
	live_send(target, "%s", scenario);
	json_t *answer = live_read_json(target, 30);
	if (!answer)
		live_fail("no answer to %s", scenario);
	json_decref(answer);
}

static void known_paths(void)
{
	static const char *const scenarios[] = {"recursion", "qsort",  "signal",
						"thread",    "alloca", "realigned",
						"dlopen"};
	const char *const argv[] = {OMITTED_BINARY, LIBRARY_A, LIBRARY_B, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 10);
	char *recursion = strdup("");

	REQUIRE(ready);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--no-lines --unwind auto");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		ask(target, scenarios[i]);
	probe_outer(live_int(ready, "probed_outer"));
	ask(target, "probed");
	unprobe_outer();

	json_t *report = memtrace_stop(memtrace);

	for (int i = 0; i < 20; i++) {
		char *longer;

		REQUIRE(asprintf(&longer, "recurse %s", recursion) > 0);
		free(recursion);
		recursion = longer;
	}
	char *path;

	REQUIRE(asprintf(&path, "%sscenario_recursion main ", recursion) > 0);
	check_path(report, 1001, TIMES, 1, path);
	check_path(report, 1002, TIMES, 1, "compare_allocates scenario_qsort main ");
	check_path(report, 1003, TIMES, 1, "handler_allocates scenario_signal main ");
	check_path(report, 1004, TIMES, 1, "thread_allocates thread_main ");
	check_path(report, 1005, TIMES, 1, "alloca_allocates scenario_alloca main ");
	check_path(report, 1006, TIMES, 1,
		   "realigned_allocates scenario_realigned main ");
	check_path(report, 1007, TIMES, 1,
		   "probed_allocates probed_outer scenario_probed main ");
	check_path(report, 2001, TIMES, TIMES, "? ? call_library scenario_dlopen main ");
	check_path(report, 2002, TIMES, TIMES, "? ? call_library scenario_dlopen main ");
	CHECK_INT(compare_losses(report, NULL), 0);
	free(path);
	free(recursion);
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
}

/* Libraries that come and go faster than anybody can look: a stack is whole, or says that
 * it is not, but never wrong. */
static void fast_libraries(void)
{
	const char *const argv[] = {OMITTED_BINARY, LIBRARY_A, LIBRARY_B, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 10);
	const json_t *row;
	int64_t whole = 0, cut = 0;
	size_t i;

	REQUIRE(ready);
	struct live_process *memtrace =
		memtrace_start(live_pid(target), "--no-lines --unwind auto");
	ask(target, "dlopen_fast");

	json_t *report = memtrace_stop(memtrace);

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *end = json_string_value(json_object_get(row, "end"));
		int64_t blocks = live_int(row, "blocks"),
			bytes = live_int(row, "size_bytes");
		char *names = own_names(row);

		/* Other blocks are the dynamic linker's. */
		if (bytes >= 2001 * blocks && bytes <= 2002 * blocks) {
			if (strcmp(end, "complete"))
				cut += blocks;
			else
				CHECK_STR(names, "? ? call_library scenario_fast main ");
			whole += strcmp(end, "complete") ? 0 : blocks;
		}
		free(names);
	}
	printf("fast libraries: %" PRId64 " whole, %" PRId64 " cut\n", whole, cut);
	CHECK_INT(whole + cut, 2 * TIMES);
	CHECK((cut > 0) == (live_int(report, "losses.walks_lost") > 0));
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
}

/* --- stock programs --------------------------------------------------------------- */

static bool is_start(const json_t *frame)
{
	static const char *const starts[] = {"__libc_start_main",
					     "__libc_start_call_main", "start_thread"};
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));

	for (size_t i = 0; symbol && i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(symbol, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The share of live blocks, per cent, that the start of the program or a thread calls:
 * it has a name also where the program's own _start has none. */
static double share(const json_t *report, int64_t *blocks)
{
	int64_t whole = 0;
	const json_t *row;
	size_t i;

	*blocks = 0;
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const json_t *frames = json_object_get(row, "frames");
		size_t depth = json_array_size(frames);

		*blocks += live_int(row, "blocks");
		if (depth > 1 && is_start(json_array_get(frames, depth - 2)) &&
		    !strcmp(json_string_value(json_object_get(row, "end")), "complete"))
			whole += live_int(row, "blocks");
	}
	return *blocks ? 100.0 * (double)whole / (double)*blocks : 0;
}

/* Trace a command from its start; false when it is not installed. */
static bool trace_command(const char *const command[], const char *unwind,
			  double *percent, int64_t *blocks)
{
	const char *argv[32] = {memtrace_path, "--format",   "json",     "--top",
				"0",           "--older",    "0",        "-i",
				"3600",        "--no-lines", "--unwind", unwind,
				"--output",    NULL,         "--force",  "--"};
	char *output = live_path("stacks.json");
	size_t n = 16;
	json_error_t error;

	if (access(command[0], X_OK)) {
		free(output);
		return false;
	}
	argv[13] = output;
	while (*command && n < 31)
		argv[n++] = *command++;
	argv[n] = NULL;

	struct live_process *memtrace = live_start(argv);

	live_wait(memtrace, 120);

	json_t *report = json_load_file(output, JSON_DISABLE_EOF_CHECK, &error);

	if (!report)
		live_fail("no report on %s: %s", argv[16], live_stderr(memtrace));
	*percent = share(report, blocks);
	json_decref(report);
	live_destroy(memtrace);
	free(output);
	return true;
}

static void check_program(const char *const command[])
{
	double by_rules, by_fp;
	int64_t blocks, fp_blocks;

	if (!trace_command(command, "auto", &by_rules, &blocks)) {
		printf("%s: not installed\n", command[0]);
		return;
	}
	trace_command(command, "fp", &by_fp, &fp_blocks);
	printf("%s: %" PRId64
	       " blocks, %.3f %% whole by rules, %.3f %% by frame pointer\n",
	       command[0], blocks, by_rules, by_fp);
	CHECK(blocks > 0);
	CHECK(by_rules >= 99.9);
}

/* Killed by themselves, so that their blocks are live at the end. */
static void stock_programs(void)
{
	check_program((const char *const[]){
		"/usr/bin/perl", "-e",
		"for my $i (1..20000) { $h{\"k$i\"} = [1..5] } require POSIX; kill 9, $$",
		NULL});
	check_program((const char *const[]){
		"/usr/bin/python3", "-c",
		"import json, re, os; k = [bytearray(2000) for i in range(3000)];"
		"d = json.loads(json.dumps({str(i): [i] for i in range(3000)}));"
		"os.kill(os.getpid(), 9)",
		NULL});
	check_program((const char *const[]){
		"/usr/bin/sqlite3", ":memory:",
		"create table t(a, b); with recursive c(x) as (select 1 union all select "
		"x + 1 from c where x < 20000) insert into t select x, randomblob(50) "
		"from c; create index i on t(b); select load_extension('/nowhere');",
		NULL});
	check_program((const char *const[]){"/usr/bin/git", "help", "-a", NULL});
}

int main(void)
{
	live_require_root();
	RUN(known_paths);
	RUN(fast_libraries);
	RUN(stock_programs);
	return check_done();
}
