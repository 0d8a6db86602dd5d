// SPDX-License-Identifier: Apache-2.0
/* Histograms of blocks by size and by age. */
#include "render/html/parts.h"

#include <inttypes.h>

#include "report/histogram.h"
#include "util/saturate.h"
#include "util/units.h"

/* Counts of one kind of block, by powers of two. */
struct bars {
	const char *name;
	uint64_t counts[HISTOGRAM_CLASSES];
	uint64_t highest;
};

static void bars_set(struct bars *bars, const uint64_t counts[HISTOGRAM_CLASSES])
{
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		bars->counts[i] = counts[i];
		if (bars->counts[i] > bars->highest)
			bars->highest = bars->counts[i];
	}
}

static void bars_round(struct bars *bars, const double counts[HISTOGRAM_CLASSES])
{
	uint64_t rounded[HISTOGRAM_CLASSES];

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		rounded[i] = report_round(counts[i]);
	bars_set(bars, rounded);
}

typedef void append_class(struct strbuf *out, size_t class);

/* Append the classes from the first to the last that has any block. */
static void append_table(struct strbuf *out, const char *first, append_class *append,
			 const struct bars *bars, size_t count)
{
	size_t low = HISTOGRAM_CLASSES, high = 0;

	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		for (size_t k = 0; k < count; k++) {
			if (!bars[k].counts[i])
				continue;
			low = i < low ? i : low;
			high = i;
		}
	}
	strbuf_append(out, "<table class=\"bars\">\n<colgroup><col class=\"c\">");
	for (size_t k = 0; k < count; k++)
		strbuf_append(out, "<col class=\"n\"><col>");
	strbuf_appendf(out, "</colgroup>\n<thead><tr><th scope=\"col\">%s</th>", first);
	for (size_t k = 0; k < count; k++)
		strbuf_appendf(out, "<th scope=\"col\" colspan=\"2\">%s</th>",
			       bars[k].name);
	strbuf_append(out, "</tr></thead>\n<tbody>\n");
	for (size_t i = low; i <= high && low < HISTOGRAM_CLASSES; i++) {
		strbuf_append(out, "<tr><th scope=\"row\">");
		append(out, i);
		strbuf_append(out, "</th>");
		for (size_t k = 0; k < count; k++) {
			html_append_count(out, bars[k].name, bars[k].counts[i]);
			html_append_bar(out, bars[k].counts[i], bars[k].highest);
		}
		strbuf_append(out, "</tr>\n");
	}
	strbuf_append(out, "</tbody>\n</table>\n");
}

/* Examples: "16 to 31 B", "1.0 KiB up to 2.0 KiB". */
static void append_size(struct strbuf *out, size_t class)
{
	uint64_t min = histogram_min_bytes(class), max = histogram_max_bytes(class);

	if (class <= 1)
		strbuf_appendf(out, "%zu B", class);
	else if (max < 1024)
		strbuf_appendf(out, "%" PRIu64 " to %" PRIu64 " B", min, max);
	else
		strbuf_appendf(out, "%s up to %s", units_format_bytes(min).s,
			       units_format_bytes(max).s);
}

void html_append_sizes(struct strbuf *out, const struct report *report)
{
	const struct report_section *heap = &report->sections[BLOCK_HEAP];
	const struct snapshot *snap = report->snapshot;
	struct bars bars[2] = {{.name = "Live blocks"},
			       {.name = "All that were allocated"}};

	bars_set(&bars[0], heap->live_sizes);
	bars_set(&bars[1], heap->ever_sizes);
	if (!bars[0].highest && !(snap->has_traffic && bars[1].highest))
		return;
	html_begin_folded(out, "sizes", "Sizes of heap blocks");
	append_table(out, "Size", append_size, bars, snap->has_traffic ? 2 : 1);
	html_end_folded(out);
}

/* Class 0 is below 1 ms; class i begins at 2^(i-1) ms. */
static void append_age(struct strbuf *out, size_t class)
{
	uint64_t from_ns = class ? (UINT64_C(1) << (class - 1)) * UNITS_NS_PER_MS : 0;

	if (!class)
		strbuf_append(out, "under 1 ms");
	else if (class == SNAPSHOT_LIFETIMES - 1)
		strbuf_appendf(out, "%s and more", units_format_duration(from_ns).s);
	else
		strbuf_appendf(out, "%s up to %s", units_format_duration(from_ns).s,
			       units_format_duration(2 * from_ns).s);
}

static size_t age_class(const struct snapshot *snap, const struct snapshot_block *block)
{
	uint64_t age_ns = saturate_subtract(snap->time_ns, block->time_ns);
	size_t class = histogram_class(age_ns / UNITS_NS_PER_MS);

	return class < SNAPSHOT_LIFETIMES ? class : SNAPSHOT_LIFETIMES - 1;
}

void html_append_ages(struct strbuf *out, const struct report *report)
{
	const struct report_section *heap = &report->sections[BLOCK_HEAP];
	const struct snapshot *snap = report->snapshot;
	struct bars bars[2] = {{.name = "Age of live blocks"},
			       {.name = "Lifetime of freed blocks"}};
	double counts[HISTOGRAM_CLASSES] = {0}, freed[HISTOGRAM_CLASSES] = {0};

	vec_foreach (block, &snap->blocks[BLOCK_HEAP])
		counts[age_class(snap, block)] +=
			report_weight(report, heap, block->size_bytes);
	bars_round(&bars[0], counts);
	vec_foreach (lifetimes, &snap->lifetimes) {
		for (size_t i = 0; i < SNAPSHOT_LIFETIMES; i++)
			freed[i] += (double)lifetimes->count[i];
	}
	bars_round(&bars[1], freed);
	if (!bars[0].highest && !(snap->has_lifetimes && bars[1].highest))
		return;
	html_begin_folded(out, "ages", "Ages of heap blocks");
	append_table(out, "Time", append_age, bars, snap->has_lifetimes ? 2 : 1);
	if (snap->has_lifetimes && heap->is_estimate)
		strbuf_append(out,
			      "<p class=\"note\">Lifetimes are of the blocks that were "
			      "sampled, and are not scaled.</p>\n");
	html_end_folded(out);
}
