// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "report/report.h"
#include "symbol_table.h"
#include "util/cleanup.h"

#define SECOND UINT64_C(1000000000)

static const struct symbol_row symbols[] = {
	{0x1000, 0x2000, "leaf", "/bin/target"},
	{0x2000, 0x3000, "middle", "/bin/target"},
	{0x3000, 0x4000, "root", "/bin/target"},
};

/* State of each test: a snapshot whose stacks are 0x1001+n, 0x2000, 0x3000. */
struct bench {
	struct symbolizer *symbolizer;
	struct frame_cache *frames;
	struct report_history *history;
	struct snapshot *snap;
	struct report_options options;
	struct report *report;
};

static void bench_init(struct bench *b, size_t stacks)
{
	*b = (struct bench){0};
	REQUIRE(!symbolizer_table_create(symbols, 3, &b->symbolizer));
	b->frames = frame_cache_create(b->symbolizer);
	b->history = report_history_create();
	b->snap = snapshot_create();
	REQUIRE(b->frames && b->history && b->snap);
	REQUIRE(snapshot_add_process(b->snap, 7));
	b->snap->attached_ns = 100 * SECOND;
	b->snap->time_ns = 110 * SECOND;
	for (size_t i = 0; i < stacks; i++) {
		struct snapshot_stack stack = {
			.first_frame = (uint32_t)b->snap->frames.len, .depth = 3};

		REQUIRE(vec_push(&b->snap->frames, 0x1001 + i));
		REQUIRE(vec_push(&b->snap->frames, 0x3000));
		REQUIRE(vec_push(&b->snap->frames, 0x3001));
		REQUIRE(vec_push(&b->snap->stacks, stack));
	}
}

static void bench_deinit(struct bench *b)
{
	report_destroy(b->report);
	snapshot_destroy(b->snap);
	report_history_destroy(b->history);
	frame_cache_destroy(b->frames);
	symbolizer_destroy(b->symbolizer);
}

static void add(struct bench *b, uint64_t size_bytes, uint64_t age_ns, uint32_t stack)
{
	struct snapshot_block block = {
		.address = 0x10 * (b->snap->blocks[BLOCK_HEAP].len + 1),
		.size_bytes = size_bytes,
		.time_ns = b->snap->time_ns - age_ns,
		.stack = stack,
		.tid = 7,
	};

	REQUIRE(vec_push(&b->snap->blocks[BLOCK_HEAP], block));
}

static const struct report_section *build_as(struct bench *b, enum report_cause cause)
{
	report_destroy(b->report);
	b->report = NULL;
	REQUIRE(!report_build(b->snap, b->history, &b->frames, &b->options, cause,
			      &b->report));
	return &b->report->sections[BLOCK_HEAP];
}

static const struct report_section *build(struct bench *b)
{
	return build_as(b, REPORT_INTERVAL);
}

static void check_row(const struct report_row *row, uint32_t stack, uint64_t size_bytes,
		      uint64_t count)
{
	CHECK_INT(row->stack, stack);
	CHECK_INT(row->sum.size_bytes, size_bytes);
	CHECK_INT(row->sum.count, count);
}

static void aggregates(void)
{
	struct bench b;

	bench_init(&b, 3);
	add(&b, 100, 3 * SECOND, 0);
	add(&b, 10, 2 * SECOND, 2);
	add(&b, 50, 7 * SECOND, 0);
	add(&b, 0, SECOND, 0);

	const struct report_section *heap = build(&b);

	CHECK_INT(b.report->section_count, 1);
	CHECK_INT(heap->live.size_bytes, 160);
	CHECK_INT(heap->live.count, 4);
	CHECK_INT(heap->listed.size_bytes, 160);
	CHECK_INT(heap->listed.count, 4);
	CHECK_INT(heap->stack_count, 2);
	REQUIRE(heap->row_count == 2);
	check_row(&heap->rows[0], 0, 150, 3);
	check_row(&heap->rows[1], 2, 10, 1);
	CHECK_INT(heap->rows[0].oldest_age_ns, 7 * SECOND);
	CHECK_INT(heap->rows[0].newest_age_ns, SECOND);
	CHECK_INT(heap->rows[0].block_count, 0);
	bench_deinit(&b);
}

static void sorts(void)
{
	struct bench b;

	bench_init(&b, 5);
	add(&b, 500, SECOND, 3); /* most bytes */
	for (int i = 0; i < 4; i++)
		add(&b, 100, SECOND, 1); /* most blocks */
	add(&b, 200, SECOND, 4);         /* same bytes as stack 2, in fewer blocks */
	add(&b, 100, SECOND, 2);
	add(&b, 100, SECOND, 2);
	add(&b, 100, SECOND, 0);
	add(&b, 100, SECOND, 0); /* same sums as stack 2: the lower index comes first */

	const struct report_section *heap = build(&b);
	const uint32_t by_size[] = {3, 1, 0, 2, 4}, by_count[] = {1, 0, 2, 3, 4};

	REQUIRE(heap->row_count == 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_INT(heap->rows[i].stack, by_size[i]);
	b.options.sort = REPORT_SORT_COUNT;
	heap = build(&b);
	for (size_t i = 0; i < 5; i++)
		CHECK_INT(heap->rows[i].stack, by_count[i]);
	bench_deinit(&b);
}

static void cuts_to_the_top(void)
{
	struct bench b;

	bench_init(&b, 20);
	for (uint32_t i = 0; i < 20; i++)
		add(&b, 100 + i, SECOND, i);
	b.options.top = 3;

	const struct report_section *heap = build(&b);

	CHECK_INT(heap->stack_count, 20);
	REQUIRE(heap->row_count == 3);
	check_row(&heap->rows[0], 19, 119, 1);
	check_row(&heap->rows[2], 17, 117, 1);
	CHECK_INT(heap->listed.count, 20);
	/* Three leaves, and their common callers. */
	CHECK_INT(b.report->frame_count, 5);
	b.options.top = 0;
	CHECK_INT(build(&b)->row_count, 20);
	b.options.top = 1000;
	CHECK_INT(build(&b)->row_count, 20);
	bench_deinit(&b);
}

static void filters_by_age(void)
{
	struct bench b;

	bench_init(&b, 2);
	add(&b, 1, 500, 0);
	add(&b, 10, 499, 0);
	add(&b, 100, 501, 1);
	add(&b, 1000, 0, 1);
	b.snap->blocks[BLOCK_HEAP].data[3].time_ns += 5; /* from the future */
	b.options.older_ns = 500;

	const struct report_section *heap = build(&b);

	CHECK_INT(heap->live.size_bytes, 1111);
	CHECK_INT(heap->live.count, 4);
	CHECK_INT(heap->listed.size_bytes, 101);
	CHECK_INT(heap->listed.count, 2);
	REQUIRE(heap->row_count == 2);
	check_row(&heap->rows[0], 1, 100, 1);
	check_row(&heap->rows[1], 0, 1, 1);

	b.options.combined_only = true;
	heap = build(&b);
	CHECK_INT(heap->listed.size_bytes, 1111);
	check_row(&heap->rows[0], 1, 1100, 2);
	CHECK_INT(heap->rows[0].newest_age_ns, 0);
	bench_deinit(&b);
}

/* Growth in a very short time is left out, unless a user asked for this report. */
static void growth_of_a_moment(void)
{
	static const struct {
		uint64_t since_ms;
		enum report_cause cause;
		uint64_t interval_s;
		bool want;
	} cases[] = {
		{5000, REPORT_INTERVAL, 5, true},
		{500, REPORT_STOPPED, 5, true},
		{499, REPORT_STOPPED, 5, false},
		{499, REPORT_EXITED, 5, false},
		{1, REPORT_DEMAND, 5, true},
		{1, REPORT_STOPPED, 0, true},
		/* Reports on demand, 10 s after the attach. */
		{1200, REPORT_STOPPED, 3600, true},
		{1000, REPORT_STOPPED, 3600, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench b;

		bench_init(&b, 1);
		b.options.interval_ns = cases[i].interval_s * SECOND;
		build_as(&b, REPORT_DEMAND);
		CHECK(!b.report->has_growth);
		b.snap->time_ns += cases[i].since_ms * SECOND / 1000;
		build_as(&b, cases[i].cause);
		CHECK(b.report->has_previous);
		CHECK_INT(b.report->has_growth, cases[i].want);
		bench_deinit(&b);
	}
}

static void measures_growth(void)
{
	struct bench b;

	bench_init(&b, 3);
	add(&b, 100, SECOND, 0);
	add(&b, 100, SECOND, 0);
	add(&b, 1000, SECOND, 1);
	b.snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 20, .allocated_bytes = 4000, .frees = 5};

	/* The first report of a run: since the attach, 10 s ago. */
	const struct report_section *heap = build(&b);

	CHECK_INT(b.report->sequence, 1);
	CHECK(!b.report->has_previous);
	CHECK_INT(b.report->elapsed_ns, 10 * SECOND);
	CHECK_INT(b.report->since_ns, 10 * SECOND);
	CHECK_INT(heap->rows[0].growth_bytes, 1000);
	CHECK_INT(heap->rows[0].growth_count, 1);
	CHECK_INT(heap->estimated_live_growth_bytes, 1200);
	CHECK(heap->rates.allocations == 2);
	CHECK(heap->rates.allocated_bytes == 400);
	CHECK(heap->rates.frees == 0.5);

	/* 2 s later: 0 lost a block and 1 got one; 3 and the row without a stack are
	 * new. */
	b.snap->time_ns += 2 * SECOND;
	b.snap->blocks[BLOCK_HEAP].data[1].stack = 1;
	REQUIRE(vec_push(&b.snap->stacks, (struct snapshot_stack){0}));
	add(&b, 7, SECOND, 3);
	add(&b, 3, SECOND, SNAPSHOT_NO_STACK);
	b.snap->totals[BLOCK_HEAP].allocations = 30;
	heap = build_as(&b, REPORT_STOPPED);
	CHECK_INT(b.report->sequence, 2);
	CHECK(b.report->has_previous);
	CHECK_INT(b.report->elapsed_ns, 12 * SECOND);
	CHECK_INT(b.report->since_ns, 2 * SECOND);
	CHECK(heap->rates.allocations == 5);
	CHECK(heap->rates.frees == 0);
	CHECK_INT(heap->estimated_live_growth_bytes, 10);
	REQUIRE(heap->row_count == 4);
	check_row(&heap->rows[0], 1, 1100, 2);
	CHECK_INT(heap->rows[0].growth_bytes, 100);
	CHECK_INT(heap->rows[0].growth_count, 1);
	check_row(&heap->rows[1], 0, 100, 1);
	CHECK_INT(heap->rows[1].growth_bytes, -100);
	CHECK_INT(heap->rows[1].growth_count, -1);
	CHECK_INT(heap->rows[2].growth_bytes, 7);
	CHECK_INT(heap->rows[3].growth_bytes, 3);

	/* No time and no change: no growth, and the rates are not infinite. */
	heap = build(&b);
	CHECK_INT(heap->rows[0].growth_bytes, 0);
	CHECK_INT(heap->rows[3].growth_bytes, 0);
	CHECK(heap->rates.allocations == 0);
	bench_deinit(&b);
}

static void names_frames(void)
{
	struct bench b;
	struct snapshot_module module = {.start = 0x1000, .end = 0x2fff};

	bench_init(&b, 2);
	module.path = strdup("/bin/target");
	module.build_id = strdup("00ff");
	REQUIRE(vec_push(&b.snap->processes.data[0].modules, module));
	b.snap->stacks.data[0].end = STACK_END_NO_FRAME;
	add(&b, 2, SECOND, 0);
	add(&b, 1, SECOND, 1);

	const struct report_section *heap = build(&b);
	const struct report_row *row = &heap->rows[0];

	CHECK_INT(row->end, STACK_END_NO_FRAME);
	REQUIRE(row->depth == 3);
	CHECK_INT(row->frames[0]->address, 0x1000);
	CHECK_STR(row->frames[0]->symbol, "leaf");
	CHECK_INT(row->frames[0]->offset, 0);
	CHECK_INT(row->frames[1]->address, 0x2fff);
	CHECK_STR(row->frames[0]->module, "/bin/target");
	CHECK_STR(row->frames[0]->build_id, "00ff");
	/* The call before 0x3000 is in the preceding function, whose module ends
	 * there. */
	CHECK_STR(row->frames[1]->symbol, "middle");
	CHECK(!row->frames[1]->build_id);
	CHECK_STR(row->frames[2]->symbol, "root");
	CHECK(heap->rows[1].frames[1] == row->frames[1]);
	CHECK(heap->rows[1].frames[0] != row->frames[0]);
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < 3; j++)
			CHECK(heap->rows[i].frames[j]->index < b.report->frame_count);
	CHECK_INT(b.report->frame_count, 4);
	bench_deinit(&b);
}

/* The debug info names a function, but libbcc knows no module there: the module of the
 * mapping is used, and the offset is still the function's. */
static void names_modules_of_functions_without(void)
{
	static const struct symbol_row nameless[] = {{0x1000, 0x2000, "leaf", NULL}};
	struct snapshot_module module = {.start = 0x1000, .end = 0x2fff};
	struct bench b;

	bench_init(&b, 1);
	frame_cache_destroy(b.frames);
	symbolizer_destroy(b.symbolizer);
	REQUIRE(!symbolizer_table_create(nameless, 1, &b.symbolizer));
	b.frames = frame_cache_create(b.symbolizer);
	REQUIRE(b.frames);
	b.snap->frames.data[0] = 0x1011;
	module.path = strdup("/bin/target");
	REQUIRE(vec_push(&b.snap->processes.data[0].modules, module));
	add(&b, 1, SECOND, 0);

	const struct report_frame *leaf = build(&b)->rows[0].frames[0];

	CHECK_STR(leaf->symbol, "leaf");
	CHECK_STR(leaf->module ? leaf->module : "none", "/bin/target");
	CHECK_INT(leaf->offset, 0x10);
	bench_deinit(&b);
}

/* Blocks without a stack share a row of depth 0. Blocks of a damaged snapshot do, too. */
static void keeps_blocks_without_stack(void)
{
	struct bench b;

	bench_init(&b, 2);
	add(&b, 10, SECOND, SNAPSHOT_NO_STACK);
	add(&b, 20, 4 * SECOND, 2);
	add(&b, 5, SECOND, 0);
	add(&b, 4, SECOND, 1);
	b.snap->stacks.data[0].first_frame = UINT32_MAX;
	b.snap->stacks.data[1].depth = 4;
	b.snap->stacks.data[1].end = 200;
	b.options.show_blocks = true;

	const struct report_section *heap = build(&b);

	REQUIRE(heap->row_count == 3);
	check_row(&heap->rows[0], SNAPSHOT_NO_STACK, 30, 2);
	CHECK_INT(heap->rows[0].depth, 0);
	REQUIRE(heap->rows[0].block_count == 2);
	CHECK_INT(heap->rows[0].blocks[0]->size_bytes, 20);
	CHECK_INT(heap->rows[0].oldest_age_ns, 4 * SECOND);
	check_row(&heap->rows[1], 0, 5, 1);
	CHECK_INT(heap->rows[1].depth, 0);
	check_row(&heap->rows[2], 1, 4, 1);
	CHECK_INT(heap->rows[2].depth, 0);
	CHECK(heap->rows[2].end < STACK_END_COUNT);
	bench_deinit(&b);
}

static void lists_blocks(void)
{
	struct bench b;

	bench_init(&b, 3);
	add(&b, 10, SECOND, 0);
	add(&b, 10, 2 * SECOND, 0);
	add(&b, 90, 3 * SECOND, 1);
	add(&b, 30, SECOND, 0);
	add(&b, 40, 10, 0); /* too young */
	add(&b, 1, SECOND, 2);
	b.options = (struct report_options){
		.show_blocks = true, .older_ns = SECOND / 2, .top = 2};

	const struct report_section *heap = build(&b);

	REQUIRE(heap->row_count == 2);
	REQUIRE(heap->rows[0].block_count == 1);
	CHECK_INT(heap->rows[0].blocks[0]->address, 0x30);
	REQUIRE(heap->rows[1].block_count == 3);
	/* The largest block first, then the older one. */
	CHECK_INT(heap->rows[1].blocks[0]->address, 0x40);
	CHECK_INT(heap->rows[1].blocks[1]->address, 0x20);
	CHECK_INT(heap->rows[1].blocks[2]->address, 0x10);
	bench_deinit(&b);
}

static void keeps_classes_apart(void)
{
	struct bench b;
	struct snapshot_block mapping = {.size_bytes = 4096, .stack = 1};

	bench_init(&b, 2);
	add(&b, 10, SECOND, 1);
	REQUIRE(vec_push(&b.snap->blocks[BLOCK_MAPPING], mapping));
	CHECK_INT(build(&b)->live.size_bytes, 10);
	CHECK_INT(b.report->section_count, 1);

	b.snap->mappings_traced = true;
	CHECK_INT(build(&b)->live.size_bytes, 10);
	REQUIRE(b.report->section_count == 2);

	const struct report_section *mappings = &b.report->sections[BLOCK_MAPPING];

	CHECK_INT(mappings->class, BLOCK_MAPPING);
	CHECK_INT(mappings->live.size_bytes, 4096);
	REQUIRE(mappings->row_count == 1);
	check_row(&mappings->rows[0], 1, 4096, 1);
	CHECK_INT(mappings->rows[0].growth_bytes, 4096);
	bench_deinit(&b);
}

static void saturates(void)
{
	struct bench b;

	bench_init(&b, 1);
	add(&b, UINT64_MAX, SECOND, 0);
	add(&b, UINT64_MAX, SECOND, 0);
	b.snap->sampling.every = 1000;

	const struct report_section *heap = build(&b);

	CHECK(heap->live.size_bytes == UINT64_MAX);
	CHECK(heap->rows[0].sum.size_bytes == UINT64_MAX);
	CHECK(heap->rows[0].growth_bytes == INT64_MAX);
	CHECK(heap->is_estimate);
	CHECK(heap->rows[0].sum.estimated_bytes == UINT64_MAX);
	CHECK_INT(heap->rows[0].sum.estimated_count, 2000);
	bench_deinit(&b);
}

/* Blocks of 16 and 17 bytes are in one class, which is sampled with probability 1 -
 * e^-0.0165 = 0.0163646: each stands for 61.1074 blocks. A block of 64 KiB counts as
 * one. */
static void estimates_by_bytes(void)
{
	struct bench b;

	bench_init(&b, 2);
	for (int i = 0; i < 1000; i++)
		add(&b, 16, SECOND, 0);
	add(&b, 65536, SECOND, 1);
	b.snap->sampling.mean_bytes = 1000;
	b.snap->totals[BLOCK_HEAP].allocations = 1001;
	b.snap->estimated.allocations = 63001;

	const struct report_section *heap = build(&b);

	CHECK(heap->is_estimate);
	CHECK_INT(heap->live.size_bytes, 1000 * 16 + 65536);
	CHECK_INT(heap->estimated_totals.allocations, 63001);
	CHECK_INT(heap->rows[0].sum.estimated_count, 61107);
	CHECK_INT(heap->rows[0].sum.estimated_bytes, 977719);
	CHECK_INT(heap->rows[0].sum.count, 1000);
	CHECK_INT(heap->rows[1].sum.estimated_count, 1);
	CHECK_INT(heap->rows[1].sum.estimated_bytes, 65536);
	CHECK_INT(heap->live.estimated_bytes, 977719 + 65536);
	CHECK_INT(heap->processes[0].live.estimated_bytes, 977719 + 65536);
	bench_deinit(&b);
}

static void knows_causes(void)
{
	CHECK_STR(report_cause_name(REPORT_INTERVAL), "interval");
	CHECK_STR(report_cause_name(REPORT_DEMAND), "demand");
	CHECK_STR(report_cause_name(REPORT_COUNT), "count");
	CHECK_STR(report_cause_name(REPORT_DURATION), "duration");
	CHECK_STR(report_cause_name(REPORT_STOPPED), "stopped");
	CHECK_STR(report_cause_name(REPORT_EXITED), "exited");
	CHECK(!report_cause_is_final(REPORT_INTERVAL));
	CHECK(!report_cause_is_final(REPORT_DEMAND));
	CHECK(report_cause_is_final(REPORT_COUNT));
	CHECK(report_cause_is_final(REPORT_DURATION));
	CHECK(report_cause_is_final(REPORT_STOPPED));
	CHECK(report_cause_is_final(REPORT_EXITED));
}

static void empty(void)
{
	struct bench b;

	bench_init(&b, 0);
	b.options.show_blocks = true;
	b.snap->time_ns = b.snap->attached_ns - 5; /* a clock that was set back */

	const struct report_section *heap = build(&b);

	CHECK_INT(heap->row_count, 0);
	CHECK_INT(heap->live.size_bytes, 0);
	CHECK_INT(b.report->elapsed_ns, 0);
	bench_deinit(&b);
	report_destroy(NULL);
	report_history_destroy(NULL);
}

int main(void)
{
	RUN(aggregates);
	RUN(sorts);
	RUN(cuts_to_the_top);
	RUN(filters_by_age);
	RUN(measures_growth);
	RUN(growth_of_a_moment);
	RUN(names_frames);
	RUN(names_modules_of_functions_without);
	RUN(keeps_blocks_without_stack);
	RUN(lists_blocks);
	RUN(keeps_classes_apart);
	RUN(saturates);
	RUN(estimates_by_bytes);
	RUN(knows_causes);
	RUN(empty);
	return check_done();
}
