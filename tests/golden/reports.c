// SPDX-License-Identifier: Apache-2.0
/*
 * Each case makes a snapshot and a report of it as text and JSON, which must equal
 * NAME.txt and NAME.json byte for byte. With a directory as argument, writes the outputs
 * there instead, to be reviewed and copied here.
 */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "golden/compare.h"
#include "golden/target.h"
#include "render/table/renderers.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct symbolizer *, symbolizer_destroy);
DEFINE_CLEANUP(struct frame_cache *, frame_cache_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);

static const char *write_dir;
static bool with_lines;

/* Check the report of `snap`, after a report of `before` if that is not NULL. Destroys
 * both snapshots. */
static void check_case(const char *name, struct snapshot *before, struct snapshot *snap,
		       const struct report_options *options, enum report_cause cause)
{
	_cleanup_(symbolizer_destroyp) struct symbolizer *symbolizer =
		target_names(with_lines);
	_cleanup_(frame_cache_destroyp) struct frame_cache *cache = NULL;
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	struct report *report;

	cache = frame_cache_create(symbolizer);
	history = report_history_create();
	REQUIRE(cache && history);

	/* Only the first process has names. */
	struct frame_cache *const frames[] = {cache, NULL, NULL};

	if (before) {
		REQUIRE(!report_build(before, history, frames, options, REPORT_INTERVAL,
				      &report));
		report_destroy(report);
	}
	REQUIRE(!report_build(snap, history, frames, options, cause, &report));
	check_report(write_dir, name, report);
	report_destroy(report);
	snapshot_destroy(before);
	snapshot_destroy(snap);
}

static const struct report_options usual = {
	.sort = REPORT_SORT_SIZE, .top = 10, .older_ns = 500 * MS};

static void empty(void)
{
	struct snapshot *snap = empty_snapshot(0);

	snap->processes.data->memory = (struct snapshot_memory){0};
	snap->processes.data->executable = (free(snap->processes.data->executable), NULL);
	check_case("empty", NULL, snap, &usual, REPORT_STOPPED);
}

static void first(void)
{
	check_case("first", NULL, heap_snapshot(10 * SECOND), &usual, REPORT_INTERVAL);
}

/* Stack 0 grew by 2100 bytes and stack 1 shrank by 4 MiB. Stack 2 is below the top 2. */
static void growth(void)
{
	struct snapshot *before = heap_snapshot(5 * SECOND);
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	struct report_options options = {.top = 2, .older_ns = 0};

	before->blocks[BLOCK_HEAP].data[1].stack = 2;
	before->blocks[BLOCK_HEAP].data[2].stack = 2;
	add_block(before, BLOCK_HEAP, 0x7e0000400010, 4 * 1024 * 1024, SECOND, 1);
	before->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 12325,
		.allocated_bytes = 12345678 - 5000,
		.frees = 12338,
		.freed_bytes = 10245362 - 12,
		.frees_unknown = 50,
	};
	check_case("growth", before, snap, &options, REPORT_DEMAND);
}

/* Every block is too young to be listed. */
static void young(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->blocks[BLOCK_HEAP].data[0] = snap->blocks[BLOCK_HEAP].data[5];
	snap->blocks[BLOCK_HEAP].len = 1;
	check_case("young", NULL, snap, &usual, REPORT_INTERVAL);
}

static void hostile(void)
{
	struct snapshot *snap = empty_snapshot(3 * SECOND);
	const uint64_t frames[] = {HOSTILE_AT + 2,
				   HOSTILE_AT + 0x12,
				   HOSTILE_AT + 0x22,
				   HOSTILE_AT + 0x32,
				   0,
				   UINT64_MAX};

	free(snap->processes.data->command);
	free(snap->processes.data->executable);
	snap->processes.data->command = strdup("\x1b[2Jx\ny\"\x80");
	snap->processes.data->executable =
		strdup("/tmp/\x1b[2J\xc3\x28/\xe2\x80\xae\"exe");
	add_stack(snap, STACK_END_COMPLETE, 6, frames);
	add_block(snap, BLOCK_HEAP, 0, UINT64_MAX, 2 * SECOND, 0);
	add_block(snap, BLOCK_HEAP, 0x10, 5, 2 * SECOND, 77);
	check_case("hostile", NULL, snap, &usual, REPORT_INTERVAL);
}

static void lossy(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);
	const uint64_t frame = LOOP_AT + 1;
	uint32_t stack = add_stack(snap, STACK_END_UNREADABLE, 1, &frame);

	add_block(snap, BLOCK_HEAP, 0x13010, 32, 5 * SECOND, SNAPSHOT_NO_STACK);
	add_block(snap, BLOCK_HEAP, 0x13050, 16, 5 * SECOND, stack);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		snap->losses[i] = i * i * i + 1;
	snap->losses[LOSS_PROBES_MISSED] = UINT64_MAX;
	snap->inconsistent = true;
	snap->totals[BLOCK_HEAP].failures = 1;
	snap->min_size_bytes = 16;
	check_case("lossy", NULL, snap, &usual, REPORT_COUNT);
}

static void sampled(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->sampling.every = 100;
	snap->max_size_bytes = 1 << 20;
	check_case("sampled", NULL, snap, &usual, REPORT_DURATION);
}

static void sampled_by_bytes(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->sampling.mean_bytes = 64 * 1024;
	snap->estimated = (struct snapshot_totals){
		.allocations = 400000,
		.allocated_bytes = 99000000,
		.frees = 300000,
		.freed_bytes = 88000000,
	};
	check_case("sampled_by_bytes", NULL, snap, &usual, REPORT_DURATION);
}

static void exited(void)
{
	struct snapshot *snap = heap_snapshot(7 * SECOND);

	snap->processes.data->exited = true;
	check_case("exited", NULL, snap, &usual, REPORT_EXITED);
}

static void processes(void)
{
	struct snapshot *before = shared_snapshot(9 * SECOND);
	struct snapshot *snap = shared_snapshot(10 * SECOND);

	/* Growth is computed for each process. */
	before->blocks[BLOCK_HEAP].len = 4;
	check_case("processes", before, snap, &usual, REPORT_INTERVAL);
}

static void mappings(void)
{
	struct snapshot *snap = heap_snapshot(10 * SECOND);

	snap->mappings_traced = true;
	snap->processes.data->exited = true;
	add_block(snap, BLOCK_MAPPING, 0x7d0000000000, 1 << 20, 6 * SECOND, 0);
	add_block(snap, BLOCK_MAPPING, 0x7d0000200000, 4096, SECOND, 0);
	add_block(snap, BLOCK_MAPPING, 0x7d0000300000, 8192, 100 * MS, 1);
	snap->totals[BLOCK_MAPPING] = (struct snapshot_totals){
		.allocations = 5,
		.allocated_bytes = 1069056,
		.frees = 2,
		.freed_bytes = 8192,
		.frees_unknown = 1,
		.failures = 2,
	};
	check_case("mappings", NULL, snap, &usual, REPORT_COUNT);
}

static void allocations(void)
{
	struct report_options options = usual;

	options.show_blocks = true;
	options.sort = REPORT_SORT_COUNT;
	options.top = 1;
	check_case("allocations", NULL, heap_snapshot(10 * SECOND), &options,
		   REPORT_INTERVAL);
}

static void combined(void)
{
	struct report_options options = usual;

	options.combined_only = true;
	options.show_blocks = true;
	check_case("combined", NULL, heap_snapshot(10 * SECOND), &options,
		   REPORT_INTERVAL);
}

static void lines(void)
{
	with_lines = true;
	check_case("lines", NULL, lines_snapshot(), &usual, REPORT_INTERVAL);
	with_lines = false;
}

static void short_paths(void)
{
	struct report_options options = usual;

	with_lines = true;
	options.paths = REPORT_FORM_SHORT;
	check_case("short_paths", NULL, lines_snapshot(), &options, REPORT_INTERVAL);
	with_lines = false;
}

/* renderer_find() finds each format by its name and nothing else. */
static void names(void)
{
	size_t count = 0;

	for (const struct renderer *const *it = renderers; *it; it++, count++)
		CHECK(renderer_find((*it)->name) == *it);
	CHECK(count >= 2);
	CHECK(!renderer_find("xml"));
	CHECK(!renderer_find(""));
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(names);
	RUN(empty);
	RUN(first);
	RUN(growth);
	RUN(young);
	RUN(hostile);
	RUN(lossy);
	RUN(sampled);
	RUN(sampled_by_bytes);
	RUN(exited);
	RUN(processes);
	RUN(mappings);
	RUN(allocations);
	RUN(combined);
	RUN(lines);
	RUN(short_paths);
	return check_done();
}
