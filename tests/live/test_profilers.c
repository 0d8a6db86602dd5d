// SPDX-License-Identifier: Apache-2.0
/* Other tools that unwind the target's stacks get the same results with and without
 * memtrace: the heap profilers of gperftools and jemalloc inside the target, and gdb. */
#include <stdarg.h>
#include <stdio.h>
#include <sys/personality.h>

#include "check.h"
#include "live/files.h"
#include "live/preload.h"
#include "live/trace.h"

#define TIMEOUT_S 120
#define SITES     6 /* as in targets/profiled.c */

static struct live_process *start(const char *library, const char *size,
				  const char *count)
{
	const char *const argv[] = {PROFILED_BINARY, size, count, NULL};
	struct live_process *target = preload_start(library, argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	REQUIRE(ready);
	json_decref(ready);
	return target;
}

/* How many times `word` occurs in `text`. */
static unsigned count_words(const char *text, const char *word)
{
	unsigned count = 0;

	while ((text = strstr(text, word))) {
		count++;
		text += strlen(word);
	}
	return count;
}

/* CHECK_STR() for each line. Prints only the first line that differs. */
static void check_lines(const char *got, const char *want)
{
	char *got_line, *want_line;

	while (*got && *want && strcspn(got, "\n") == strcspn(want, "\n") &&
	       !strncmp(got, want, strcspn(got, "\n"))) {
		got += strcspn(got, "\n");
		got += *got == '\n';
		want += strcspn(want, "\n");
		want += *want == '\n';
	}
	got_line = strndup(got, strcspn(got, "\n"));
	want_line = strndup(want, strcspn(want, "\n"));
	CHECK_STR(got_line, want_line);
	free(got_line);
	free(want_line);
}

/* Ends the run and checks that it counted allocations. `memtrace` may be NULL. */
static void end_trace(struct live_process *memtrace, int64_t at_least)
{
	json_t *report;

	if (!memtrace)
		return;
	report = memtrace_stop(memtrace);
	CHECK(live_int(report, "heap.totals.allocations") >= at_least);
	json_decref(report);
}

/* --- heap profilers ---------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The stacks of a profile, one on each line, sorted, without the mappings that follow.
 * Owned. */
static char *sorted_stacks(char *profile)
{
	char *end = strstr(profile, "MAPPED_LIBRARIES:"), *save = NULL, *lines[256],
	     *text;
	size_t count = 0, length = 0;

	REQUIRE(end);
	*end = '\0';
	/* jemalloc writes the counts of a stack on separate lines, after two blanks. */
	for (char *at = profile; (at = strstr(at, "\n  t"));)
		*at = ' ';
	text = calloc(1, strlen(profile) + 2);
	REQUIRE(text);
	for (char *line = strtok_r(profile, "\n", &save); line && count < 256;
	     line = strtok_r(NULL, "\n", &save))
		lines[count++] = line;
	qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++) {
		memcpy(text + length, lines[i], strlen(lines[i]));
		length += strlen(lines[i]);
		text[length++] = '\n';
	}
	return text;
}

struct profiler {
	const char *library;
	/* Environment variable that turns it on; %s: path of the profile. */
	const char *variable, *value;
	/* First file that it writes; %s and %d: path and pid. */
	const char *file;
};

static const struct profiler gperftools = {"libtcmalloc.so.4", "HEAPPROFILE", "%s",
					   "%s.0001.heap"};
static const struct profiler jemalloc = {
	"libjemalloc.so.2", "MALLOC_CONF",
	"prof:true,lg_prof_sample:0,prof_final:false,prof_prefix:%s", "%s.%d.0.m0.heap"};

/* printf() into a new string: a format with one %s, or with %s and %d. Owned. */
__attribute__((format(printf, 1, 0))) static char *text_of(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	REQUIRE(vasprintf(&text, format, args) > 0);
	va_end(args);
	return text;
}

/* The profile of a target that is traced with `options`; NULL: not traced. Owned. */
static char *profile_of(const struct profiler *profiler, const char *library,
			const char *options)
{
	static unsigned runs;
	struct live_process *target, *memtrace = NULL;
	char name[32], *prefix, *value, *path, *profile, *stacks;

	/* The names have the same length: the path is in the target's memory. */
	snprintf(name, sizeof(name), "profile-%02u", runs++);
	prefix = live_path(name);
	value = text_of(profiler->value, prefix);
	setenv(profiler->variable, value, 1);
	target = start(library, "1000", "100");
	unsetenv(profiler->variable);
	if (options)
		memtrace = memtrace_start(live_pid(target), options);
	oracle_do(target, "go");
	end_trace(memtrace, SITES);
	path = text_of(profiler->file, prefix, (int)live_pid(target));
	profile = files_read("%s", path);
	stacks = sorted_stacks(profile);
	live_destroy(target);
	free(profile);
	free(path);
	free(value);
	free(prefix);
	return stacks;
}

static void check_profiles(const struct profiler *profiler)
{
	static const char *const options[] = {"--unwind auto",
					      "--unwind auto --sample-every 10"};
	char *library = preload_find(profiler->library), *alone, *traced;

	if (!library)
		return;
	alone = profile_of(profiler, library, NULL);
	/* A line for the totals, and one for the stack of each site. */
	REQUIRE(count_words(alone, "\n") >= 1 + SITES);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		traced = profile_of(profiler, library, options[i]);
		check_lines(traced, alone);
		free(traced);
	}
	free(alone);
	free(library);
}

static void gperftools_writes_the_same_profile(void)
{
	check_profiles(&gperftools);
}

static void jemalloc_writes_the_same_profile(void)
{
	check_profiles(&jemalloc);
}

/* --- gdb --------------------------------------------------------------------------- */

/* malloc maps each block separately, and gdb stops before and after the system call. */
#define STOPS (2 * SITES)

static bool has_gdb(void)
{
	const char *const argv[] = {"gdb", "-nx", "-batch", "-ex", "show version", NULL};
	struct live_process *gdb = live_start(argv);
	bool has = live_wait(gdb, TIMEOUT_S) == 0;

	live_destroy(gdb);
	return has;
}

static void await_tracer(pid_t pid)
{
	double until_s = live_now_s() + TIMEOUT_S;
	char *status = NULL;

	do {
		live_sleep(0.01);
		free(status);
		status = files_read("/proc/%d/status", (int)pid);
		REQUIRE(live_now_s() < until_s);
	} while (strstr(status, "TracerPid:\t0\n"));
	free(status);
}

/* Starts gdb on the process: it prints a backtrace each time that the process maps
 * memory. */
static struct live_process *start_gdb(pid_t pid)
{
	const char *argv[16 + 4 * STOPS] = {"gdb", "-nx", "-batch"};
	static const char *const before[] = {"set debuginfod enabled off",
					     "set print frame-arguments none",
					     "set width 0", "catch syscall mmap"};
	char pid_text[16];
	size_t n = 3;

	snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	argv[n++] = "-p";
	argv[n++] = pid_text;
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		argv[n++] = "-ex";
		argv[n++] = before[i];
	}
	for (int i = 0; i < STOPS; i++) {
		argv[n++] = "-ex";
		argv[n++] = "continue";
		argv[n++] = "-ex";
		argv[n++] = "bt";
	}
	return live_start(argv);
}

/* The frames that gdb prints, one on each line. Owned. */
static char *backtraces(struct live_process *target)
{
	struct live_process *gdb = start_gdb(live_pid(target));
	char *text = strdup(""), *longer, *line;

	await_tracer(live_pid(target));
	live_send(target, "go");
	while ((line = live_read_line(gdb, TIMEOUT_S))) {
		if (line[0] == '#' || strstr(line, "Backtrace stopped")) {
			REQUIRE(asprintf(&longer, "%s%s\n", text, line) > 0);
			free(text);
			text = longer;
		}
		free(line);
	}
	CHECK_INT(live_wait(gdb, TIMEOUT_S), 0);
	live_destroy(gdb);
	return text;
}

static char *backtraces_of(const char *options)
{
	/* Blocks of 5,000,000 bytes. */
	struct live_process *target = start(NULL, "5000000", "1"), *memtrace = NULL;
	json_t *done;
	char *text;

	if (options)
		memtrace = memtrace_start(live_pid(target), options);
	text = backtraces(target);
	/* The target continues without gdb. */
	done = live_read_json(target, TIMEOUT_S);
	CHECK(done != NULL);
	json_decref(done);
	end_trace(memtrace, SITES);
	CHECK_INT(live_wait(target, TIMEOUT_S), 0);
	live_destroy(target);
	return text;
}

static void gdb_shows_whole_backtraces(void)
{
	char *alone, *traced;

	if (!has_gdb()) {
		CHECK_SKIP_PART("gdb is not installed");
		return;
	}
	alone = backtraces_of(NULL);
	REQUIRE(count_words(alone, " main (") == STOPS);
	traced = backtraces_of("--unwind auto");
	CHECK_INT(count_words(traced, " main ("), STOPS);
	check_lines(traced, alone);
	free(alone);
	free(traced);
}

int main(void)
{
	live_require_root();
	/* The same addresses in each run. Children inherit this setting. */
	REQUIRE(personality(ADDR_NO_RANDOMIZE) != -1);
	RUN(gperftools_writes_the_same_profile);
	RUN(jemalloc_writes_the_same_profile);
	RUN(gdb_shows_whole_backtraces);
	return check_done();
}
