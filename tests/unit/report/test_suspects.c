// SPDX-License-Identifier: Apache-2.0
/* Which stacks are listed as leaks, by their bytes at each snapshot. */
#include "check.h"

#include <math.h>
#include <stdbool.h>

#include "report/report.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct snapshot *, snapshot_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);

#define SECOND      UINT64_C(1000000000)
#define SAMPLES_MAX 1000

static struct snapshot *snapshot_of(uint64_t elapsed_ns)
{
	struct snapshot *snap = snapshot_create();

	REQUIRE(snap && snapshot_add_process(snap, 7));
	snap->attached_ns = 100 * SECOND;
	snap->time_ns = snap->attached_ns + elapsed_ns;
	snap->has_trends = true;
	return snap;
}

/* The trend of bytes that were measured once a second, computed from the definition. */
static struct snapshot_trend trend_of(const double *bytes, uint32_t count)
{
	double mean_t = (count - 1) / 2.0, mean = 0, tt = 0, ty = 0, yy = 0, high,
	       fall = 0;
	struct snapshot_trend trend = {.intervals = count - 1};

	for (uint32_t i = 0; i < count; i++)
		mean += bytes[i] / count;
	for (uint32_t i = 0; i < count; i++) {
		tt += (i - mean_t) * (i - mean_t);
		ty += (i - mean_t) * (bytes[i] - mean);
		yy += (bytes[i] - mean) * (bytes[i] - mean);
	}
	high = bytes[0];
	for (uint32_t i = 1; i < count; i++) {
		trend.grew += bytes[i] > bytes[i - 1];
		trend.shrank += bytes[i] < bytes[i - 1];
		trend.stands = bytes[i] > high ? 0 : trend.stands + 1;
		high = fmax(high, bytes[i]);
		fall = fmax(fall, high - bytes[i]);
	}
	trend.rise_bytes = (uint64_t)fmax(0, bytes[count - 1] - bytes[0]);
	trend.fall_bytes = (uint64_t)fall;
	trend.slope_bytes_per_s = ty / tt;
	trend.determination = yy > 0 ? ty * ty / (tt * yy) : 0;
	return trend;
}

static void add_stack(struct snapshot *snap, uint64_t size_bytes,
		      const struct snapshot_trend *trend)
{
	struct snapshot_block block = {
		.address = 0x10 * (snap->stacks.len + 1),
		.size_bytes = size_bytes,
		.time_ns = snap->attached_ns,
		.stack = (uint32_t)snap->stacks.len,
	};

	REQUIRE(vec_push(&snap->blocks[BLOCK_HEAP], block));
	REQUIRE(vec_push(&snap->trends[BLOCK_HEAP], *trend));
	REQUIRE(vec_push(&snap->stacks, (struct snapshot_stack){.depth = 0}));
}

static struct report *build(const struct snapshot *snap, uint64_t top)
{
	_cleanup_(report_history_destroyp) struct report_history *history =
		report_history_create();
	const struct report_options options = {.top = top};
	struct frame_cache *const none[] = {NULL};
	struct report *report;

	REQUIRE(history);
	REQUIRE(!report_build(snap, history, none, &options, REPORT_INTERVAL, &report));
	return report;
}

/* Do the bytes of `count` seconds make a suspect? `bytes_at` returns the bytes of a
 * second. */
static bool is_suspect(double (*bytes_at)(uint32_t second), uint32_t count)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap =
		snapshot_of((count - 1) * SECOND);
	double bytes[SAMPLES_MAX];

	REQUIRE(count <= SAMPLES_MAX);
	for (uint32_t i = 0; i < count; i++)
		bytes[i] = bytes_at(i);

	struct snapshot_trend trend = trend_of(bytes, count);

	add_stack(snap, (uint64_t)bytes[count - 1], &trend);

	struct report *report = build(snap, 10);
	size_t found = report->sections[BLOCK_HEAP].suspect_count;

	report_destroy(report);
	return found;
}

/* In [0, 1), without a pattern, and the same in each run. */
static double noise(uint32_t n)
{
	return (n * UINT32_C(2654435761) >> 8) / 16777216.0;
}

static double leak(uint32_t s)
{
	return 1000.0 * s + 64;
}

static double noisy_leak(uint32_t s)
{
	return 1000.0 * s + 900 * noise(s);
}

/* One block in ten seconds. */
static double slow_leak(uint32_t s)
{
	return 64.0 * (1 + s / 10);
}

/* The churn is as large as the leak of four seconds. */
static double leak_in_use(uint32_t s)
{
	return 1000.0 * s + 4000 * noise(s);
}

/* Leaks in addition to a large constant amount. */
static double leak_on_a_base(uint32_t s)
{
	return 1e6 + 1e4 * s;
}

/* Full after 20 seconds. */
static double cache(uint32_t s)
{
	return s < 20 ? 5000.0 * s : 100000;
}

/* The same, with entries of different sizes that are replaced. */
static double busy_cache(uint32_t s)
{
	return s < 20 ? 5000.0 * s : 98000 + 4000 * noise(s);
}

/* Grows very little once it is full, but always. */
static double creeping_cache(uint32_t s)
{
	return s < 5 ? 20000.0 * s : 100000 + 10.0 * s;
}

/* Too short a time to distinguish growth from churn. */
static double rough(uint32_t s)
{
	return 1000.0 * s + 8000 * noise(s);
}

static double sawtooth(uint32_t s)
{
	return 1000.0 * (s % 12);
}

/* Long teeth: a line fits the first one well, even when it has ended. */
static double long_sawtooth(uint32_t s)
{
	return 1000.0 * (s % 60) + 200;
}

/* Keeps more of each tooth than it frees. */
static double leaky_sawtooth(uint32_t s)
{
	return 1000.0 * s - 2000.0 * (s / 12);
}

static double churn(uint32_t s)
{
	return 50000 * noise(s);
}

static double plateau(uint32_t s)
{
	(void)s;
	return 4096;
}

static double shrinking(uint32_t s)
{
	return 1e6 - 100.0 * s;
}

/* A large amount that hardly changes. */
static double trifle(uint32_t s)
{
	return 1e9 + s;
}

static void leaks_are_listed(void)
{
	CHECK(is_suspect(leak, 5));
	CHECK(is_suspect(leak, 13));
	CHECK(is_suspect(leak, 1000));
	CHECK(is_suspect(noisy_leak, 20));
	CHECK(is_suspect(noisy_leak, 500));
	for (uint32_t count = 31; count < 60; count++)
		CHECK(is_suspect(slow_leak, count));
	CHECK(is_suspect(leak_on_a_base, 30));
	for (uint32_t count = 25; count < 300; count++)
		CHECK(is_suspect(leaky_sawtooth, count));
	for (uint32_t count = 26; count < 300; count += 7)
		CHECK(is_suspect(leak_in_use, count));
}

static void what_does_not_leak_is_not(void)
{
	/* From the time on when it has been full for half as long as it took to fill. */
	for (uint32_t count = 32; count < 500; count += 13) {
		CHECK(!is_suspect(cache, count));
		CHECK(!is_suspect(busy_cache, count));
	}
	for (uint32_t count = 30; count < 500; count += 13)
		CHECK(!is_suspect(creeping_cache, count));
	for (uint32_t count = 15; count < 22; count++)
		CHECK(!is_suspect(rough, count));
	/* From the end of the first tooth on. */
	for (uint32_t count = 13; count < 200; count++)
		CHECK(!is_suspect(sawtooth, count));
	for (uint32_t count = 61; count < 900; count++)
		CHECK(!is_suspect(long_sawtooth, count));
	for (uint32_t count = 5; count < 300; count += 11) {
		CHECK(!is_suspect(churn, count));
		CHECK(!is_suspect(plateau, count));
		CHECK(!is_suspect(shrinking, count));
		CHECK(!is_suspect(trifle, count));
	}
}

static void few_intervals_prove_nothing(void)
{
	CHECK(!is_suspect(leak, 3));
	CHECK(!is_suspect(leak, 4));
}

/* Ordered by slope and fit, at most --top, and without invalid numbers. */
static void ranks(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = snapshot_of(60 * SECOND);
	struct snapshot_trend trend = {.intervals = 12,
				       .grew = 12,
				       .slope_bytes_per_s = 100,
				       .determination = 1};

	add_stack(snap, 1000, &trend);
	trend.slope_bytes_per_s = 110;
	trend.determination = 0.85;
	add_stack(snap, 1000, &trend);
	trend.slope_bytes_per_s = 500;
	add_stack(snap, 1000, &trend);
	trend.slope_bytes_per_s = NAN;
	add_stack(snap, 1000, &trend);
	trend.slope_bytes_per_s = INFINITY;
	trend.determination = NAN;
	add_stack(snap, 1000, &trend);
	trend.determination = 7;
	add_stack(snap, 1000, &trend);

	struct report *report = build(snap, 0);
	const struct report_section *heap = &report->sections[BLOCK_HEAP];

	REQUIRE(heap->suspect_count == 3);
	CHECK_INT(heap->suspects[0].row->stack, 2);
	CHECK_INT(heap->suspects[1].row->stack, 0);
	CHECK_INT(heap->suspects[2].row->stack, 1);
	CHECK(heap->suspects[0].slope_bytes_per_s == 500);
	CHECK(heap->suspects[0].row->trend == &snap->trends[BLOCK_HEAP].data[2]);
	report_destroy(report);

	report = build(snap, 2);
	CHECK_INT(report->sections[BLOCK_HEAP].suspect_count, 2);
	CHECK_INT(report->sections[BLOCK_HEAP].suspect_total, 3);
	report_destroy(report);

	/* One block in a hundred was sampled, so that each row holds 100,000 bytes. The
	 * slope is already an estimate, and makes a twentieth of that in the first three
	 * rows. */
	snap->sampling.every = 100;
	report = build(snap, 0);
	REQUIRE(report->sections[BLOCK_HEAP].suspect_count == 3);
	CHECK(report->sections[BLOCK_HEAP].suspects[0].slope_bytes_per_s == 500);
	report_destroy(report);
	snap->sampling.every = 1000;
	report = build(snap, 0);
	CHECK_INT(report->sections[BLOCK_HEAP].suspect_count, 0);
	report_destroy(report);

	/* Without trends, or with too few. */
	snap->sampling.every = 1;
	snap->trends[BLOCK_HEAP].len = 1;
	report = build(snap, 0);
	CHECK_INT(report->sections[BLOCK_HEAP].suspect_count, 1);
	report_destroy(report);
	snap->has_trends = false;
	report = build(snap, 0);
	CHECK_INT(report->sections[BLOCK_HEAP].suspect_count, 0);
	report_destroy(report);
}

int main(void)
{
	RUN(leaks_are_listed);
	RUN(what_does_not_leak_is_not);
	RUN(few_intervals_prove_nothing);
	RUN(ranks);
	return check_done();
}
