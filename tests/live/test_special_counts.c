// SPDX-License-Identifier: Apache-2.0
/* Counts in special cases that earlier versions got wrong: pid namespaces, mappings,
 * realloc, stacks without a frame pointer. The comment of each test says how it would
 * fail. */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define STANDS    "tracing pid"
#define TIMEOUT_S 30
#define PAGE      4096

static struct live_process *mover_start(const char *mode)
{
	const char *const argv[] = {MOVER_BINARY, mode, NULL};
	struct live_process *mover = live_start(argv);
	json_t *ready = live_read_json(mover, TIMEOUT_S);

	REQUIRE(ready);
	json_decref(ready);
	return mover;
}

/*
 * memtrace and the target run in their own pid namespace. The target's pid in it differs
 * from its pid in the initial namespace. If memtrace compared the two, it would see no
 * call at all.
 */
static void pid_namespace(void)
{
	static const char script[] =
		MOVER_BINARY " steady >/dev/null & sleep 0.5; " MEMTRACE_BINARY
			     " --pid $! --format json --older 0 --top 0 -i 3600 -d 1";
	const char *const argv[] = {"unshare",      "-p",           "-f",
				    "--kill-child", "--mount-proc", "sh",
				    "-c",           script,         NULL};
	struct live_process *namespace = live_start(argv);
	json_t *report = live_read_json(namespace, TIMEOUT_S);

	if (!report)
		live_fail("no report in a pid namespace: %s", live_stderr(namespace));

	int64_t blocks = live_int(report, "heap.live_blocks");

	/* 100 blocks every 100 ms, half of them freed, for a second and a little more
	 * while the probes are loaded. */
	CHECK(blocks >= 200 && blocks <= 1200);
	CHECK_INT(live_int(report, "heap.totals.allocations") -
			  live_int(report, "heap.totals.frees"),
		  blocks);
	CHECK(live_int(report, "heap.totals.frees") > 0);
	CHECK_INT(live_int(report, "heap.live_bytes"), 1000 * blocks);
	CHECK_INT(report_site(report, "heap", "site_steady").blocks, blocks);
	CHECK_STR(json_string_value(live_get(report, "target.command")), "mover");
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	CHECK_INT(live_wait(namespace, TIMEOUT_S), 0);
	live_destroy(namespace);
}

/* The bytes of the mappings that the oracle holds. */
static int64_t mapped_bytes(const json_t *truth)
{
	const json_t *site;
	int64_t bytes = 0;
	size_t i;

	json_array_foreach (live_get(truth, "mappings"), i, site)
		bytes += live_int(site, "bytes");
	return bytes;
}

static void not_scaled(const json_t *object)
{
	static const char *const keys[][2] = {{"estimated_blocks", "blocks"},
					      {"estimated_size_bytes", "size_bytes"}};

	for (size_t i = 0; i < 2; i++) {
		if (json_object_get(object, keys[i][0]))
			CHECK_INT(live_int(object, keys[i][0]),
				  live_int(object, keys[i][1]));
	}
}

static void check_mappings(const char *options)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);
	const json_t *row;
	size_t i;

	oracle_do(oracle, "run mappings 10 1");

	json_t *truth = oracle_ask(oracle, "truth");
	json_t *report = memtrace_stop(memtrace);

	CHECK(mapped_bytes(truth) > 0);
	CHECK_INT(compare_mappings(truth, report), 0);
	CHECK_INT(live_int(report, "mappings.totals.frees_unknown"), 0);
	json_array_foreach (live_get(report, "mappings.stacks"), i, row)
		not_scaled(row);
	json_decref(truth);
	json_decref(report);
	live_destroy(oracle);
}

/* Mappings are never sampled: as estimates their sums would be 100 times too large. The
 * size bounds are for blocks: small mappings would be missing. */
static void mappings_are_all_there(void)
{
	check_mappings("--mappings --sample-every 100");
	check_mappings("--mappings -z 1M");
	check_mappings("--mappings -Z 100");
}

/* The same in the text report: the sum of the lines would be 100 times too large. */
static void mappings_in_the_text_are_not_scaled(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start_plain(
		live_pid(oracle),
		"--mappings --sample-every 100 --older 0 --top 0 -i 3600");
	long long bytes, count, sum = 0, pieces = 0, want_pieces = 0;
	const json_t *site;
	bool seen = false;
	char *line;
	size_t i;

	REQUIRE(live_wait_stderr(memtrace, STANDS, TIMEOUT_S));
	oracle_do(oracle, "run mappings 10 1");

	json_t *truth = oracle_ask(oracle, "truth");

	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		int end = 0;

		seen = seen || strstr(line, "stacks with outstanding mappings:");
		if (sscanf(line, "\t%lld bytes in %lld mapping%n", &bytes, &count,
			   &end) == 2 &&
		    end) {
			sum += bytes;
			pieces += count;
		}
		free(line);
	}
	json_array_foreach (live_get(truth, "mappings"), i, site)
		want_pieces += live_int(site, "blocks");
	CHECK(seen);
	CHECK_INT(sum, mapped_bytes(truth));
	CHECK_INT(pieces, want_pieces);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	json_decref(truth);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/*
 * The block is live at every moment, also inside realloc. If memtrace removed it at the
 * entry of the call and added it at the return, a report in between would have no block.
 * In the other order it would have two.
 */
static void check_one_block(const char *mode, int64_t small, int64_t large)
{
	struct live_process *mover = mover_start(mode);
	struct live_process *memtrace =
		memtrace_start(live_pid(mover), "--interval 0.02 --count 100");
	unsigned reports = 0, begun = 0, wrong = 0;
	json_t *report;

	live_send(mover, "work");
	while ((report = live_read_json(memtrace, TIMEOUT_S))) {
		int64_t blocks = live_int(report, "heap.live_blocks");
		int64_t bytes = live_int(report, "heap.live_bytes");
		struct site_sum sum = report_site(report, "heap", "site_move");

		reports++;
		/* The first reports may be from before the first block. */
		if (begun || live_int(report, "heap.totals.allocations")) {
			begun++;
			if (blocks != 1 || sum.blocks != 1 ||
			    (bytes != small && bytes != large)) {
				wrong++;
				fprintf(stderr,
					"%s, report %u: %lld blocks, %lld bytes, "
					"%lld blocks at the site\n",
					mode, reports, (long long)blocks,
					(long long)bytes, (long long)sum.blocks);
			}
		}
		json_decref(report);
	}
	CHECK_INT(reports, 100);
	CHECK(begun >= 50);
	CHECK_INT(wrong, 0);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK(live_is_running(mover));
	CHECK_STR(live_stderr(mover), "");
	live_destroy(memtrace);
	live_destroy(mover);
}

static void a_block_in_realloc_is_one_block(void)
{
	check_one_block("grow", 100, 100000);
	check_one_block("move", 5000, 300000);
}

/*
 * MREMAP_DONTUNMAP keeps the old mapping, an old size of 0 removes nothing, and a munmap
 * that fails neither frees nor counts as a failed allocation. Otherwise the last munmap
 * of the old range would be unknown, or failures would be counted.
 */
static void mappings_that_stay(void)
{
	struct live_process *mover = mover_start("maps");
	struct live_process *memtrace = memtrace_start(live_pid(mover), "--mappings");
	static const char *const sites[] = {"site_map", "site_map_shared",
					    "site_keep_old", "site_copy"};

	oracle_do(mover, "make");

	json_t *report = memtrace_report(memtrace);

	for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
		struct site_sum sum = report_site(report, "mappings", sites[i]);

		CHECK_INT(sum.blocks, 1);
		CHECK_INT(sum.bytes, 4 * PAGE);
	}
	CHECK_INT(live_int(report, "mappings.live_blocks"), 4);
	CHECK_INT(live_int(report, "mappings.totals.failures"), 0);
	CHECK_INT(live_int(report, "mappings.totals.frees_unknown"), 0);
	CHECK_INT(live_int(report, "mappings.totals.freed_bytes"), 0);
	json_decref(report);

	oracle_do(mover, "unmap");
	report = memtrace_stop(memtrace);
	CHECK_INT(live_int(report, "mappings.live_blocks"), 0);
	CHECK_INT(live_int(report, "mappings.live_bytes"), 0);
	CHECK_INT(live_int(report, "mappings.totals.failures"), 0);
	CHECK_INT(live_int(report, "mappings.totals.frees_unknown"), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	live_destroy(mover);
}

/* A caller without a frame pointer may have 0 in rbp. If unwinding took that for the end
 * of the stack, the stack would count as complete although all callers are missing. */
static void rbp_0_is_not_the_end(void)
{
	struct live_process *mover = mover_start("rbp");
	struct live_process *memtrace = memtrace_start(live_pid(mover), "--unwind fp");
	const json_t *row;
	unsigned rows = 0;
	size_t i;

	oracle_do(mover, "work");

	json_t *report = memtrace_stop(memtrace);

	CHECK_INT(report_site(report, "heap", "site_no_rbp").blocks, 10);
	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		const char *site = row_site(row);

		if (!site || strcmp(site, "site_no_rbp") != 0)
			continue;
		rows++;
		CHECK(strcmp(json_string_value(live_get(row, "end")), "complete") != 0);
	}
	CHECK(rows > 0);
	json_decref(report);
	live_destroy(mover);
}

int main(void)
{
	live_require_root();
	RUN(pid_namespace);
	RUN(mappings_are_all_there);
	RUN(mappings_in_the_text_are_not_scaled);
	RUN(a_block_in_realloc_is_one_block);
	RUN(mappings_that_stay);
	RUN(rbp_0_is_not_the_end);
	return check_done();
}
