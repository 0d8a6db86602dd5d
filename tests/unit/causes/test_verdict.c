// SPDX-License-Identifier: Apache-2.0
/* The verdict on a section, from the trends of its call paths. */
#include "unit/render/fixture.h"

#include <stdbool.h>

#include "causes/verdict.h"
#include "frames/filter.h"

struct trial {
	struct fixture f;
	struct report_options options;
	struct causes causes;
	struct verdict verdict;
};

static void trial_init(struct trial *t)
{
	*t = (struct trial){.options = {.interval_ns = 5 * FIXTURE_NS}};
	fixture_init(&t->f);
	t->f.snap->has_trends = true;
}

static void trial_deinit(struct trial *t)
{
	causes_deinit(&t->causes);
	fixture_deinit(&t->f);
}

/* Adds a call path with a trend over `intervals` intervals. */
static void add(struct trial *t, uint64_t size_bytes, uint32_t intervals, double slope)
{
	uint64_t address = fixture_symbol(&t->f, "work", "/srv/app/bin/leaky") +
			   t->f.snap->stacks.len;
	struct snapshot_trend trend = {.intervals = intervals,
				       .grew = slope > 0 ? intervals : 0,
				       .slope_bytes_per_s = slope,
				       .determination = slope > 0 ? 0.99 : 0,
				       .rise_bytes = size_bytes};

	t->f.symbols.data[t->f.symbols.len - 1].name =
		t->f.symbols.len == 1 ? "first" : "second";
	fixture_block(&t->f, BLOCK_HEAP, size_bytes, 1,
		      FIXTURE_STACK(&t->f, STACK_END_COMPLETE, address));
	REQUIRE(vec_push(&t->f.snap->trends[BLOCK_HEAP], trend));
}

static void add_moments(struct trial *t, const uint64_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		REQUIRE(vec_push(
			&t->f.snap->moments,
			(struct snapshot_moment){.time_ns = t->f.snap->time_ns -
							    (count - 1 - i) * FIXTURE_NS,
						 .live_bytes = {bytes[i]}}));
}

static const struct verdict *judge(struct trial *t, enum report_cause cause)
{
	fixture_report_with(&t->f, &t->options);
	t->f.report->cause = cause;
	REQUIRE(!causes_find(t->f.report, &t->f.report->sections[0], NULL, &t->causes));
	t->verdict = verdict_of(t->f.report, &t->f.report->sections[0], &t->causes);
	return &t->verdict;
}

static void check_name(const struct verdict *v, const char *want)
{
	REQUIRE(v->cause);
	CHECK_STR(v->cause->parts->row->frames[v->cause->parts->named_by]->symbol, want);
}

static void leaking(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 1000000, 6, 9000);
	add(&t, 3000000, 6, 27000);

	const struct verdict *v = judge(&t, REPORT_INTERVAL);

	CHECK_INT(v->kind, VERDICT_LEAKING);
	check_name(v, "second");
	CHECK_INT(v->slope_bytes_per_s, 36000);
	CHECK_INT(v->share_percent, 75);
	/* 2^30 / 36000 = 29826.2 s. */
	CHECK_INT(v->more_bytes, 1 << 30);
	CHECK_INT(v->more_s, 29826);
	CHECK_INT(v->live.estimated_bytes, 4000000);
	CHECK(!v->caller);
}

/* Two causes of one name: the verdict names the caller, too. */
static void same_name(void)
{
	_cleanup_(trial_deinit) struct trial t;
	uint64_t copy, main, parse, answer;

	trial_init(&t);
	copy = fixture_symbol(&t.f, "copy", "/srv/app/bin/leaky");
	main = fixture_symbol(&t.f, "main", "/srv/app/bin/leaky");
	parse = fixture_symbol(&t.f, "parse", "/srv/app/bin/leaky");
	answer = fixture_symbol(&t.f, "answer", "/srv/app/bin/leaky");
	fixture_block(&t.f, BLOCK_HEAP, 100, 1,
		      FIXTURE_STACK(&t.f, STACK_END_COMPLETE, copy, parse, main));
	fixture_block(&t.f, BLOCK_HEAP, 200, 1,
		      FIXTURE_STACK(&t.f, STACK_END_COMPLETE, copy, copy, answer, main));
	fixture_block(&t.f, BLOCK_HEAP, 50, 1,
		      FIXTURE_STACK(&t.f, STACK_END_COMPLETE, parse, main));

	const struct verdict *v = judge(&t, REPORT_EXITED);

	check_name(v, "copy");
	REQUIRE(v->caller);
	CHECK_STR(v->caller->symbol, "answer");
}

static void check_more(double slope, uint64_t bytes)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 1, 6, slope);
	CHECK(judge(&t, REPORT_INTERVAL)->more_bytes == bytes);
}

/* The forecast uses the largest round number that is reached within a lifetime. */
static void the_forecast_grows_with_the_lifetime(void)
{
	check_more(1, 1 << 20);
	check_more(100, 10 << 20);
	check_more(1000, 100 << 20);
	check_more(10000, 1 << 30);
	check_more(1e9, 1 << 30);
	check_more(1e10, UINT64_C(1) << 40);
}

static void early(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 100, 1, 100);
	add(&t, 100, 0, 0);

	const struct verdict *v = judge(&t, REPORT_INTERVAL);

	CHECK_INT(v->kind, VERDICT_EARLY);
	CHECK_INT(v->reports, 3);
	CHECK_INT(v->wait_ns, 15 * FIXTURE_NS);
}

static void too_short(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 100, 3, 0);
	CHECK_INT(judge(&t, REPORT_COUNT)->kind, VERDICT_SHORT);
}

static void exited(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 250, 3, 0);
	add(&t, 749, 3, 0);

	const struct verdict *v = judge(&t, REPORT_EXITED);

	CHECK_INT(v->kind, VERDICT_EXITED);
	CHECK_INT(v->share_percent, 75);
	check_name(v, "second");
}

static void quiet(void)
{
	static const uint64_t level[] = {0, 100000, 900000, 900000, 910000, 905000};
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 905000, 5, 0);
	add_moments(&t, level, 6);
	CHECK_INT(judge(&t, REPORT_INTERVAL)->kind, VERDICT_QUIET);
}

static void unsteady(void)
{
	static const uint64_t level[] = {0, 1000000, 900000, 900000, 910000, 1000000};
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 1000000, 5, 0);
	add_moments(&t, level, 6);

	const struct verdict *v = judge(&t, REPORT_INTERVAL);

	CHECK_INT(v->kind, VERDICT_UNSTEADY);
	CHECK_INT(v->growth_bytes, 100000);
	CHECK_INT(v->growth_ns, 3 * FIXTURE_NS);
}

static void an_empty_report_has_an_empty_verdict(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	CHECK_INT(judge(&t, REPORT_INTERVAL)->kind, VERDICT_EMPTY);
	CHECK(!t.verdict.cause);
}

static void unmeasured(void)
{
	_cleanup_(trial_deinit) struct trial t;

	trial_init(&t);
	add(&t, 100, 9, 100);
	t.f.snap->has_trends = false;
	CHECK_INT(judge(&t, REPORT_INTERVAL)->kind, VERDICT_HELD);
	CHECK_INT(t.verdict.share_percent, 100);
}

/* A misspelled filter must not make a leak look like peace. */
static void filtered(void)
{
	static const char *const patterns[] = {"fn:frist", "fn:second"};
	static const enum verdict_kind kinds[] = {VERDICT_FILTERED, VERDICT_QUIET};

	for (size_t i = 0; i < 2; i++) {
		struct report_filter *filter = report_filter_create();
		_cleanup_(trial_deinit) struct trial t;

		REQUIRE(filter);
		REQUIRE(!report_filter_add(filter, FILTER_KEEP, patterns[i]));
		trial_init(&t);
		add(&t, 1000, 5, 10);
		add(&t, 1000, 5, 0);
		t.options.filter = filter;
		CHECK_INT(judge(&t, REPORT_INTERVAL)->kind, kinds[i]);
		CHECK(t.verdict.is_filtered);
		report_filter_destroy(filter);
	}
}

int main(void)
{
	RUN(leaking);
	RUN(same_name);
	RUN(the_forecast_grows_with_the_lifetime);
	RUN(early);
	RUN(too_short);
	RUN(exited);
	RUN(quiet);
	RUN(unsteady);
	RUN(an_empty_report_has_an_empty_verdict);
	RUN(unmeasured);
	RUN(filtered);
	return check_done();
}
