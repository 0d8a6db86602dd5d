// SPDX-License-Identifier: Apache-2.0
/* Source lines and inlined functions in reports of a real process, compared with
 * addr2line. */
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "check.h"
#include "live/trace.h"
#include "util/strbuf.h"

#define TIMEOUT_S 30

static struct live_process *start_target(void)
{
	const char *const argv[] = {INLINED_BINARY, NULL};
	struct live_process *target = live_start(argv);
	char *line = live_read_line(target, TIMEOUT_S);

	REQUIRE(line && !strcmp(line, "ready"));
	free(line);
	return target;
}

/* The address at which the program is loaded. */
static uint64_t load_address(struct live_process *target)
{
	char path[64], line[4096];
	uint64_t start = 0, offset;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)live_pid(target));
	maps = fopen(path, "re");
	REQUIRE(maps);
	while (!start && fgets(line, sizeof(line), maps)) {
		if (strstr(line, INLINED_BINARY) &&
		    sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &start, &offset) == 2)
			CHECK_INT(offset, 0);
	}
	fclose(maps);
	REQUIRE(start);
	return start;
}

/* addr2line's answer: "function\nfile:line\n" for each frame, innermost first. */
static void ask_addr2line(uint64_t address, struct strbuf *ret)
{
	char command[512], line[4096];
	FILE *pipe;

	snprintf(command, sizeof(command), "addr2line -i -f -e %s 0x%" PRIx64,
		 INLINED_BINARY, address);
	pipe = popen(command, "re");
	REQUIRE(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		char *discriminator = strstr(line, " (discriminator ");

		if (discriminator)
			strcpy(discriminator, "\n");
		strbuf_append(ret, line);
	}
	REQUIRE(!pclose(pipe));
}

/* Prints the frames from number `i` on that have its address, in the same form. Returns
 * the index of the next frame. */
static size_t print_group(const json_t *frames, size_t i, struct strbuf *ret)
{
	const char *address =
		json_string_value(live_get(json_array_get(frames, i), "address"));

	for (; i < json_array_size(frames); i++) {
		const json_t *frame = json_array_get(frames, i);

		if (strcmp(json_string_value(live_get(frame, "address")), address) != 0)
			break;
		strbuf_appendf(ret, "%s\n%s:%" PRId64 "\n",
			       json_string_value(live_get(frame, "symbol")),
			       json_string_value(live_get(frame, "file")),
			       live_int(frame, "line"));
		CHECK(json_is_boolean(live_get(frame, "inlined")));
		CHECK(live_int(frame, "column") > 0);
	}
	return i;
}

/* Every frame in the program, also an inlined one, must agree with addr2line. */
static void check_report(const json_t *report, uint64_t base)
{
	const json_t *stacks = live_get(report, "heap.stacks");
	const json_t *frames = live_get(json_array_get(stacks, 0), "frames");
	unsigned inlined = 0, own = 0;
	size_t i = 0;

	CHECK_INT(json_array_size(stacks), 1);
	while (i < json_array_size(frames)) {
		struct strbuf got = {0}, want = {0};
		const json_t *frame = json_array_get(frames, i);
		const char *module = json_string_value(live_get(frame, "module"));
		const char *symbol = json_string_value(live_get(frame, "symbol"));

		/* The C library's _start(), in the program, has no line info. */
		if (!module || strcmp(module, INLINED_BINARY) != 0 ||
		    (symbol && !strcmp(symbol, "_start"))) {
			i++;
			continue;
		}
		own++;
		inlined += json_is_true(live_get(frame, "inlined"));
		ask_addr2line(strtoull(json_string_value(live_get(frame, "address")),
				       NULL, 16) -
				      base,
			      &want);
		i = print_group(frames, i, &got);
		CHECK_STR(strbuf_text(&got), strbuf_text(&want));
		strbuf_deinit(&got);
		strbuf_deinit(&want);
	}
	/* leak_inner is inlined into another function, and `once` into main. */
	CHECK_INT(own, 2);
	CHECK_INT(inlined, 2);

	const json_t *first = json_array_get(frames, 0);

	CHECK_STR(json_string_value(live_get(first, "symbol")), "leak_inner");
	CHECK(json_is_null(live_get(first, "offset")));
	CHECK_CONTAINS(json_string_value(live_get(first, "file")), "/targets/inlined.c");
}

static void equal_to_addr2line(void)
{
	struct live_process *target = start_target();
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	uint64_t base = load_address(target);
	json_t *report;

	live_sleep(0.2);
	report = memtrace_report(memtrace);
	check_report(report, base);
	json_decref(report);
	report = memtrace_stop(memtrace);
	check_report(report, base);
	json_decref(report);
	live_destroy(target);
}

/* The debug info is read only after the target's exit. */
static void after_its_exit(void)
{
	struct live_process *target = start_target();
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	uint64_t base = load_address(target);
	json_t *report;

	live_sleep(0.2);
	live_signal(target, SIGKILL);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
	check_report(report, base);
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(target);
}

/* libdw needs more stack than that for a line table. */
static void with_a_small_stack(void)
{
	struct rlimit before, small;

	REQUIRE(!getrlimit(RLIMIT_STACK, &before));
	small = (struct rlimit){96 << 10, before.rlim_max};
	REQUIRE(!setrlimit(RLIMIT_STACK, &small));
	equal_to_addr2line();
	REQUIRE(!setrlimit(RLIMIT_STACK, &before));
}

/* How many lines of the final text report contain `text`. */
static unsigned count_lines(const char *options, const char *text, const char *notes)
{
	struct live_process *target = start_target();
	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);
	unsigned count = 0;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	live_sleep(0.2);
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		count += strstr(line, text) != NULL;
		free(line);
	}
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	if (notes)
		CHECK_CONTAINS(live_stderr(memtrace), notes);
	live_destroy(memtrace);
	live_destroy(target);
	return count;
}

static void in_text(void)
{
	CHECK_INT(count_lines("--older 0", "\tleak_inner [inlined] [inlined] at /", NULL),
		  1);
	CHECK_INT(count_lines("--older 0 --paths short",
			      "\tleak_middle [inlined] [inlined] at inlined.c:", NULL),
		  1);
	CHECK_INT(count_lines("--older 0", " [inlined] at /", NULL), 5);
	CHECK_INT(count_lines("--older 0 --no-lines", " at ", NULL), 0);
	CHECK_INT(count_lines("--older 0 --no-lines", "\tleak_outer+0x", NULL), 1);
	/* A missing debuginfod server is noted, but is not an error. */
	unsetenv("DEBUGINFOD_URLS");
	CHECK_INT(count_lines("--older 0 --debuginfod --debug-dir /proc/self/fdinfo",
			      "\tleak_outer+0x", "DEBUGINFOD_URLS is not set"),
		  1);
}

int main(void)
{
	live_require_root();
	RUN(equal_to_addr2line);
	RUN(with_a_small_stack);
	RUN(after_its_exit);
	RUN(in_text);
	return check_done();
}
