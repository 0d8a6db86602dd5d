// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <string.h>

#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/views/all.h"
#include "util/cleanup.h"
#include "util/saturate.h"

#define BAR_COLUMNS 40

/* The lower bound. Bucket 0 is below 1 ms; bucket i begins at 2^(i-1) ms. */
static uint64_t min_ns(size_t bucket)
{
	return bucket ? UNITS_NS_PER_MS << (bucket - 1) : 0;
}

static uint64_t count_all(const struct snapshot_lifetimes *lifetimes)
{
	uint64_t all = 0;

	for (size_t i = 0; i < SNAPSHOT_LIFETIMES; i++)
		all = saturate_add(all, lifetimes->count[i]);
	return all;
}

/* The first bucket such that at least half of the blocks are in or below it. */
static size_t median_bucket(const struct snapshot_lifetimes *lifetimes)
{
	uint64_t all = count_all(lifetimes), seen = 0;
	size_t i = 0;

	for (; i + 1 < SNAPSHOT_LIFETIMES; i++) {
		seen = saturate_add(seen, lifetimes->count[i]);
		if (seen >= all - all / 2)
			break;
	}
	return i;
}

static void append_range(struct strbuf *text, size_t bucket)
{
	if (bucket)
		strbuf_appendf(text, "%s", units_format_duration(min_ns(bucket)).s);
	if (bucket + 1 < SNAPSHOT_LIFETIMES)
		strbuf_appendf(text, "%s%s", bucket ? " to " : "below ",
			       units_format_duration(min_ns(bucket + 1)).s);
	else
		strbuf_append(text, " and more");
}

static void append_median(struct strbuf *text, size_t bucket)
{
	bool is_last = bucket + 1 == SNAPSHOT_LIFETIMES;

	strbuf_appendf(text, "%s %s", is_last ? "after more than" : "within",
		       units_format_duration(min_ns(is_last ? bucket : bucket + 1)).s);
}

/* The number of freed blocks; an estimate if blocks were sampled, because lifetimes are
 * as traced. */
static uint64_t count_freed(const struct report *report, const struct report_row *row)
{
	if (!row->lifetimes)
		return 0;
	return report->sections[BLOCK_HEAP].is_estimate ? row->flow.frees
							: count_all(row->lifetimes);
}

static void append_line(struct text_page *page, const struct report_section *section,
			const struct report_row *row)
{
	struct strbuf *text = &page->text;
	uint64_t freed = count_freed(page->report, row);

	text_append_sum(page, section, row->flow.allocated_bytes, row->flow.allocations);
	strbuf_append(text, " made by stack  (");
	if (freed) {
		strbuf_appendf(text, "%" PRIu64 " freed, half of them ", freed);
		append_median(text, median_bucket(row->lifetimes));
		strbuf_appendf(
			text, ", %s temporary",
			text_format_share(row->flow.temporary, row->flow.allocations).s);
	} else {
		strbuf_append(text, "none freed");
	}
	if (row->sum.count)
		strbuf_appendf(text, "; %" PRIu64 " live", row->sum.estimated_count);
	if (row->sum.count && !page->report->options.combined_only)
		strbuf_appendf(text, ", oldest %s",
			       units_format_duration(row->oldest_age_ns).s);
	strbuf_append_char(text, ')');
}

/* Sum the lifetimes of all stacks, including stacks that are not shown. */
static struct snapshot_lifetimes sum_all(const struct snapshot *snap)
{
	struct snapshot_lifetimes sum = {{0}};

	vec_foreach (lifetimes, &snap->lifetimes) {
		for (size_t i = 0; i < SNAPSHOT_LIFETIMES; i++)
			sum.count[i] = saturate_add(sum.count[i], lifetimes->count[i]);
	}
	return sum;
}

static void append_table(struct text_page *page)
{
	struct snapshot_lifetimes all = sum_all(page->report->snapshot);
	struct strbuf *text = &page->text;
	uint64_t most = 0;

	text_append_heading(page, "How long freed blocks lived%s",
			    page->report->sections[BLOCK_HEAP].is_estimate ? ", as traced"
									   : "");
	for (size_t i = 0; i < SNAPSHOT_LIFETIMES; i++)
		most = all.count[i] > most ? all.count[i] : most;
	for (size_t i = 0; i < SNAPSHOT_LIFETIMES; i++) {
		_cleanup_(strbuf_deinit) struct strbuf range = {0};

		if (!all.count[i])
			continue;
		append_range(&range, i);
		strbuf_appendf(text, "  %-24s %12" PRIu64 "  ", strbuf_text(&range),
			       all.count[i]);
		text_append_bar(page, all.count[i], most, BAR_COLUMNS);
		strbuf_append_char(text, '\n');
	}
	if (!most)
		strbuf_append(text, "  none was freed yet\n");
}

static void append_text(struct text_page *page, const struct report_section *section)
{
	static const struct text_rows rows = {
		.heading = "with allocations since the attach",
		.append_line = append_line,
	};

	append_table(page);
	text_append_rows(page, section, &rows);
}

/* Lifetimes in milliseconds, such as "0..1=3 4..8=1". */
static void csv_row(const struct report *report, const struct report_row *row, FILE *out)
{
	const char *space = "";

	fprintf(out, "%" PRIu64 ",%" PRIu64 ",\"", count_freed(report, row),
		row->flow.temporary);
	for (size_t i = 0; row->lifetimes && i < SNAPSHOT_LIFETIMES; i++) {
		if (!row->lifetimes->count[i])
			continue;
		fprintf(out, "%s%" PRIu64 "..", space, min_ns(i) / UNITS_NS_PER_MS);
		if (i + 1 < SNAPSHOT_LIFETIMES)
			fprintf(out, "%" PRIu64, min_ns(i + 1) / UNITS_NS_PER_MS);
		fprintf(out, "=%" PRIu64, row->lifetimes->count[i]);
		space = " ";
	}
	fputc('"', out);
}

const struct view_ops view_lifetimes = {
	.name = "lifetimes",
	.needs = REPORT_DATA_TRAFFIC | REPORT_DATA_LIFETIMES,
	.sort = REPORT_SORT_TRAFFIC,
	.past = true,
	.append_text = append_text,
	.csv_columns = "freed,temporary,lifetimes_ms",
	.csv_row = csv_row,
};
