// SPDX-License-Identifier: Apache-2.0
/* Details of rows, single blocks, sizes and threads. */
#include "unit/render/fixture.h"

#include "report/view.h"
#include "snapshot/sums.h"

static const struct report *build(struct fixture *f, const struct report_options *options)
{
	if (!f->report)
		fixture_report(f);
	report_history_destroy(f->history);
	f->history = report_history_create();
	REQUIRE(f->history);
	report_destroy(f->report);
	REQUIRE(!report_build(f->snap, f->history, f->frames, options, REPORT_STOPPED,
			      &f->report));
	return f->report;
}

static void add_aged(struct fixture *f, uint64_t size_bytes, uint64_t age_ns)
{
	fixture_block(f, BLOCK_HEAP, size_bytes, 1, 0);
	f->snap->blocks[BLOCK_HEAP].data[f->snap->blocks[BLOCK_HEAP].len - 1].time_ns =
		f->snap->time_ns - age_ns;
}

/* Checks the definition of the median: at least half of the blocks are that old, and less
 * than half are older. */
static void check_median(const struct fixture *f, uint64_t median_ns)
{
	size_t older = 0, count = f->snap->blocks[BLOCK_HEAP].len, at_least = 0;

	vec_foreach (block, &f->snap->blocks[BLOCK_HEAP]) {
		at_least += f->snap->time_ns - block->time_ns >= median_ns;
		older += f->snap->time_ns - block->time_ns > median_ns;
	}
	CHECK(2 * at_least >= count);
	CHECK(2 * older < count);
}

static void medians(void)
{
	static const uint64_t ages[] = {5, 1, 9, 9, 700, 65536, 3, FIXTURE_NS * 9, 0, 4};
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.older_ns = 0};

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x10);
	for (size_t i = 0; i < sizeof(ages) / sizeof(*ages); i++) {
		add_aged(&f, 10, ages[i]);
		check_median(&f, build(&f, &options)->sections[0].rows[0].median_age_ns);
	}
	/* Only of the listed blocks. */
	options.older_ns = 10;
	CHECK_INT(build(&f, &options)->sections[0].rows[0].median_age_ns, 65536);
	/* Also of many blocks. */
	options.older_ns = 0;
	for (uint64_t i = 0; i < 60; i++) {
		add_aged(&f, 10, i * i * 7919 % 100003);
		check_median(&f, build(&f, &options)->sections[0].rows[0].median_age_ns);
	}
}

static void sizes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 1};

	fixture_init(&f);
	fixture_fill(&f);

	const struct report_section *heap = &build(&f, &options)->sections[0];

	/* Two blocks of a mebibyte: 2^20 is the least size in bucket 21. */
	REQUIRE(heap->rows[0].size_count == 1);
	CHECK_INT(heap->rows[0].sizes[0].bucket, 21);
	CHECK_INT(heap->rows[0].sizes[0].count, 2);
	CHECK(!heap->rows[0].blocks);
	CHECK_INT(heap->live_sizes[21], 2);
	CHECK_INT(heap->live_sizes[11], 2);
	CHECK_INT(heap->live_sizes[10], 1);
	CHECK_INT(heap->live_sizes[7], 1);
	CHECK_INT(heap->live_sizes[3], 1);
	f.snap->sampling.every = 100;
	heap = &build(&f, &options)->sections[0];
	CHECK_INT(heap->rows[0].sizes[0].count, 200);
	CHECK_INT(heap->live_sizes[3], 100);
}

static void threads_of_rows(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 0};

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x10);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x20);
	for (uint32_t i = 0; i < 1000; i++)
		fixture_block(&f, BLOCK_HEAP, i % 3 ? 10 : 100, i % 10, 0);
	fixture_block(&f, BLOCK_HEAP, 5, 0, 1);
	fixture_block(&f, BLOCK_HEAP, 6, 77, 1);

	const struct report_section *heap = &build(&f, &options)->sections[0];
	const struct report_row *row = &heap->rows[0];
	uint64_t bytes = 0, count = 0;

	REQUIRE(row->thread_count == 10);
	for (size_t i = 0; i < 10; i++) {
		const struct report_share *share = &row->threads[i];

		CHECK_INT(share->count, 100);
		bytes += share->size_bytes;
		count += share->count;
		if (i)
			CHECK(share->size_bytes < share[-1].size_bytes ||
			      (share->size_bytes == share[-1].size_bytes &&
			       share->tid > share[-1].tid));
	}
	CHECK_INT(bytes, row->sum.size_bytes);
	CHECK_INT(count, row->sum.count);
	/* The map handles key 0 separately: thread 0. */
	row = &heap->rows[1];
	REQUIRE(row->thread_count == 2);
	CHECK_INT(row->threads[0].tid, 77);
	CHECK_INT(row->threads[1].size_bytes, 5);
}

/* The same with so many threads that a table finds them, and few again. */
static void many_threads_of_rows(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 0};

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x10);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x20);
	for (uint32_t i = 0; i < 2000; i++)
		fixture_block(&f, BLOCK_HEAP, 10 + i % 100, i * 7 % 100, 0);
	for (uint32_t i = 0; i < 30; i++)
		fixture_block(&f, BLOCK_HEAP, 5, i % 15, 1);

	const struct report_section *heap = &build(&f, &options)->sections[0];
	const struct report_row *row = &heap->rows[0];

	REQUIRE(row->thread_count == 100);
	for (size_t i = 0; i < 100; i++) {
		const struct report_share *share = &row->threads[i];

		/* The thread of the blocks of 109 bytes, then of 108... */
		CHECK_INT(share->tid, (99 - i) * 7 % 100);
		CHECK_INT(share->count, 20);
		CHECK_INT(share->size_bytes, 20 * (109 - i));
	}
	row = &heap->rows[1];
	REQUIRE(row->thread_count == 15);
	for (size_t i = 0; i < 15; i++) {
		CHECK_INT(row->threads[i].tid, i);
		CHECK_INT(row->threads[i].count, 2);
	}
}

/* Without the details of blocks, rows are the same; also of several processes. */
static void check_sums_only(bool in_two)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options full = {.top = 0}, sums = {.sums_only = true};
	struct report_row rows[8];
	const struct report_section *heap;
	size_t count;

	fixture_init(&f);
	fixture_fill(&f);
	if (in_two)
		fixture_process(&f, 4322, "other");
	heap = &build(&f, &full)->sections[0];
	count = heap->row_count;
	REQUIRE(count && count <= 8 && heap->rows[0].thread_count);
	memcpy(rows, heap->rows, count * sizeof(*rows));
	heap = &build(&f, &sums)->sections[0];
	REQUIRE(heap->row_count == count);
	for (size_t i = 0; i < count; i++) {
		const struct report_row *row = &heap->rows[i];

		CHECK_INT(row->stack, rows[i].stack);
		CHECK_INT(row->sum.size_bytes, rows[i].sum.size_bytes);
		CHECK_INT(row->sum.estimated_count, rows[i].sum.estimated_count);
		CHECK_INT(row->oldest_age_ns, rows[i].oldest_age_ns);
		CHECK_INT(row->process_count, rows[i].process_count);
		CHECK(!row->size_count && !row->thread_count && !row->median_age_ns);
	}
}

static void sums_only(void)
{
	check_sums_only(false);
	check_sums_only(true);
}

/* Sums in the snapshot give the same report as its blocks. */
static void summed_snapshot(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.sums_only = true};
	struct report_section before;
	struct report_row rows[8];
	struct report_sum live;
	struct snapshot sums, *whole;
	const struct report_section *heap;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->sampling = (struct sampling){1, 4096};
	fixture_block(&f, BLOCK_HEAP, 77, 5, SNAPSHOT_NO_STACK);
	heap = &build(&f, &options)->sections[0];
	before = *heap;
	live = heap->processes[0].live;
	REQUIRE(heap->row_count > 1 && heap->row_count <= 8);
	memcpy(rows, heap->rows, heap->row_count * sizeof(*rows));

	REQUIRE(snapshot_sums(f.snap, &sums));
	CHECK_INT(sums.held[BLOCK_HEAP].len, f.snap->stacks.len + 1);
	CHECK_INT(sums.blocks[BLOCK_HEAP].len, 0);
	CHECK_INT(sums.held[BLOCK_MAPPING].len, 0);
	whole = f.snap;
	f.snap = &sums;
	heap = &build(&f, &options)->sections[0];
	CHECK_INT(heap->row_count, before.row_count);
	CHECK(!memcmp(&heap->live, &before.live, sizeof(before.live)));
	CHECK(!memcmp(&heap->listed, &before.listed, sizeof(before.listed)));
	CHECK(!memcmp(&heap->processes[0].live, &live, sizeof(live)));
	for (size_t i = 0; i < heap->row_count && i < before.row_count; i++) {
		CHECK_INT(heap->rows[i].stack, rows[i].stack);
		CHECK(!memcmp(&heap->rows[i].sum, &rows[i].sum, sizeof(rows[i].sum)));
		CHECK_INT(heap->rows[i].oldest_age_ns, rows[i].oldest_age_ns);
		CHECK_INT(heap->rows[i].newest_age_ns, rows[i].newest_age_ns);
	}
	/* A report that wants more has no more. */
	CHECK(!build(&f, &(struct report_options){.show_blocks = true})
		       ->sections[0]
		       .rows[0]
		       .block_count);
	report_destroy(f.report);
	f.report = NULL;
	f.snap = whole;
	snapshot_sums_deinit(&sums);

	/* Blocks of two processes stay blocks. */
	fixture_process(&f, 4322, "other");
	REQUIRE(snapshot_sums(f.snap, &sums));
	CHECK_INT(sums.held[BLOCK_HEAP].len, 0);
	CHECK_INT(sums.blocks[BLOCK_HEAP].len, f.snap->blocks[BLOCK_HEAP].len);
	snapshot_sums_deinit(&sums);
}

/* The largest of many blocks, added in random order. */
static void singles(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.singles = 20, .older_ns = 1};

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x10);
	for (uint32_t i = 0; i < 1000; i++)
		add_aged(&f, i * 7919 % 1000, i % 10 ? 5 : 0);

	const struct report_section *heap = &build(&f, &options)->sections[0];
	uint64_t want = 1000;

	REQUIRE(heap->single_count == 20);
	for (size_t i = 0; i < 20; i++) {
		/* Every tenth block is too young: those whose size ends with 0. */
		want -= want % 10 == 1 ? 2 : 1;
		CHECK_INT(heap->singles[i].block->size_bytes, want);
		CHECK_INT(heap->singles[i].row->depth, 1);
	}

	struct report view;

	options.singles = 3;
	REQUIRE(!report_view(f.report, &options, &view));
	CHECK_INT(view.sections[0].single_count, 3);
	options.singles = UINT64_MAX;
	CHECK_INT(build(&f, &options)->sections[0].single_count, 900);
	options.singles = 0;
	CHECK_INT(build(&f, &options)->sections[0].single_count, 0);
}

static void add_traffic(struct fixture *f, uint64_t allocations, uint64_t bytes)
{
	const struct snapshot_traffic traffic = {.allocations = allocations,
						 .allocated_bytes = bytes,
						 .frees = allocations / 2,
						 .freed_bytes = bytes / 2,
						 .peak_bytes = bytes / 4,
						 .peak_count = 1};

	REQUIRE(vec_push(&f->snap->traffic, traffic));
}

/* Rows of freed blocks, since the attach and since the previous report. */
static void traffic(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	struct report_options options = {.past = true, .sort = REPORT_SORT_TRAFFIC};
	struct report *second;

	fixture_init(&f);
	fixture_fill(&f);
	f.snap->has_traffic = true;
	f.snap->blocks[BLOCK_HEAP].len = 2;
	add_traffic(&f, 10, 1000);
	add_traffic(&f, 100, 10000);
	add_traffic(&f, 0, 0);

	const struct report_section *heap = &build(&f, &options)->sections[0];

	REQUIRE(heap->row_count == 2);
	CHECK_INT(heap->held_count, 1);
	CHECK_INT(heap->rows[0].stack, 1);
	CHECK_INT(heap->rows[0].sum.count, 0);
	CHECK_INT(heap->rows[0].oldest_age_ns, 0);
	CHECK_INT(heap->rows[0].flow.allocated_bytes, 10000);
	CHECK_INT(heap->rows[0].since.allocations, 100);
	CHECK_INT(heap->rows[0].peak_bytes, 2500);
	/* In ten seconds. */
	CHECK(heap->rows[0].rates.allocations == 10);
	CHECK(heap->rows[0].rates.freed_bytes == 500);

	/* Without freed blocks it equals the report of live blocks. */
	struct report view;

	options.past = false;
	REQUIRE(!report_view(f.report, &options, &view));
	REQUIRE(view.sections[0].row_count == 1);
	CHECK_INT(view.sections[0].stack_count, 1);
	CHECK_INT(view.sections[0].rows[0].stack, 0);
	CHECK_INT(view.sections[0].rows[0].rank, 0);

	f.snap->traffic.data[1].allocations += 8;
	f.snap->traffic.data[1].allocated_bytes += 80;
	f.snap->time_ns += 2 * FIXTURE_NS;
	f.snap->sampling.every = 10;
	options.past = true;
	REQUIRE(!report_build(f.snap, f.history, f.frames, &options, REPORT_STOPPED,
			      &second));

	const struct report_row *row = &second->sections[0].rows[0];

	CHECK_INT(row->since_traced.allocations, 8);
	CHECK_INT(row->since.allocations, 80);
	CHECK_INT(row->since.allocated_bytes, 800);
	CHECK_INT(row->since.frees, 0);
	CHECK(row->rates.allocations == 40);
	CHECK_INT(row->flow.allocations, 1080);
	report_destroy(second);
}

/* With --sample-bytes the estimates are the snapshot's own. */
static void traffic_by_bytes(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.past = true};
	const struct snapshot_traffic first = {.allocations = 2,
					       .allocated_bytes = 200,
					       .peak_bytes = 100,
					       .peak_count = 1,
					       .estimated_allocations = 70,
					       .estimated_allocated_bytes = 7000,
					       .estimated_frees = 35,
					       .estimated_temporary = 3,
					       .estimated_peak_bytes = 3500};

	fixture_init(&f);
	FIXTURE_STACK(&f, STACK_END_COMPLETE, 0x10);
	f.snap->has_traffic = true;
	f.snap->sampling.mean_bytes = 4096;
	f.snap->peak_bytes = 150;
	f.snap->estimated_peak_bytes = 5000;
	REQUIRE(vec_push(&f.snap->traffic, first));

	const struct report_section *heap = &build(&f, &options)->sections[0];
	const struct report_row *row = &heap->rows[0];

	REQUIRE(heap->row_count == 1);
	CHECK_INT(row->flow.allocations, 70);
	CHECK_INT(row->since.allocated_bytes, 7000);
	CHECK_INT(row->since_traced.allocated_bytes, 200);
	CHECK_INT(row->flow.frees, 35);
	CHECK_INT(row->flow.temporary, 3);
	CHECK_INT(row->peak_bytes, 3500);
	CHECK_INT(row->peak_count, 35);
	CHECK_INT(heap->peak_bytes, 5000);
	CHECK(row->rates.allocations == 7);
}

static void threads(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	const struct report_options options = {.top = 0};
	const struct snapshot_thread list[] = {
		{.tid = 1,
		 .allocations = 5,
		 .allocated_bytes = 50,
		 .freed_own = 5,
		 .freed_own_bytes = 50},
		{.tid = 2,
		 .allocations = 5,
		 .allocated_bytes = 50,
		 .freed_by_others = 1,
		 .freed_by_others_bytes = 10},
		/* A process that does not exist, and more frees than allocations. */
		{.tid = 3,
		 .process = 9,
		 .allocations = 1,
		 .allocated_bytes = 60,
		 .freed_own = 4,
		 .freed_own_bytes = 70},
	};

	fixture_init(&f);
	for (size_t i = 0; i < 3; i++)
		REQUIRE(vec_push(&f.snap->threads, list[i]));
	CHECK_INT(build(&f, &options)->thread_count, 0);
	f.snap->has_traffic = true;

	const struct report *report = build(&f, &options);

	REQUIRE(report->thread_count == 3);
	CHECK_INT(report->threads[0].thread->tid, 2);
	CHECK_INT(report->threads[0].live_bytes, 40);
	CHECK_INT(report->threads[0].live_count, 4);
	CHECK(report->threads[0].process == f.snap->processes.data);
	CHECK_INT(report->threads[1].thread->tid, 3);
	CHECK_INT(report->threads[1].live_bytes, 0);
	CHECK(!report->threads[1].process);
	CHECK_INT(report->threads[2].thread->tid, 1);
}

/* Each order, with the data that it needs. */
static void sorts(void)
{
	static const uint32_t first[REPORT_SORTS] = {
		[REPORT_SORT_SIZE] = 2,      [REPORT_SORT_COUNT] = 0,
		[REPORT_SORT_TRAFFIC] = 3,   [REPORT_SORT_GROWTH] = 2,
		[REPORT_SORT_AGE] = 1,       [REPORT_SORT_PEAK] = 0,
		[REPORT_SORT_TEMPORARY] = 1, [REPORT_SORT_CUMULATIVE] = 2,
		[REPORT_SORT_AT_PEAK] = 3,   [REPORT_SORT_LOST] = 1,
	};
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	add_aged(&f, 1, 5);
	f.snap->blocks[BLOCK_HEAP].data[2].time_ns -= FIXTURE_NS;
	for (uint64_t i = 0; i < 4; i++) {
		add_traffic(&f, i, i * 100);
		f.snap->traffic.data[i].peak_bytes = 9 - i;
		f.snap->traffic.data[i].temporary = i == 1;
		REQUIRE(vec_push(&f.snap->at_peak, (struct snapshot_at_peak){i, 1}));
		REQUIRE(vec_push(&f.snap->unreachable,
				 (struct snapshot_unreachable){.lost = {7 * (i == 1), 1},
							       .held = {i, 1}}));
	}
	for (int i = 0; i < REPORT_SORTS; i++) {
		const struct report_options options = {.sort = (enum report_sort)i};
		const struct report *report;

		f.snap->has_traffic = f.snap->has_at_peak = true;
		f.snap->search.count = 1;
		report = build(&f, &options);
		CHECK_INT(report->sections[0].rows[0].stack, first[i]);
		CHECK_INT(report->sort, i);
		if (i == REPORT_SORT_AT_PEAK) {
			f.snap->has_at_peak = false;
			report = build(&f, &options);
			CHECK_INT(report->sort, REPORT_SORT_PEAK);
		}
		f.snap->has_traffic = f.snap->has_at_peak = false;
		f.snap->search.count = 0;
		report = build(&f, &options);
		CHECK_INT(report->sort,
			  report_sort_needs((enum report_sort)i) ? REPORT_SORT_SIZE : i);
	}
}

int main(void)
{
	RUN(medians);
	RUN(sizes);
	RUN(threads_of_rows);
	RUN(many_threads_of_rows);
	RUN(sums_only);
	RUN(summed_snapshot);
	RUN(singles);
	RUN(traffic);
	RUN(traffic_by_bytes);
	RUN(threads);
	RUN(sorts);
	return check_done();
}
