// SPDX-License-Identifier: Apache-2.0
/*
 * Complete stacks of code without frame pointers. The stacks of a program with known call
 * paths are compared frame by frame.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMES 100

/* Is it a function of the target? A static target contains libc's functions, too. */
static bool is_own(const char *symbol)
{
	static const char *const prefixes[] = {
		"scenario_",    "recurse", "probed_outer", "thread_main",
		"call_library", "guarded", "Guard::"};

	if (!strcmp(symbol, "main") || strstr(symbol, "allocates"))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(symbol, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The symbols of a row's frames in the target's own code, joined by blanks. "?" stands
 * for frames without a known module. Owned. */
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

		/* A library may be unloaded before its symbols were read. */
		if (!module || strstr(module, "/liblibrary_"))
			fputs("? ", f);
		else if (!strcmp(module, "[uprobes]"))
			fputs("[uprobes] ", f);
		else if (strstr(module, "/omitted") && symbol && is_own(symbol))
			fprintf(f, "%.*s ", (int)strcspn(symbol, "("), symbol);
	}
	fclose(f);
	return text;
}

/* Checks that all blocks of `size` have the call path `want`, and that the stack ends
 * with `want_end`. */
static void check_path(const json_t *report, int64_t size, int64_t blocks,
		       size_t max_rows, const char *want, const char *want_end)
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
		CHECK_STR(end, want_end);
		free(names);
		found += n;
		rows++;
	}
	CHECK_INT(found, blocks);
	CHECK(rows <= max_rows);
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

/* Attaches another tool's return probe to a function in the middle of a path. */
static void probe_return(const char *program, int64_t offset)
{
	char text[512];

	snprintf(text, sizeof(text), "r:memtrace_test/outer %s:0x%" PRIx64 "\n", program,
		 (uint64_t)offset);
	write_file(EVENTS, text);
	write_file(ENABLE, "1");
}

static void unprobe(void)
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

/* "recurse" `n` times, then `rest`. Owned. */
static char *recursion(int n, const char *rest)
{
	char *text = strdup(rest);

	for (int i = 0; i < n; i++) {
		char *longer;

		REQUIRE(text && asprintf(&longer, "recurse %s", text) > 0);
		free(text);
		text = longer;
	}
	return text;
}

static void check_recursion(const json_t *report, int64_t size, int n, const char *rest,
			    const char *end)
{
	char *path = recursion(n, rest);

	check_path(report, size, TIMES, 1, path, end);
	free(path);
}

#define WITH_LIBRARIES 1 /* a dynamic program */
#define BY_FP          2

/* A frame pointer of 0 is the end only in a function that is known to be a start. */
static void known_paths_of(const char *program, const char *unwind, unsigned flags)
{
	static const char *const scenarios[] = {
		"recursion", "qsort", "signal", "thread", "alloca", "realigned",
		"deep",      "vla",   "tail",   "twins",  "turns",  "longjmp"};
	const char *const argv[] = {program, LIBRARY_A, LIBRARY_B, NULL};
	const char *end = flags & BY_FP ? "no_frame" : "complete";
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 30);

	REQUIRE(ready);
	struct live_process *memtrace = memtrace_start(live_pid(target), unwind);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		ask(target, scenarios[i]);
	if (flags & WITH_LIBRARIES)
		ask(target, "dlopen");
	probe_return(program, live_int(ready, "probed_outer"));
	ask(target, "probed");
	unprobe();
	probe_return(program, live_int(ready, "recurse"));
	ask(target, "probed_deep");
	unprobe();

	json_t *report = memtrace_stop(memtrace);

	printf("%s %s\n", program, unwind);
	check_recursion(report, 1001, 20, "scenario_recursion main ", end);
	check_path(report, 1005, TIMES, 1, "alloca_allocates scenario_alloca main ", end);
	check_path(report, 1006, TIMES, 1, "realigned_allocates scenario_realigned main ",
		   end);
	check_path(report, 1007, TIMES, 1,
		   "probed_allocates probed_outer scenario_probed main ", end);
	check_path(report, 1009, TIMES, 1, "vla_allocates scenario_vla main ", end);
	check_path(report, 1010, TIMES, 1, "tail_allocates scenario_tail main ", end);
	check_path(report, 1011, TIMES, 1, "longjmp_allocates scenario_longjmp main ",
		   end);
	check_path(report, 1013, TIMES, 1,
		   "twin_allocates left_allocates scenario_twins main ", end);
	check_path(report, 1014, TIMES, 1,
		   "twin_allocates right_allocates scenario_twins main ", end);
	check_recursion(report, 1016, 19, "left_turn_allocates scenario_turns main ",
			end);
	check_recursion(report, 1017, 19, "right_turn_allocates scenario_turns main ",
			end);
	check_recursion(report, 1018, 19,
			"wide_allocates left_turn_allocates scenario_turns main ", end);
	check_recursion(report, 1019, 19,
			"wide_allocates right_turn_allocates scenario_turns main ", end);
	check_recursion(report, 1012, 30, "scenario_probed_deep main ", end);
	if (!(flags & BY_FP)) {
		check_recursion(report, 1008, 120, "scenario_deep main ", end);
		check_path(report, 1002, TIMES, 1,
			   "compare_allocates scenario_qsort main ", end);
		check_path(report, 1003, TIMES, 1,
			   "handler_allocates scenario_signal main ", end);
		check_path(report, 1004, TIMES, 1, "thread_allocates thread_main ", end);
		CHECK_INT(compare_losses(report, NULL), 0);
	}
	if (flags & WITH_LIBRARIES) {
		check_path(report, 2001, TIMES, TIMES,
			   "? ? call_library scenario_dlopen main ", end);
		check_path(report, 2002, TIMES, TIMES,
			   "? ? call_library scenario_dlopen main ", end);
	}
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
}

#define AUTO "--no-lines --unwind auto"

static void known_paths(void)
{
	known_paths_of(OMITTED_BINARY, AUTO, WITH_LIBRARIES);
}

static void known_paths_of_other_builds(void)
{
	known_paths_of(OMITTED_OS, AUTO, 0);
	known_paths_of(OMITTED_STATIC, AUTO, 0);
#ifdef OMITTED_CLANG
	known_paths_of(OMITTED_CLANG, AUTO, 0);
#endif
}

/* Return probes of other tools affect unwinding by frame pointers, too. */
static void known_paths_by_frame_pointer(void)
{
	known_paths_of(OMITTED_FP, "--no-lines --unwind fp", BY_FP);
}

/* Through libstdc++'s unwinder, and the stack that it leaves behind. */
static void exceptions(void)
{
#ifdef OMITTED_CXX
	const char *const argv[] = {OMITTED_CXX, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 30);

	REQUIRE(ready);
	struct live_process *memtrace = memtrace_start(live_pid(target), AUTO);
	ask(target, "throw");

	json_t *report = memtrace_stop(memtrace);

	check_path(report, 3001, TIMES, 1,
		   "destructor_allocates Guard::~Guard guarded scenario_exceptions main ",
		   "complete");
	check_path(report, 3002, TIMES, 1, "catch_allocates scenario_exceptions main ",
		   "complete");
	check_path(report, 3003, TIMES, 1, "Circle::allocates scenario_exceptions main ",
		   "complete");
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
#else
	CHECK_SKIP_PART("no C++ compiler");
#endif
}

/* Libraries that are loaded and unloaded too fast for memtrace to read /proc: each stack
 * must be right for the time of its allocation. */
static void fast_libraries(void)
{
	const char *const argv[] = {OMITTED_BINARY, LIBRARY_A, LIBRARY_B, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, 30);
	const json_t *row;
	int64_t whole = 0, cut = 0;
	size_t i;

	REQUIRE(ready);
	struct live_process *memtrace = memtrace_start(live_pid(target), AUTO);
	ask(target, "dlopen_fast");

	json_t *report = memtrace_stop(memtrace);

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *end = json_string_value(json_object_get(row, "end"));
		int64_t blocks = live_int(row, "blocks"),
			bytes = live_int(row, "size_bytes");
		char *names = own_names(row);

		/* Other blocks belong to the dynamic linker. */
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
	CHECK_INT(whole, 2 * TIMES);
	CHECK_INT(cut, 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
}

/* Stops the process, and waits until each of its threads is stopped. */
static void stop_all(struct live_process *process)
{
	siginfo_t info;

	live_signal(process, SIGSTOP);
	REQUIRE(waitid(P_PID, (id_t)live_pid(process), &info, WSTOPPED) == 0);
}

#define BRIEF        3
#define BRIEF_BLOCKS 30

/* Processes that end before memtrace reads their events: their mappings must be known. */
static void ended_before_memtrace_reads(void)
{
	const char *const brief[] = {FAMILY_BINARY, "once", LOADED_MALLOC, "30",
				     "32",          "0",    NULL};
	const char *const argv[] = {
		memtrace_path, "--lib", LOADED_MALLOC, "--format", "json", "--top", "0",
		"--older",     "0",     "--no-lines",  "-i",       "3600", NULL};
	struct live_process *memtrace = live_start(argv);
	int64_t blocks = 0;
	const json_t *row;
	json_t *report;
	size_t i;

	if (!live_wait_stderr(memtrace, "Ctrl-C ends", 30))
		live_fail("memtrace did not begin: %s", live_stderr(memtrace));
	stop_all(memtrace);
	for (i = 0; i < BRIEF; i++) {
		struct live_process *target = live_start(brief);

		CHECK_INT(live_wait(target, 30), 0);
		live_destroy(target);
	}
	live_signal(memtrace, SIGCONT);
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "losses.walks_lost"), 0);
	CHECK_INT(live_int(report, "heap.totals.allocations"), BRIEF * BRIEF_BLOCKS);
	/* The frames have no symbols: memtrace reads those from processes. */
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		CHECK_STR(json_string_value(json_object_get(row, "end")), "complete");
		CHECK(json_array_size(json_object_get(row, "frames")) > 3);
		blocks += live_int(row, "blocks");
	}
	CHECK_INT(blocks, BRIEF * BRIEF_BLOCKS);
	json_decref(report);
}

/* More misses than the ring holds: about 63,000 copies of the same stack. */
#define STALLED_SCENARIOS 700

#define ANY               0

/* The number of blocks of `size` bytes whose stack has this "end". */
static int64_t blocks_of(const json_t *report, int64_t size, const char *end,
			 size_t least_frames)
{
	const json_t *row;
	int64_t blocks = 0;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t n = live_int(row, "blocks");

		if ((size != ANY && live_int(row, "size_bytes") != size * n) ||
		    strcmp(json_string_value(json_object_get(row, "end")), end) != 0)
			continue;
		CHECK(json_array_size(json_object_get(row, "frames")) >= least_frames);
		blocks += n;
	}
	return blocks;
}

/* memtrace is stopped while the target calls malloc from new call sites. */
static void stalled_with(const char *options, bool has_tables)
{
	const char *const argv[] = {OMITTED_BINARY, LIBRARY_A, LIBRARY_B, NULL};
	const int64_t all = STALLED_SCENARIOS * TIMES;
	struct live_process *target = live_start(argv), *memtrace;
	json_t *ready = live_read_json(target, 30), *report;
	int64_t lost;

	REQUIRE(ready);
	memtrace = memtrace_start(live_pid(target), options);
	stop_all(memtrace);
	for (int i = 0; i < STALLED_SCENARIOS; i++)
		ask(target, "recursion");
	/* For these stacks the ring has no room for a copy of the stack. */
	ask(target, "deep");
	live_signal(memtrace, SIGCONT);
	report = memtrace_report(memtrace);
	lost = live_int(report, "losses.walks_lost");
	printf("stalled: %" PRId64 " of %" PRId64 " walks lost\n", lost, all + TIMES);
	if (has_tables)
		CHECK_INT(lost, 0);
	else
		CHECK(lost > TIMES && lost < all * 3 / 4);
	CHECK_INT(blocks_of(report, ANY, "unlearned", 1), lost);
	/* The lost stacks include the stacks of "deep". */
	if (has_tables)
		CHECK_INT(blocks_of(report, 1008, "complete", 120), TIMES);
	else
		lost -= TIMES;
	CHECK_INT(blocks_of(report, 1001, "complete", 25), all - lost);
	json_decref(report);

	/* Everything works again. Also for "deep_again", which needs more stack than was
	 * copied. */
	ask(target, "recursion");
	ask(target, "twins");
	ask(target, "deep_again");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "losses.walks_lost"), has_tables ? 0 : lost + TIMES);
	CHECK_INT(blocks_of(report, 1001, "complete", 25), all + TIMES - lost);
	check_path(report, 1013, TIMES, 1,
		   "twin_allocates left_allocates scenario_twins main ", "complete");
	check_recursion(report, 1015, 120, "scenario_deep_again main ", "complete");
	CHECK_INT(live_int(report, "heap.totals.allocations"), all + 5 * TIMES);
	json_decref(report);
	json_decref(ready);
	live_destroy(target);
}

/* The kernel has had the unwind rules of all files since the attach. */
static void stalled(void)
{
	stalled_with(AUTO, true);
}

/* Without unwind tables in the kernel some stacks are lost. Each is counted, none is
 * wrong, and no block is lost. */
static void stalled_without_tables(void)
{
	stalled_with(AUTO " --attach perf", false);
}

int main(void)
{
	live_require_root();
	RUN_WITH_RETURN_PROBES(known_paths);
	RUN_WITH_RETURN_PROBES(known_paths_of_other_builds);
	RUN_WITH_RETURN_PROBES(known_paths_by_frame_pointer);
	RUN(exceptions);
	RUN(fast_libraries);
	RUN(ended_before_memtrace_reads);
	RUN(stalled);
	RUN_WITH_RETURN_PROBES(stalled_without_tables);
	return check_done();
}
