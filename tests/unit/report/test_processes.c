// SPDX-License-Identifier: Apache-2.0
/* The sums of several processes, and the order of their rows. */
#include "check.h"

#include "report/report.h"
#include "util/cleanup.h"

#define SECOND UINT64_C(1000000000)

struct bench {
	struct report_history *history;
	struct snapshot *snap;
	struct report *report;
};

/* Processes 30, 20 and 10, each with a stack at the same address. */
static void bench_init(struct bench *b)
{
	*b = (struct bench){.history = report_history_create(),
			    .snap = snapshot_create()};
	REQUIRE(b->history && b->snap);
	b->snap->attached_ns = 100 * SECOND;
	b->snap->time_ns = 110 * SECOND;
	for (uint32_t i = 0; i < 3; i++) {
		struct snapshot_stack stack = {
			.first_frame = i, .depth = 1, .process = i};

		REQUIRE(snapshot_add_process(b->snap, 30 - 10 * (int)i));
		REQUIRE(vec_push(&b->snap->frames, 0x1000));
		REQUIRE(vec_push(&b->snap->stacks, stack));
	}
}

static void bench_deinit(struct bench *b)
{
	report_destroy(b->report);
	snapshot_destroy(b->snap);
	report_history_destroy(b->history);
}

static void add(struct bench *b, uint32_t process, uint64_t size_bytes)
{
	struct snapshot_block block = {
		.address = 0x10 * (b->snap->blocks[BLOCK_HEAP].len + 1),
		.size_bytes = size_bytes,
		.time_ns = 105 * SECOND,
		.stack = process < 3 ? process : SNAPSHOT_NO_STACK,
		.process = process,
	};

	REQUIRE(vec_push(&b->snap->blocks[BLOCK_HEAP], block));
}

static const struct report_section *build(struct bench *b)
{
	struct frame_cache *const none[3] = {NULL};
	const struct report_options options = {.group_by_process = true};

	report_destroy(b->report);
	b->report = NULL;
	REQUIRE(!report_build(b->snap, b->history, none, &options, REPORT_INTERVAL,
			      &b->report));
	return &b->report->sections[0];
}

static void check_process(const struct report_section *section, size_t i, int pid,
			  uint64_t bytes, uint64_t blocks, int64_t growth)
{
	REQUIRE(i < section->process_count);

	const struct report_process *p = &section->processes[i];

	CHECK_INT(p->process->pid, pid);
	CHECK_INT(p->live.size_bytes, bytes);
	CHECK_INT(p->live.count, blocks);
	CHECK_INT(p->growth_bytes, growth);
}

/* The largest process first; with equal sizes the lower pid. */
static void order_and_sums(void)
{
	struct bench b;
	const struct report_section *section;

	bench_init(&b);
	add(&b, 0, 10);
	add(&b, 1, 300);
	add(&b, 0, 20);
	add(&b, 2, 30);
	section = build(&b);
	CHECK_INT(section->process_count, 3);
	check_process(section, 0, 20, 300, 1, 300);
	check_process(section, 1, 10, 30, 1, 30);
	check_process(section, 2, 30, 30, 2, 30);

	/* The same address in three processes makes three rows, in the same order. */
	REQUIRE(section->row_count == 3);
	CHECK_INT(section->rows[0].process->pid, 20);
	CHECK_INT(section->rows[1].process->pid, 10);
	CHECK_INT(section->rows[2].process->pid, 30);
	CHECK_INT(section->rows[2].sum.size_bytes, 30);
	bench_deinit(&b);
}

/* Growth belongs to the process, not to its place in the list. */
static void growth_of_each(void)
{
	struct bench b;
	const struct report_section *section;

	bench_init(&b);
	add(&b, 0, 100);
	add(&b, 1, 10);
	build(&b);
	add(&b, 1, 500);
	section = build(&b);
	check_process(section, 0, 20, 510, 2, 500);
	check_process(section, 1, 30, 100, 1, 0);
	check_process(section, 2, 10, 0, 0, 0);
	bench_deinit(&b);
}

static void hostile_sums(void)
{
	struct bench b;
	const struct report_section *section;

	bench_init(&b);
	add(&b, 0, UINT64_MAX);
	add(&b, 0, UINT64_MAX);
	add(&b, 7, 5); /* this process does not exist */
	section = build(&b);
	CHECK_INT(section->process_count, 3);
	CHECK(section->processes[0].live.size_bytes == UINT64_MAX);
	CHECK_INT(section->processes[0].live.count, 2);
	CHECK_INT(section->processes[1].live.count + section->processes[2].live.count, 0);
	bench_deinit(&b);
}

int main(void)
{
	RUN(order_and_sums);
	RUN(growth_of_each);
	RUN(hostile_sums);
	return check_done();
}
