/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in C++ and Rust: whichever functions their expressions and collections call,
 * each block counts once, with the size that the allocator was asked for.
 */
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define BLOCKS 200

#if defined(__x86_64__)
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#endif

/* NULL, with a note, if something is not installed. `preload`: base name, or NULL. */
static struct live_process *start(const char *program, const char *preload)
{
	char *path = NULL, *library = NULL;
	struct live_process *target = NULL;

	REQUIRE(asprintf(&path, "%s/%s", ALLOCATORS_DIR, program) > 0);
	REQUIRE(asprintf(&library, LIBRARIES "%s", preload ? preload : "") > 0);
	if (access(path, X_OK)) {
		CHECK_SKIP_PART("%s could not be built here", path);
	} else if (access(library, R_OK)) {
		CHECK_SKIP_PART("%s is not installed", library);
	} else {
		target = target_start_with(preload ? library : NULL, path);
	}
	free(path);
	free(library);
	return target;
}

/* How many blocks of this size the report lists (--show-allocs). */
static int64_t blocks_of_size(const json_t *report, int64_t size)
{
	const json_t *row, *block;
	int64_t count = 0;
	size_t i, k;

	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		json_array_foreach (live_get(row, "allocations"), k, block)
			count += live_int(block, "size_bytes") == size;
	return count;
}

/* Compares by block size, which needs no stacks: the code of the runtime library, between
 * a call path and malloc, may have no frame pointers. */
static void check_sizes(const json_t *truth, const json_t *report)
{
	const json_t *site;
	int64_t blocks = 0;
	size_t i;

	json_array_foreach (live_get(truth, "sites"), i, site) {
		int64_t got = blocks_of_size(report, live_int(site, "size"));

		if (got != live_int(site, "blocks"))
			CHECK_FAIL("%s: %lld blocks, the truth is %lld",
				   json_string_value(live_get(site, "site")),
				   (long long)got, (long long)live_int(site, "blocks"));
		blocks += live_int(site, "blocks");
	}
	CHECK_INT(live_int(report, "heap.live_blocks"), blocks);
}

static void check_report(struct live_process *target, const json_t *report, bool direct)
{
	json_t *truth = oracle_ask(target, "truth");

	check_sizes(truth, report);
	if (direct)
		CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_totals(truth, report), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	json_decref(truth);
}

/* `direct`: the call paths call the allocator themselves, so they are on each stack. */
static void check(const char *program, const char *preload, unsigned functions,
		  const char *options, bool direct)
{
	struct live_process *target = start(program, preload);
	char words[128];

	if (!target)
		return;
	snprintf(words, sizeof(words), "--show-allocs %s", options);

	struct live_process *memtrace = memtrace_start(live_pid(target), words);

	oracle_do(target, "run %d", BLOCKS);
	json_t *report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), functions * BLOCKS);
	check_report(target, report, direct);
	json_decref(report);

	oracle_do(target, "release");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	check_report(target, report, direct);
	json_decref(report);
	CHECK(live_is_running(target));
	live_destroy(target);
}

/* The lengths of the tables in targets/operators.cc and targets/collections.rs. */
#define OPERATORS   27
#define COLLECTIONS 12

/* libstdc++'s operators call malloc or aligned_alloc. */
static void cxx_over_glibc(void)
{
	check("operators", NULL, OPERATORS, "", false);
	check("operators", NULL, OPERATORS, "--attach perf", false);
	check("operators", NULL, OPERATORS, "--mappings", false);
}

/* jemalloc defines the operators itself. */
static void cxx_over_jemalloc(void)
{
	check("operators", "libjemalloc.so.2", OPERATORS, "", true);
}

static void cxx_over_tcmalloc(void)
{
	check("operators", "libtcmalloc_minimal.so.4", OPERATORS, "", true);
}

static void cxx_over_mimalloc(void)
{
	check("operators", "libmimalloc.so.2", OPERATORS, "", true);
}

static void rust(void)
{
	check("collections", NULL, COLLECTIONS, "", false);
	check("collections", NULL, COLLECTIONS, "--attach perf", false);
	check("collections", "libjemalloc.so.2", COLLECTIONS, "", false);
}

/*
 * An allocation that fails, or whose constructor throws, leaves nothing behind: neither
 * in the report nor among the pending calls, where it would disturb later calls.
 */
static void check_failures(const char *preload, const char *command, int64_t failures)
{
	const int64_t times = 100;
	struct live_process *target = start("operators", preload);

	if (!target)
		return;

	struct live_process *memtrace = memtrace_start(live_pid(target), "--show-allocs");

	oracle_do(target, "%s %d", command, (int)times);
	json_t *report = memtrace_report(memtrace);
	CHECK_INT(live_int(report, "heap.totals.failures"), failures * times);
	CHECK_INT(live_int(report, "heap.live_blocks"), 0);
	CHECK_INT(live_int(report, "heap.totals.frees"),
		  live_int(report, "heap.totals.allocations"));
	CHECK_INT(live_int(report, "heap.totals.frees_unknown"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);

	oracle_do(target, "run %d", BLOCKS);
	report = memtrace_stop(memtrace);

	json_t *truth = oracle_ask(target, "truth");

	check_sizes(truth, report);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(truth);
	json_decref(report);
	CHECK(live_is_running(target));
	live_destroy(target);
}

static void failures(void)
{
	check_failures(NULL, "fail", 2);
	check_failures("libjemalloc.so.2", "fail", 2);
	check_failures("libtcmalloc_minimal.so.4", "fail", 2);
	/* Not if memtrace probes the return of operator new: see docs/limitations.md. */
	check_failures(NULL, "throw", 1);
}

int main(void)
{
	live_require_root();
	RUN(cxx_over_glibc);
	RUN(cxx_over_jemalloc);
	RUN(cxx_over_tcmalloc);
	RUN(cxx_over_mimalloc);
	RUN(rust);
	RUN(failures);
	return check_done();
}
