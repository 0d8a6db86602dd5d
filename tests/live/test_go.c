// SPDX-License-Identifier: Apache-2.0
/*
 * C functions that run on another stack than their callers, as in Go: unwinding continues
 * on the other stack. Uses a stand-in for Go's runtime, and Go programs if a compiler is
 * installed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMES       1000
#define PLAIN_TIMES 50000

/* --- a stand-in ------------------------------------------------------------------- */

struct scenario {
	const char *name;
	int64_t size;
};

static bool is_symbol(const json_t *row, size_t at, const char *before, const char *after)
{
	const json_t *frame = json_array_get(json_object_get(row, "frames"), at);
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "%s%s", before, after);
	return symbol && !strcmp(symbol, wanted);
}

/* Does the stack lead from the allocation to the outermost function of the other
 * stack? */
static bool is_whole(const json_t *row, const struct scenario *s)
{
	return !strcmp(json_string_value(live_get(row, "end")), "complete") &&
	       json_array_size(live_get(row, "frames")) == 5 &&
	       is_symbol(row, 0, "allocate", "") &&
	       is_symbol(row, 1, s->name, "_allocates") &&
	       is_symbol(row, 2, "call_on_thread", "") &&
	       is_symbol(row, 3, s->name, "_calls") &&
	       is_symbol(row, 4, "run_on_stack", "");
}

/* The blocks whose stack is whole. All other stacks must end at the switch. */
static int64_t count_whole(const json_t *report, const struct scenario *s,
			   int64_t *ret_cut)
{
	int64_t whole = 0;
	const json_t *row;
	size_t i;

	*ret_cut = 0;
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");

		if (live_int(row, "size_bytes") != blocks * s->size)
			continue;
		if (is_whole(row, s)) {
			whole += blocks;
			continue;
		}
		CHECK(strcmp(json_string_value(live_get(row, "end")), "complete") != 0);
		CHECK_INT(json_array_size(live_get(row, "frames")), 3);
		CHECK(is_symbol(row, 2, "call_on_thread", ""));
		*ret_cut += blocks;
	}
	return whole;
}

static void check_losses(const json_t *report)
{
	CHECK_INT(live_int(report, "losses.walks_lost"), 0);
	CHECK_INT(live_int(report, "losses.walks_over_budget"), 0);
}

/* The copy of the stack for the miss handler ends at the switch, so the first stacks do,
 * too. Once the unwind rules are known, the stacks are whole. Their hashes are the
 * same. */
static void switches(const char *options)
{
	static const struct scenario plain = {"plain", 41}, edge = {"edge", 42},
				     moved = {"moved", 43}, bad = {"bad", 44};
	struct live_process *target = target_start(STACK_SWITCHER_BINARY);
	struct live_process *memtrace = memtrace_start(live_pid(target), options);
	int64_t cut_plain, cut_edge, cut_moved, cut;
	json_t *report;

	oracle_do(target, "work");
	report = memtrace_report(memtrace);
	check_losses(report);
	CHECK_INT(count_whole(report, &plain, &cut_plain) + cut_plain, PLAIN_TIMES);
	CHECK_INT(count_whole(report, &edge, &cut_edge) + cut_edge, TIMES);
	CHECK_INT(count_whole(report, &moved, &cut_moved) + cut_moved, TIMES);
	printf("     %lld stacks were cut short first\n",
	       (long long)(cut_plain + cut_edge + cut_moved));
	CHECK(cut_plain < PLAIN_TIMES / 2);
	json_decref(report);

	oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	check_losses(report);
	CHECK_INT(count_whole(report, &plain, &cut), 2 * PLAIN_TIMES - cut_plain);
	CHECK_INT(count_whole(report, &edge, &cut), 2 * TIMES - cut_edge);
	CHECK_INT(count_whole(report, &moved, &cut), 2 * TIMES - cut_moved);
	CHECK_INT(count_whole(report, &bad, &cut), 0);
	CHECK_INT(cut, 2 * TIMES);
	json_decref(report);
	live_destroy(target);
}

static void stand_in(void)
{
	switches("--no-lines");
	switches("--no-lines --attach perf");
	switches("--no-lines --traffic");
}

/* --- programs in Go --------------------------------------------------------------- */

/* A path of targets/go_caller: the size of its blocks, their number in each round, and
 * some symbols of the stack, in order. */
struct go_path {
	int64_t size, blocks;
	const char *symbols[8];
	bool is_cut; /* ends in runtime.cgocallback: C called Go */
};

static const struct go_path go_paths[] = {
	{51,
	 8 * 2000,
	 {"runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_c_allocates", "main.leak",
	  "main.worker", "runtime.goexit"},
	 false},
	{52,
	 2000,
	 {"runtime.asmcgocall", "main.leak", "main.grow", "main.work.func1",
	  "main.one.func1", "runtime.goexit"},
	 false},
	/* The goroutine's stack was moved while C ran. */
	{53,
	 2000,
	 {"runtime.asmcgocall", "main._Cfunc_c_calls_back", "main.callsBack",
	  "main.one.func1", "runtime.goexit"},
	 false},
	{54,
	 2000,
	 {"runtime.asmcgocall", "main.leak", "main.goCallback", "runtime.cgocallbackg",
	  "runtime.cgocallback"},
	 true},
};

/* Is it this name? A symbol table may append the calling convention. */
static bool is_go_symbol(const json_t *frame, const char *name)
{
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));
	size_t size = strlen(name);

	return symbol && !strncmp(symbol, name, size) &&
	       (!symbol[size] || !strcmp(symbol + size, ".abi0"));
}

/* Does the row have these symbols in order, the last one in the last frame? */
static bool has_path(const json_t *row, const char *const symbols[])
{
	const json_t *frames = json_object_get(row, "frames"), *frame;
	size_t i, found = 0;
	bool is_last = false;

	json_array_foreach (frames, i, frame) {
		is_last = symbols[found] && is_go_symbol(frame, symbols[found]);
		found += is_last;
	}
	return !symbols[found] && is_last;
}

#define PATHS (sizeof(go_paths) / sizeof(*go_paths))

/* The blocks whose stack is cut short. All others must have the right path. */
static int64_t cut_short(const json_t *report, const struct go_path *path, int rounds)
{
	int64_t all = 0, right = 0;
	const json_t *row;
	size_t i;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		int64_t blocks = live_int(row, "blocks");
		bool is_whole =
			!strcmp(json_string_value(live_get(row, "end")), "complete");

		if (live_int(row, "size_bytes") != blocks * path->size)
			continue;
		all += blocks;
		if (path->is_cut)
			CHECK(!is_whole);
		if (path->is_cut || is_whole) {
			bool is_right = has_path(row, path->symbols);

			CHECK(is_right || path->is_cut);
			right += is_right ? blocks : 0;
		}
	}
	CHECK_INT(all, rounds * path->blocks);
	return all - right;
}

/* Checks a report after `rounds` rounds of work. Until memtrace has the rules of a call
 * site, stacks through it are cut short: on a busy machine for some milliseconds, in
 * which one block in fifty is allocated at most. In the rounds after `before`, a report
 * of `before_rounds` rounds, it may be one stack in a thousand. */
static void check_go(const json_t *report, int rounds, const json_t *before,
		     int before_rounds)
{
	for (size_t i = 0; i < PATHS; i++) {
		const struct go_path *path = &go_paths[i];
		int64_t blocks = (rounds - before_rounds) * path->blocks;
		int64_t cut = cut_short(report, path, rounds);

		if (before)
			cut -= cut_short(before, path, before_rounds);
		if (cut * (before ? 1000 : 50) > blocks)
			CHECK_FAIL("size %lld: %lld of %lld are cut short",
				   (long long)path->size, (long long)cut,
				   (long long)blocks);
	}
	check_losses(report);
}

#define ROUNDS 5

static void go_attached(const char *program)
{
	struct live_process *target = target_start(program);
	struct live_process *memtrace = memtrace_start(live_pid(target), "");
	json_t *first, *report;

	oracle_do(target, "work");
	first = memtrace_report(memtrace);
	check_go(first, 1, NULL, 0);
	for (int i = 1; i < ROUNDS; i++)
		oracle_do(target, "work");
	report = memtrace_stop(memtrace);
	check_go(report, ROUNDS, first, 1);
	json_decref(first);
	json_decref(report);
	live_destroy(target);
}

static void go_launched(const char *program)
{
	const char *const argv[] = {memtrace_path, "--format", "json", "--top",
				    "0",           "--older",  "0",    "--",
				    program,       "5",        NULL};
	struct live_process *memtrace = live_start(argv);
	json_t *report = live_read_json(memtrace, 60);

	REQUIRE(report);
	CHECK_INT(live_wait(memtrace, 30), 0);
	check_go(report, ROUNDS, NULL, 0);
	json_decref(report);
	live_destroy(memtrace);
}

static void in_go(void)
{
	static const char *const programs[] = {"go_caller", "go_stripped", "go_pie"};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char *path = NULL;

		REQUIRE(asprintf(&path, "%s/%s", ALLOCATORS_DIR, programs[i]) > 0);
		printf("     %s\n", programs[i]);
		if (access(path, X_OK)) {
			CHECK_SKIP_PART("%s: there is no Go compiler", path);
		} else {
			go_attached(path);
			go_launched(path);
		}
		free(path);
	}
}

int main(void)
{
	live_require_root();
	RUN(stand_in);
	RUN(in_go);
	return check_done();
}
