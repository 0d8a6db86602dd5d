// SPDX-License-Identifier: Apache-2.0
#include "report/aggregate.h"
#include "report/build.h"

double report_rate(uint64_t now, uint64_t before, uint64_t since_ns)
{
	return now > before && since_ns ? (double)(now - before) * 1e9 / (double)since_ns
					: 0;
}

static uint64_t scale(uint64_t n, double weight)
{
	return weight == 1 ? n : report_round((double)n * weight);
}

/* How many blocks one of a group of `count` blocks stands for. */
static double group_weight(const struct report *report,
			   const struct report_section *section, uint64_t size_bytes,
			   uint64_t count)
{
	return report_weight(report, section, count ? size_bytes / count : 0);
}

struct report_flow report_flow_estimate(const struct report *report,
					const struct report_section *section,
					const struct report_flow *flow)
{
	double made =
		group_weight(report, section, flow->allocated_bytes, flow->allocations);
	double freed = group_weight(report, section, flow->freed_bytes, flow->frees);

	return (struct report_flow){
		.allocations = scale(flow->allocations, made),
		.allocated_bytes = scale(flow->allocated_bytes, made),
		.frees = scale(flow->frees, freed),
		.freed_bytes = scale(flow->freed_bytes, freed),
		.temporary = scale(flow->temporary, freed),
	};
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void add_traffic(const struct builder *b, const struct report_section *section,
			struct report_row *row)
{
	const struct snapshot_traffic *now = row->traffic;
	struct snapshot_traffic before =
		traffic_history_get(&b->history->traffic, row->stack);
	struct report_flow flow = {now->allocations, now->allocated_bytes, now->frees,
				   now->freed_bytes, now->temporary};
	struct report_flow since = {
		minus(now->allocations, before.allocations),
		minus(now->allocated_bytes, before.allocated_bytes),
		minus(now->frees, before.frees),
		minus(now->freed_bytes, before.freed_bytes),
		minus(now->temporary, before.temporary),
	};
	double peak = group_weight(b->report, section, now->peak_bytes, now->peak_count);
	uint64_t since_ns = b->report->since_ns;

	row->flow = report_flow_estimate(b->report, section, &flow);
	row->since_traced = since;
	row->since = report_flow_estimate(b->report, section, &since);
	row->rates = (struct report_rates){
		.allocations = report_rate(row->since.allocations, 0, since_ns),
		.allocated_bytes = report_rate(row->since.allocated_bytes, 0, since_ns),
		.frees = report_rate(row->since.frees, 0, since_ns),
		.freed_bytes = report_rate(row->since.freed_bytes, 0, since_ns),
	};
	row->peak_bytes = scale(now->peak_bytes, peak);
	row->peak_count = scale(now->peak_count, peak);
}

void report_row_init(const struct builder *b, const struct report_section *section,
		     uint32_t stack, struct report_row *row)
{
	const struct snapshot *snap = b->snap;
	enum block_class class = section->class;
	struct stack_sum now = stack_sums_get(&b->sums[class], stack);
	struct stack_sum before = stack_sums_get(&b->history->sums[class], stack);
	struct report_sum now_sum = report_sum_from(&now, section->is_estimate);
	struct report_sum before_sum = report_sum_from(&before, section->is_estimate);
	bool is_heap = class == BLOCK_HEAP;

	*row = (struct report_row){
		.stack = stack,
		.sum = now_sum,
		.growth_bytes = report_difference(now.size_bytes, before.size_bytes),
		.growth_count = report_difference(now.count, before.count),
		.estimated_growth_bytes = report_difference(now_sum.estimated_bytes,
							    before_sum.estimated_bytes),
		.oldest_age_ns = now.count ? minus(snap->time_ns, now.oldest_ns) : 0,
		.newest_age_ns = now.count ? minus(snap->time_ns, now.newest_ns) : 0,
		.end = STACK_END_UNREADABLE,
	};
	if (snap->has_trends && stack < snap->trends[class].len)
		row->trend = &snap->trends[class].data[stack];
	if (is_heap && snap->has_lifetimes && stack < snap->lifetimes.len)
		row->lifetimes = &snap->lifetimes.data[stack];
	if (is_heap && snap->has_traffic && stack < snap->traffic.len) {
		row->traffic = &snap->traffic.data[stack];
		add_traffic(b, section, row);
	}
}
