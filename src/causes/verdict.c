// SPDX-License-Identifier: Apache-2.0
#include "causes/verdict.h"

#include <string.h>

#include "util/saturate.h"

/* Growth of less is not worth a word. */
#define GROWTH_MIN_BYTES ((uint64_t)64 * 1024)
#define GROWTH_SHARE     10 /* one part in this many of what is live */
#define MOMENTS_MIN      5

/* A person can wait this long, in seconds, for "1 GiB more". */
#define PATIENCE_S (48.0 * 3600)

static unsigned percent(double part, double whole)
{
	double share = whole > 0 ? 100 * part / whole : 0;

	return share < 100 ? (unsigned)(share + 0.5) : 100;
}

/* A round number of bytes, and the time until so much more is live. */
static void find_more(struct verdict *v)
{
	static const uint64_t amounts[] = {
		UINT64_C(1) << 40,  UINT64_C(1) << 30, UINT64_C(100) << 20,
		UINT64_C(10) << 20, UINT64_C(1) << 20,
	};
	const size_t count = sizeof(amounts) / sizeof(*amounts);
	/* 1 TiB only if it is a matter of minutes. */
	size_t i = (double)amounts[0] / v->slope_bytes_per_s < 600 ? 0 : 1;

	while (i + 1 < count && (double)amounts[i] / v->slope_bytes_per_s > PATIENCE_S)
		i++;
	v->more_bytes = amounts[i];
	v->more_s = (double)amounts[i] / v->slope_bytes_per_s;
}

static const struct cause *find_largest(const struct causes *causes)
{
	const struct cause *largest = NULL;

	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *cause = &causes->list[i];

		if (!largest || cause->sum.estimated_bytes > largest->sum.estimated_bytes)
			largest = cause;
	}
	return largest;
}

/* The intervals that were measured of the call path that is known for longest. */
static uint64_t find_intervals(const struct snapshot *snap, enum block_class class)
{
	uint64_t most = 0;

	vec_foreach (trend, &snap->trends[class])
		most = trend->intervals > most ? trend->intervals : most;
	return most;
}

/* Growth during the second half of the run. Moments of a file may be in any order. */
static bool find_growth(const struct snapshot *snap, struct verdict *v)
{
	const struct snapshot_moment *moments = snap->moments.data, *last;
	size_t count = snap->moments.len, at = 0;
	uint64_t half_ns;

	if (count < MOMENTS_MIN)
		return false;
	last = &moments[count - 1];
	half_ns = saturate_subtract(last->time_ns, moments[0].time_ns) / 2;
	while (at + 1 < count &&
	       saturate_subtract(last->time_ns, moments[at + 1].time_ns) >= half_ns)
		at++;
	v->growth_bytes = report_difference(last->live_bytes[v->class],
					    moments[at].live_bytes[v->class]);
	v->growth_ns = saturate_subtract(last->time_ns, moments[at].time_ns);
	return v->growth_bytes > 0 && (uint64_t)v->growth_bytes >= GROWTH_MIN_BYTES &&
	       (uint64_t)v->growth_bytes >= last->live_bytes[v->class] / GROWTH_SHARE;
}

static const struct report_frame *naming_frame(const struct cause *cause)
{
	const struct cause_part *part = cause->parts;

	return part->named_by < part->row->depth ? part->row->frames[part->named_by]
						 : NULL;
}

static bool is_same_function(const struct report_frame *a, const struct report_frame *b)
{
	return a && b && a->symbol && b->symbol && !strcmp(a->symbol, b->symbol);
}

/* The first own caller of the cause, if its name alone does not tell it from another. */
static const struct report_frame *find_caller(const struct causes *causes,
					      const struct cause *cause)
{
	const struct report_frame *frame = naming_frame(cause);
	const struct report_row *row = cause->parts->row;
	bool is_shared = false;

	for (size_t i = 0; i < causes->count; i++)
		is_shared |= &causes->list[i] != cause &&
			     is_same_function(naming_frame(&causes->list[i]), frame);
	for (size_t i = cause->parts->named_by + 1; is_shared && i < row->depth; i++) {
		if (causes_origin(causes, row->frames[i])->kind == CODE_OWN &&
		    !is_same_function(row->frames[i], frame))
			return row->frames[i];
	}
	return NULL;
}

static void judge_leak(const struct causes *causes, struct verdict *v)
{
	v->kind = VERDICT_LEAKING;
	v->cause = &causes->list[0];
	for (size_t i = 0; i < causes->suspect_count; i++)
		v->slope_bytes_per_s += causes->list[i].slope_bytes_per_s;
	v->share_percent = percent(v->cause->slope_bytes_per_s, v->slope_bytes_per_s);
	find_more(v);
}

static void judge_reports(const struct report *report, struct verdict *v)
{
	uint64_t intervals = find_intervals(report->snapshot, v->class);

	if (intervals < REPORT_SUSPECT_INTERVALS) {
		v->kind = report_cause_is_final(report->cause) ? VERDICT_SHORT
							       : VERDICT_EARLY;
		v->reports = REPORT_SUSPECT_INTERVALS - intervals;
		v->wait_ns = report_times(v->reports, report->options.interval_ns);
	} else {
		v->kind = find_growth(report->snapshot, v) ? VERDICT_UNSTEADY
							   : VERDICT_QUIET;
	}
}

struct verdict verdict_of(const struct report *report,
			  const struct report_section *section,
			  const struct causes *causes)
{
	struct verdict v = {.class = section->class,
			    .live = section->live,
			    .is_filtered = section->filtered.stack_count > 0};

	if (causes->suspect_count) {
		judge_leak(causes, &v);
		v.caller = find_caller(causes, v.cause);
		return v;
	}
	v.cause = find_largest(causes);
	if (v.cause) {
		v.share_percent = percent((double)v.cause->sum.estimated_bytes,
					  (double)v.live.estimated_bytes);
		v.caller = find_caller(causes, v.cause);
	}
	if (v.is_filtered && !causes->count)
		v.kind = VERDICT_FILTERED;
	else if (report->cause == REPORT_EXITED)
		v.kind = VERDICT_EXITED;
	else if (!v.live.count)
		v.kind = VERDICT_EMPTY;
	else if (!report->snapshot->has_trends)
		v.kind = VERDICT_HELD;
	else
		judge_reports(report, &v);
	return v;
}

struct error *judgement_init(struct judgement *ret, const struct report *report,
			     const struct judgement *known)
{
	*ret = (struct judgement){.verdict = {.kind = VERDICT_EMPTY}};
	for (size_t i = 0; i < report->section_count; i++) {
		const struct report_section *section = &report->sections[i];
		struct error *err =
			causes_find(report, section, known ? &known->causes[i] : NULL,
				    &ret->causes[i]);
		struct verdict other;

		ret->section_count++;
		if (err)
			return err;
		other = verdict_of(report, section, &ret->causes[i]);
		if (!i || (other.kind == VERDICT_LEAKING &&
			   ret->verdict.kind != VERDICT_LEAKING))
			ret->verdict = other;
	}
	return NULL;
}

void judgement_deinit(struct judgement *judgement)
{
	for (size_t i = 0; i < judgement->section_count; i++)
		causes_deinit(&judgement->causes[i]);
}
