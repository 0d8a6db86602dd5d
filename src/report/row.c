// SPDX-License-Identifier: Apache-2.0
#include "report/aggregate.h"
#include "report/build.h"
#include "util/saturate.h"

double report_rate(uint64_t now, uint64_t before, uint64_t since_ns)
{
	return now > before && since_ns ? (double)(now - before) * 1e9 / (double)since_ns
					: 0;
}

static uint64_t scale(uint64_t n, double weight)
{
	return weight == 1 ? n : report_round((double)n * weight);
}

static struct report_flow traced(const struct snapshot_traffic *t)
{
	return (struct report_flow){t->allocations, t->allocated_bytes, t->frees,
				    t->freed_bytes, t->temporary};
}

/* What the section's sums over traced blocks are multiplied by. 1 if all blocks are
 * traced, or if each has a weight of its own. */
static double factor(const struct builder *b, const struct report_section *section)
{
	return section->is_estimate ? (double)sampling_factor(&b->snap->sampling) : 1;
}

static bool is_by_size(const struct builder *b, const struct report_section *section)
{
	return section->is_estimate && sampling_is_by_size(&b->snap->sampling);
}

static struct report_flow estimated(const struct builder *b,
				    const struct report_section *section,
				    const struct snapshot_traffic *t)
{
	double times = factor(b, section);

	if (is_by_size(b, section))
		return (struct report_flow){t->estimated_allocations,
					    t->estimated_allocated_bytes,
					    t->estimated_frees, t->estimated_freed_bytes,
					    t->estimated_temporary};
	return (struct report_flow){
		scale(t->allocations, times), scale(t->allocated_bytes, times),
		scale(t->frees, times),       scale(t->freed_bytes, times),
		scale(t->temporary, times),
	};
}

static struct report_flow difference(const struct report_flow *now,
				     const struct report_flow *before)
{
	return (struct report_flow){
		saturate_subtract(now->allocations, before->allocations),
		saturate_subtract(now->allocated_bytes, before->allocated_bytes),
		saturate_subtract(now->frees, before->frees),
		saturate_subtract(now->freed_bytes, before->freed_bytes),
		saturate_subtract(now->temporary, before->temporary),
	};
}

static void add_peak(const struct builder *b, const struct report_section *section,
		     struct report_row *row)
{
	const struct snapshot_traffic *t = row->traffic;
	double times = factor(b, section);

	/* The estimate has bytes but no count. Assume blocks of the same mean size as the
	 * traced ones. */
	if (is_by_size(b, section) && t->peak_bytes)
		times = (double)t->estimated_peak_bytes / (double)t->peak_bytes;
	row->peak_bytes = scale(t->peak_bytes, times);
	row->peak_count = scale(t->peak_count, times);
}

static void add_at_peak(const struct builder *b, const struct report_section *section,
			struct report_row *row)
{
	const struct snapshot_at_peak *at_peak = &b->snap->at_peak.data[row->stack];
	double times = factor(b, section);

	row->at_peak_bytes = scale(at_peak->bytes, times);
	row->at_peak_count = scale(at_peak->count, times);
}

static void add_traffic(const struct builder *b, const struct report_section *section,
			struct report_row *row)
{
	struct snapshot_traffic before =
		traffic_history_get(&b->history->traffic, row->stack);
	struct report_flow traced_now = traced(row->traffic);
	struct report_flow traced_before = traced(&before);
	struct report_flow estimated_before = estimated(b, section, &before);
	uint64_t since_ns = b->report->since_ns;

	row->flow = estimated(b, section, row->traffic);
	row->since = difference(&row->flow, &estimated_before);
	row->since_traced = difference(&traced_now, &traced_before);
	row->rates = (struct report_rates){
		.allocations = report_rate(row->since.allocations, 0, since_ns),
		.allocated_bytes = report_rate(row->since.allocated_bytes, 0, since_ns),
		.frees = report_rate(row->since.frees, 0, since_ns),
		.freed_bytes = report_rate(row->since.freed_bytes, 0, since_ns),
	};
	add_peak(b, section, row);
}

void report_row_init(const struct builder *b, const struct report_section *section,
		     uint32_t stack, struct report_row *row)
{
	const struct snapshot *snap = b->snap;
	enum block_class class = section->class;
	struct snapshot_held now = stack_sums_get(&b->sums[class], stack);
	struct snapshot_held before = stack_sums_get(&b->history->sums[class], stack);
	struct report_sum now_sum = report_sum_from(&now, section->is_estimate);
	struct report_sum before_sum = report_sum_from(&before, section->is_estimate);
	unsigned measured = report_class_data(class), data = b->report->data & measured;

	*row = (struct report_row){
		.stack = stack,
		.sum = now_sum,
		.growth_bytes = report_difference(now.size_bytes, before.size_bytes),
		.growth_count = report_difference(now.count, before.count),
		.estimated_growth_bytes = report_difference(now_sum.estimated_bytes,
							    before_sum.estimated_bytes),
		.estimated_growth_count = report_difference(now_sum.estimated_count,
							    before_sum.estimated_count),
		.oldest_age_ns =
			now.count ? saturate_subtract(snap->time_ns, now.oldest_ns) : 0,
		.newest_age_ns =
			now.count ? saturate_subtract(snap->time_ns, now.newest_ns) : 0,
		.end = STACK_END_UNREADABLE,
	};
	if (data & REPORT_DATA_TRENDS && stack < snap->trends[class].len)
		row->trend = &snap->trends[class].data[stack];
	if (data & REPORT_DATA_LIFETIMES && stack < snap->lifetimes.len)
		row->lifetimes = &snap->lifetimes.data[stack];
	if (measured & REPORT_DATA_TRAFFIC && stack < snap->path_sizes.len)
		row->ever_sizes = &snap->path_sizes.data[stack];
	if (data & REPORT_DATA_TRAFFIC && stack < snap->traffic.len) {
		row->traffic = &snap->traffic.data[stack];
		add_traffic(b, section, row);
	}
	if (data & REPORT_DATA_UNREACHABLE && stack < snap->unreachable.len)
		row->unreachable = &snap->unreachable.data[stack];
	if (measured & REPORT_DATA_AT_PEAK && stack < snap->at_peak.len)
		add_at_peak(b, section, row);
}

bool report_row_shows(const struct report_row *row, size_t frame)
{
	if (!row->frames[frame]->hidden)
		return true;
	for (size_t i = 0; i < row->depth; i++) {
		if (!row->frames[i]->hidden)
			return false;
	}
	return true;
}

bool report_row_has_verdict(const struct report_row *row)
{
	const struct snapshot_unreachable *u = row->unreachable;

	return u && (u->lost.count || u->held.count || u->possible.count ||
		     u->unverified.count || u->lost_but_freed.count);
}

struct snapshot_sum report_row_lost(const struct report_row *row)
{
	return row->unreachable ? snapshot_unreachable_lost(row->unreachable)
				: (struct snapshot_sum){0};
}

uint64_t report_row_lost_bytes(const struct report_row *row)
{
	return report_row_lost(row).bytes;
}
