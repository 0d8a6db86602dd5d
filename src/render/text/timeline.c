// SPDX-License-Identifier: Apache-2.0
#include "render/text/timeline.h"

#include "render/class_words.h"
#include "util/units.h"

#define COLUMNS_MAX 48
#define LEVELS      8
#define MOMENTS_MIN 3
#define FLAT_SHARE  20 /* a change of less than one part in this many is flat */

/* The curve of the processes' resident memory, instead of a class. */
#define CURVE_RSS BLOCK_CLASS_COUNT

static uint64_t bytes_at(const struct snapshot_moment *moment, enum block_class curve)
{
	return curve == CURVE_RSS ? moment->vm_rss_bytes : moment->live_bytes[curve];
}

static void append_level(struct text_page *page, unsigned level)
{
	/* U+2581, lower one eighth block, to U+2588, full block. */
	if (page->report->options.utf8)
		strbuf_appendf(&page->text, "\xe2\x96%c", (char)(0x81 + level));
	else
		strbuf_append_char(&page->text, "_.-:=+*#"[level]);
}

/* Append a column for each part of the time, with the last value seen at its end. Moments
 * are closer together towards the end of a long run. */
static void append_columns(struct text_page *page, enum block_class curve, uint64_t low,
			   uint64_t high, size_t most)
{
	const struct snapshot_moment *moments = page->report->snapshot->moments.data;
	size_t count = page->report->snapshot->moments.len, at = 0;
	size_t columns = count < most ? count : most;
	uint64_t begin_ns = moments[0].time_ns;
	double span_ns = (double)(moments[count - 1].time_ns - begin_ns);

	for (size_t i = 0; i < columns; i++) {
		double end_ns = span_ns * (double)i / (double)(columns - 1);

		while (at + 1 < count &&
		       (double)(moments[at + 1].time_ns - begin_ns) <= end_ns)
			at++;

		uint64_t value =
			bytes_at(&moments[i + 1 == columns ? count - 1 : at], curve);
		double share =
			high > low ? (double)(value - low) / (double)(high - low) : 0;
		unsigned level = (unsigned)(share * (LEVELS - 1) + 0.5);

		append_level(page, level < LEVELS ? level : LEVELS - 1);
	}
}

/* Append one curve, unless it is flat. `columns` 0: as wide as possible, and also if
 * flat. */
static void append_one(struct text_page *page, const char *label, enum block_class curve,
		       size_t columns)
{
	const char *what = curve == CURVE_RSS ? "VmRSS" : class_words(curve)->name;
	uint64_t low = UINT64_MAX, high = 0;

	vec_foreach (moment, &page->report->snapshot->moments) {
		uint64_t bytes = bytes_at(moment, curve);

		low = bytes < low ? bytes : low;
		high = bytes > high ? bytes : high;
	}
	if (!high || (columns && high - low <= high / FLAT_SHARE))
		return;
	strbuf_appendf(&page->text, "  %-12s", label);
	append_columns(page, curve, low, high, columns ? columns : COLUMNS_MAX);
	strbuf_appendf(&page->text, "  %s, %s to %s\n", what, units_format_bytes(low).s,
		       units_format_bytes(high).s);
}

/* Are there enough moments, in order of time? In a file they may be in any order. */
static bool is_in_order(const struct snapshot *snap)
{
	for (size_t i = 1; i < snap->moments.len; i++) {
		if (snap->moments.data[i].time_ns < snap->moments.data[i - 1].time_ns)
			return false;
	}
	return snap->moments.len >= MOMENTS_MIN;
}

void text_append_timeline(struct text_page *page)
{
	enum block_class class = snapshot_main_class(page->report->snapshot);

	if (!is_in_order(page->report->snapshot))
		return;
	append_one(page, "timeline", class, 0);
	if (class != BLOCK_KERNEL)
		append_one(page, "", BLOCK_KERNEL, 0);
	append_one(page, "", CURVE_RSS, 0);
}

void text_append_curve(struct text_page *page, size_t columns)
{
	if (columns < MOMENTS_MIN || !is_in_order(page->report->snapshot))
		return;
	append_one(page, "timeline", snapshot_main_class(page->report->snapshot),
		   columns < COLUMNS_MAX ? columns : COLUMNS_MAX);
}
