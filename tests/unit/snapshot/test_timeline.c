// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <math.h>

#include "snapshot/timeline.h"

#define SECOND UINT64_C(1000000000)

/* A snapshot of `count` stacks at `time_s`. Stack i has one block of bytes[i], or none if
 * that is 0. */
static struct snapshot *snapshot_at(double time_s, const uint64_t bytes[], size_t count)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap);
	snap->time_ns = 77 * SECOND + (uint64_t)(time_s * 1e9);
	for (size_t i = 0; i < count; i++) {
		struct snapshot_block block = {.size_bytes = bytes[i],
					       .stack = (uint32_t)i};

		REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){0}));
		if (bytes[i])
			REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], block));
	}
	return snap;
}

static void add(struct timeline *timeline, struct snapshot *snap)
{
	struct error *err = timeline_add(timeline, snap);

	REQUIRE(!err);
	REQUIRE(snap->has_trends);
}

/* The heap's trend of one stack that held these bytes, one second apart. */
static struct snapshot_trend trend_of(const uint64_t bytes[], size_t count)
{
	struct timeline *timeline = timeline_create();
	struct snapshot_trend trend = {0};

	REQUIRE(timeline);
	for (size_t i = 0; i < count; i++) {
		struct snapshot *snap = snapshot_at((double)i, &bytes[i], 1);

		add(timeline, snap);
		REQUIRE(snap->trends[BLOCK_HEAP].len == 1);
		trend = snap->trends[BLOCK_HEAP].data[0];
		snapshot_destroy(snap);
	}
	timeline_destroy(timeline);
	return trend;
}

#define TREND(...)                                                                       \
	trend_of((const uint64_t[]){__VA_ARGS__},                                        \
		 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

#define CHECK_NEAR(got, want)                                                            \
	do {                                                                             \
		double got__ = (got), want__ = (want);                                   \
		CHECK(fabs(got__ - want__) <= 1e-9 * (1 + fabs(want__)));                \
	} while (0)

static void a_leak_is_a_line(void)
{
	struct snapshot_trend trend = TREND(1000, 1100, 1200, 1300, 1400);

	CHECK_INT(trend.intervals, 4);
	CHECK_INT(trend.grew, 4);
	CHECK_INT(trend.shrank, 0);
	CHECK_NEAR(trend.slope_bytes_per_s, 100);
	CHECK_NEAR(trend.determination, 1);
}

static void one_point_is_no_line(void)
{
	struct snapshot_trend trend = TREND(5000);

	CHECK_INT(trend.intervals, 0);
	CHECK_NEAR(trend.slope_bytes_per_s, 0);
	CHECK_NEAR(trend.determination, 0);
}

static void what_stays_lies_on_its_line(void)
{
	struct snapshot_trend trend = TREND(64, 64, 64);

	CHECK_INT(trend.intervals, 2);
	CHECK_INT(trend.grew + trend.shrank, 0);
	CHECK_INT(trend.stands, 2);
	CHECK_NEAR(trend.slope_bytes_per_s, 0);
	CHECK_NEAR(trend.determination, 1);
}

/* Compared with textbook sums: x = 0..3, y = 10, 30, 20, 60. */
static void a_rough_timeline_fits_less(void)
{
	struct snapshot_trend trend = TREND(10, 30, 20, 60);

	CHECK_INT(trend.grew, 2);
	CHECK_INT(trend.shrank, 1);
	CHECK_INT(trend.stands, 0);
	CHECK_INT(trend.rise_bytes, 50);
	CHECK_INT(trend.fall_bytes, 10);
	/* Sxx = 5, Sxy = 70, Syy = 1400. */
	CHECK_NEAR(trend.slope_bytes_per_s, 14);
	CHECK_NEAR(trend.determination, 70.0 * 70 / (5 * 1400));
}

static void a_sawtooth_has_no_slope(void)
{
	struct snapshot_trend trend = TREND(10, 20, 30, 10, 20, 30, 10, 20, 30, 10);

	CHECK(fabs(trend.slope_bytes_per_s) < 1);
	CHECK(trend.determination < 0.1);
	CHECK_INT(trend.grew, 6);
	CHECK_INT(trend.shrank, 3);
	/* Twice it was as high as before, but never higher. */
	CHECK_INT(trend.stands, 7);
	CHECK_INT(trend.rise_bytes, 0);
	CHECK_INT(trend.fall_bytes, 20);
}

/* A trend begins when its stack first holds a block, and continues when it holds none. */
static void a_trend_begins_with_its_first_block(void)
{
	struct snapshot_trend late = TREND(0, 0, 0, 100, 200, 300);
	struct snapshot_trend ended = TREND(100, 50, 0, 0);
	struct snapshot_trend never = TREND(0, 0);

	CHECK_INT(late.intervals, 2);
	CHECK_INT(late.grew, 2);
	CHECK_NEAR(late.slope_bytes_per_s, 100);
	CHECK_INT(ended.intervals, 3);
	CHECK_INT(ended.shrank, 2);
	CHECK_INT(ended.rise_bytes, 0);
	CHECK_INT(ended.fall_bytes, 100);
	CHECK_INT(never.intervals, 0);
}

/* A large amount that grows slowly, after a long time. */
static void sums_keep_small_slopes(void)
{
	struct timeline *timeline = timeline_create();
	double slope = 0, determination = 0;

	REQUIRE(timeline);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t bytes = (UINT64_C(1) << 40) + 3 * i;
		struct snapshot *snap = snapshot_at(1e6 * (i > 0) + (double)i, &bytes, 1);

		if (i)
			add(timeline, snap);
		slope = i ? snap->trends[BLOCK_HEAP].data[0].slope_bytes_per_s : 0;
		determination = i ? snap->trends[BLOCK_HEAP].data[0].determination : 0;
		snapshot_destroy(snap);
	}
	CHECK(fabs(slope - 3) < 1e-3);
	CHECK(determination > 0.999);
	timeline_destroy(timeline);
}

static void stacks_come_later(void)
{
	struct timeline *timeline = timeline_create();
	const uint64_t first[] = {10}, second[] = {20, 7, 0};
	struct snapshot *a = snapshot_at(0, first, 1), *b = snapshot_at(2, second, 3);

	REQUIRE(timeline);
	add(timeline, a);
	add(timeline, b);
	CHECK_INT(b->trends[BLOCK_HEAP].len, 3);
	CHECK_NEAR(b->trends[BLOCK_HEAP].data[0].slope_bytes_per_s, 5);
	CHECK_INT(b->trends[BLOCK_HEAP].data[1].intervals, 0);
	CHECK_INT(b->trends[BLOCK_MAPPING].len, 3);
	snapshot_destroy(a);
	snapshot_destroy(b);
	timeline_destroy(timeline);
}

/* A hostile file: a block whose stack does not exist counts only in the total. */
static void a_block_without_stack_has_no_trend(void)
{
	struct timeline *timeline = timeline_create();
	struct snapshot *snap = snapshot_at(0, (const uint64_t[]){0}, 1);
	struct snapshot_block block = {.size_bytes = 9, .stack = SNAPSHOT_NO_STACK};

	REQUIRE(timeline && vec_push(&snap->blocks[BLOCK_HEAP], block));
	add(timeline, snap);
	CHECK_INT(snap->trends[BLOCK_HEAP].data[0].intervals, 0);
	CHECK_INT(snap->moments.data[0].live_bytes[BLOCK_HEAP], 9);
	snapshot_destroy(snap);
	timeline_destroy(timeline);
}

static void moments_say_what_was(void)
{
	struct timeline *timeline = timeline_create();
	struct snapshot *snap = snapshot_at(1, (const uint64_t[]){100, 23}, 2);
	struct snapshot_process *process = snapshot_add_process(snap, 1);
	const struct snapshot_moment *m;

	REQUIRE(timeline && process);
	process->memory.vm_rss_bytes = 4096;
	process = snapshot_add_process(snap, 2);
	REQUIRE(process);
	process->memory.vm_rss_bytes = 512;
	process->exited = true;
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = 5, .allocated_bytes = 600, .frees = 3};
	add(timeline, snap);
	REQUIRE(snap->moments.len == 1);
	m = &snap->moments.data[0];
	CHECK_INT(m->time_ns, 78 * SECOND);
	CHECK_INT(m->live_bytes[BLOCK_HEAP], 123);
	CHECK_INT(m->live_blocks[BLOCK_HEAP], 2);
	CHECK_INT(m->live_bytes[BLOCK_MAPPING], 0);
	CHECK_INT(m->allocations, 5);
	CHECK_INT(m->allocated_bytes, 600);
	CHECK_INT(m->frees, 3);
	CHECK_INT(m->vm_rss_bytes, 4096);
	snapshot_destroy(snap);
	timeline_destroy(timeline);
}

static void samples_are_estimates(void)
{
	struct timeline *timeline = timeline_create();
	const uint64_t first[] = {100}, second[] = {300};
	struct snapshot *a = snapshot_at(0, first, 1), *b = snapshot_at(1, second, 1);

	REQUIRE(timeline);
	a->sampling.every = b->sampling.every = 10;
	b->totals[BLOCK_HEAP].allocations = 4;
	add(timeline, a);
	add(timeline, b);
	CHECK_NEAR(b->trends[BLOCK_HEAP].data[0].slope_bytes_per_s, 2000);
	CHECK_INT(b->moments.data[1].live_bytes[BLOCK_HEAP], 3000);
	CHECK_INT(b->moments.data[1].allocations, 40);
	snapshot_destroy(a);
	snapshot_destroy(b);
	timeline_destroy(timeline);
}

/* However long the run: at most TIMELINE_MOMENTS moments, in order, with the first and
 * all of the latest ones. */
static void a_long_run_keeps_fewer_of_its_early_moments(void)
{
	struct timeline *timeline = timeline_create();
	size_t count = 20 * TIMELINE_MOMENTS;

	REQUIRE(timeline);
	for (size_t i = 0; i < count; i++) {
		struct snapshot *snap = snapshot_at((double)i, NULL, 0);
		struct snapshot_moment *m;

		add(timeline, snap);
		m = snap->moments.data;
		REQUIRE(snap->moments.len <= TIMELINE_MOMENTS);
		REQUIRE(i + 1 > TIMELINE_MOMENTS || snap->moments.len == i + 1);
		if (i + 1 == count) {
			size_t len = snap->moments.len;
			size_t early = 0;

			CHECK(len > TIMELINE_MOMENTS / 2);
			CHECK_INT(m[0].time_ns, 77 * SECOND);
			for (size_t j = 1; j < len; j++)
				CHECK(m[j].time_ns > m[j - 1].time_ns);
			for (size_t j = 0; j < TIMELINE_MOMENTS / 4; j++)
				CHECK_INT(m[len - 1 - j].time_ns,
					  (77 + count - 1 - j) * SECOND);
			for (size_t j = 0; j < len; j++)
				early += m[j].time_ns < (77 + count / 2) * SECOND;
			CHECK(early > 0 && early < len / 4);
		}
		snapshot_destroy(snap);
	}
	timeline_destroy(timeline);
}

int main(void)
{
	RUN(a_leak_is_a_line);
	RUN(one_point_is_no_line);
	RUN(what_stays_lies_on_its_line);
	RUN(a_rough_timeline_fits_less);
	RUN(a_sawtooth_has_no_slope);
	RUN(a_trend_begins_with_its_first_block);
	RUN(sums_keep_small_slopes);
	RUN(stacks_come_later);
	RUN(a_block_without_stack_has_no_trend);
	RUN(moments_say_what_was);
	RUN(samples_are_estimates);
	RUN(a_long_run_keeps_fewer_of_its_early_moments);
	return check_done();
}
