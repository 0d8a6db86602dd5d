/* SPDX-License-Identifier: Apache-2.0 */
/* The options that filter and group: their effect on a report of known blocks. */
#include <signal.h>
#include <sys/utsname.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30
/* The kernel may need many seconds to verify a program for the deepest stacks. */
#define START_TIMEOUT_S 120

static struct live_process *oracle;

/* Runs memtrace with `options`, sends the target `commands` (separated by ;), and returns
 * the final report. */
static json_t *report_of(const char *options, const char *commands)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", commands);
	for (char *command = strtok_r(copy, ";", &save); command;
	     command = strtok_r(NULL, ";", &save))
		oracle_do(oracle, "%s", command);
	json_t *report = memtrace_stop(memtrace);
	oracle_do(oracle, "run release 1 1");
	return report;
}

/* Sizes 0 to 511, ten times each. Both bounds are inclusive. */
static void size_filters(void)
{
	json_t *report = report_of("--min-size 100 --max-size 200", "run keep 5120 1");

	CHECK_INT(live_int(report, "filter.min_size_bytes"), 100);
	CHECK_INT(live_int(report, "filter.max_size_bytes"), 200);
	CHECK_INT(live_int(report, "heap.live_blocks"), 10 * 101);
	CHECK_INT(live_int(report, "heap.live_bytes"), 10 * 15150);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);

	/* Blocks that were filtered out are unknown when they are freed or resized. */
	report = report_of("-z 1K", "run mixed 2000 1;run release 1 1");
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK(live_int(report, "heap.totals.frees") > 0);
	CHECK(live_int(report, "heap.totals.frees_unknown") > 0);
	CHECK(live_int(report, "heap.totals.freed_bytes") >=
	      1024 * live_int(report, "heap.totals.frees"));
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

static void check_top(const char *options, const char *first)
{
	json_t *report = report_of(options, "run keep 512 1;run huge 1 1");
	const json_t *stacks = live_get(report, "heap.stacks");

	CHECK_INT(json_array_size(stacks), 1);
	CHECK(live_int(report, "heap.stack_count") >= 3);
	CHECK_STR(row_site(json_array_get(stacks, 0)), first);
	json_decref(report);
}

static void sort_and_top(void)
{
	check_top("--top 1 --sort size", "site_huge_realloc");
	check_top("--top 1", "site_huge_realloc");
	check_top("--top 1 --sort count", "site_keep");

	json_t *report = report_of("", "run mixed 2000 1"), *row;
	int64_t last = INT64_MAX;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		CHECK(live_int(row, "size_bytes") <= last);
		last = live_int(row, "size_bytes");
	}
	json_decref(report);
}

static void show_allocs(void)
{
	json_t *report = report_of("--show-allocs", "run keep 300 1");
	const json_t *stacks = live_get(report, "heap.stacks"), *block;
	/* Ages are measured in ticks of 2^20 ns. */
	int64_t bytes = 0, age, oldest = live_int(report, "elapsed_ns") + (1 << 20);
	unsigned wrong_ages = 0;
	size_t i;

	REQUIRE(json_array_size(stacks) == 1);
	const json_t *row = json_array_get(stacks, 0);
	const json_t *blocks = live_get(row, "allocations");
	CHECK_INT(json_array_size(blocks), 300);
	json_array_foreach (blocks, i, block) {
		const char *address = json_string_value(live_get(block, "address"));

		CHECK(address && !strncmp(address, "0x", 2) &&
		      strtoull(address, NULL, 16) % 16 == 0);
		CHECK_INT(live_int(block, "tid"), live_pid(oracle));
		age = live_int(block, "age_ns");
		wrong_ages += age < 0 || age > oldest;
		bytes += live_int(block, "size_bytes");
	}
	CHECK_INT(wrong_ages, 0);
	CHECK_INT(bytes, 300 * 299 / 2);
	CHECK_INT(bytes, live_int(row, "size_bytes"));
	json_decref(report);
}

/* Threads that run one after another get the same kernel stack. The probes identify a
 * thread by its kernel stack. Each block must still have its own thread's id. */
static void threads_on_one_kernel_stack_are_distinguished(void)
{
	json_t *report = report_of("--show-allocs", "run short_threads 300 1");
	const json_t *row, *block;
	int64_t tids[300];
	size_t i, j, count = 0, twice = 0;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		json_array_foreach (live_get(row, "allocations"), j, block) {
			int64_t tid = live_int(block, "tid");

			if (tid == live_pid(oracle))
				continue;
			REQUIRE(count < 300);
			for (size_t k = 0; k < count; k++)
				twice += tids[k] == tid;
			tids[count++] = tid;
		}
	}
	CHECK_INT(count, 300);
	CHECK_INT(twice, 0);
	json_decref(report);
}

/* Without --show-allocs a report lists no blocks. */
static void blocks_are_not_shown_unasked(void)
{
	json_t *report = report_of("", "run keep 3 1");
	const json_t *row = json_array_get(live_get(report, "heap.stacks"), 0);

	CHECK(row && !json_object_get(row, "allocations"));
	CHECK(json_is_null(live_get(report, "mappings")));
	json_decref(report);
}

/* Is it the mark that stands for omitted frames? */
static bool is_mark(const json_t *frame)
{
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));

	return symbol && !strcmp(symbol, "[frames left out: deep recursion]");
}

/* The number of frames without inlined functions. */
static size_t row_depth(const json_t *row)
{
	size_t i, depth = 0;
	json_t *frame;

	json_array_foreach (live_get(row, "frames"), i, frame)
		depth += json_is_false(live_get(frame, "inlined")) && !is_mark(frame);
	return depth;
}

static bool has_mark(const json_t *row)
{
	json_t *frame;
	size_t i;

	json_array_foreach (live_get(row, "frames"), i, frame)
		if (is_mark(frame))
			return true;
	return false;
}

static void stack_depth(void)
{
	static const int depths[] = {1, 3, 127};

	for (size_t d = 0; d < 3; d++) {
		char options[32];
		size_t i, deepest = 0, cut = 0;
		json_t *row;

		snprintf(options, sizeof(options), "--stack-depth %d", depths[d]);
		json_t *report = report_of(options, "run paths 64 1");
		json_array_foreach (live_get(report, "heap.stacks"), i, row) {
			size_t depth = row_depth(row);

			deepest = depth > deepest ? depth : deepest;
			CHECK(depth <= (size_t)depths[d]);
			/* Short stacks have no room for the root. */
			cut += has_mark(row) ||
			       !strcmp(json_string_value(live_get(row, "end")), "depth");
		}
		CHECK_INT(report_site(report, "heap", "site_path").blocks, 64);
		if (depths[d] < 10) {
			CHECK_INT(deepest, depths[d]);
			CHECK_INT(cut, json_array_size(live_get(report, "heap.stacks")));
			CHECK((live_int(report, "losses.stacks_truncated") > 0) ==
			      (depths[d] == 1));
		} else {
			CHECK(deepest > 16);
			CHECK_INT(cut, 0);
			CHECK_INT(compare_losses(report, NULL), 0);
		}
		json_decref(report);
	}
}

/* The symbol, offset and module of each frame must belong to the call. */
static void frames_are_complete(void)
{
	json_t *report = report_of("", "run keep 10 1"), *row, *frame;
	size_t i;

	REQUIRE(json_array_size(live_get(report, "heap.stacks")) == 1);
	row = json_array_get(live_get(report, "heap.stacks"), 0);
	static const char *const symbols[] = {"site_keep", "scenario_keep", "pool_run"};
	json_array_foreach (live_get(row, "frames"), i, frame) {
		const char *address = json_string_value(live_get(frame, "address"));

		CHECK(address && !strncmp(address, "0x", 2));
		/* An inlined function has no offset of its own. */
		if (json_is_true(live_get(frame, "inlined"))) {
			CHECK(i >= 3 && json_is_null(live_get(frame, "offset")));
			continue;
		}
		CHECK(live_int(frame, "offset") >= 0);
		if (i < 3) {
			CHECK_STR(json_string_value(live_get(frame, "symbol")),
				  symbols[i]);
			CHECK_STR(json_string_value(live_get(frame, "module")),
				  oracle_path);
			/* A return address minus 1: not at the first byte of the
			 * function. */
			CHECK(live_int(frame, "offset") > 0);
			CHECK(live_int(frame, "offset") < 4096);
		}
	}
	CHECK(i > 3);
	json_decref(report);
}

/* The verifier's limit decides which depths a kernel accepts. The newest kernel that was
 * tested accepts all of them. */
static void whole_depth(void)
{
	static const char *const options[] = {
		"",
		"--attach perf",
		"--traffic",
		"--traffic --attach perf",
		"--traffic --attach perf --sample-bytes 4096",
		"--traffic --attach perf --mappings",
		"--traffic --sample-bytes 4096 --mappings",
		"--peak",
		"--peak --attach perf",
		"--peak --attach perf --sample-bytes 4096",
		"--peak --sample-bytes 4096",
		"--peak --mappings",
		"--peak --sample-bytes 4096 --mappings",
		"--peak --sample-bytes 4096 --mappings --attach perf",
		"--event profile:hz:99 --kernel-stacks",
		"--event profile:hz:99 --kernel-stacks --attach perf",
		"--growth --kernel-stacks",
		"--growth --kernel-stacks --attach perf",
	};
	struct utsname kernel;
	unsigned major = 0, minor = 0;

	REQUIRE(uname(&kernel) == 0);
	REQUIRE(sscanf(kernel.release, "%u.%u", &major, &minor) == 2);
	bool is_newest = major > 6 || (major == 6 && minor >= 18);

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		struct live_process *memtrace =
			memtrace_start_plain(live_pid(oracle), options[i]);

		if (!live_wait_stderr(memtrace, "Ctrl-C ends", START_TIMEOUT_S)) {
			CHECK_FAIL("%s: %s", options[i], live_stderr(memtrace));
			live_destroy(memtrace);
			continue;
		}
		/* If the verifier followed each frame separately, it would be 460,000. */
		if (is_newest && !*options[i]) {
			unsigned verified = probes_verified("on_result");

			printf("     on_result: %u instructions verified\n", verified);
			CHECK(verified > 10000);
			CHECK(verified < 150000);
		}
		live_signal(memtrace, SIGINT);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		if (is_newest)
			CHECK(!strstr(live_stderr(memtrace), "refuses programs"));
		live_destroy(memtrace);
	}
}

/* With --combined-only the text report lists all blocks, whatever their age. */
static void combined_only(void)
{
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(oracle), "--combined-only -i 3600");
	static const char row[] = "\t130816 bytes in 512 allocations from stack";
	bool found = false;
	char *line;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		found = found || !strncmp(line, row, strlen(row));
		free(line);
	}
	CHECK(found);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	oracle_do(oracle, "run release 1 1");
}

int main(void)
{
	live_require_root();
	oracle = oracle_start();
	RUN(size_filters);
	RUN(sort_and_top);
	RUN(show_allocs);
	RUN(threads_on_one_kernel_stack_are_distinguished);
	RUN(blocks_are_not_shown_unasked);
	RUN(stack_depth);
	RUN(frames_are_complete);
	RUN(whole_depth);
	RUN(combined_only);
	live_destroy(oracle);
	return check_done();
}
