// SPDX-License-Identifier: Apache-2.0
#include "render/html/parts.h"

#include <inttypes.h>

#include "render/class_words.h"
#include "util/saturate.h"
#include "util/units.h"

/* Begin a card: a large number with its name. The caller appends further details. */
static void begin_card(struct strbuf *out, const char *name, const char *value)
{
	strbuf_appendf(out,
		       "<div class=\"card\"><dt>%s</dt><dd><strong>%s</strong><span>",
		       name, value);
}

static void end_card(struct strbuf *out)
{
	strbuf_append(out, "</span></dd></div>\n");
}

static void append_live(struct strbuf *out, const struct report *report,
			const struct report_section *section)
{
	uint64_t bytes = section->live.estimated_bytes;
	uint64_t count = section->live.estimated_count;

	begin_card(out, class_words(section->class)->title, units_format_bytes(bytes).s);
	strbuf_appendf(out, "%" PRIu64 " bytes in %" PRIu64 " %s", bytes, count,
		       class_blocks(section->class, count));
	if (report->has_growth) {
		int64_t growth = section->estimated_live_growth_bytes;
		uint64_t size = growth < 0 ? -(uint64_t)growth : (uint64_t)growth;

		strbuf_appendf(out, "<br>%s%s since the report before",
			       growth < 0 ? "\u2212" : "+", units_format_bytes(size).s);
	}
	end_card(out);
}

/* Totals instead of rates: a rate over the whole run says little. */
static void append_flow(struct strbuf *out, const struct report_section *section)
{
	const struct snapshot_totals *t = &section->estimated_totals;

	begin_card(out, "Allocated", units_format_bytes(t->allocated_bytes).s);
	strbuf_appendf(out, "%" PRIu64 " %s", t->allocations,
		       t->allocations == 1 ? "allocation" : "allocations");
	if (section->totals.failures)
		strbuf_appendf(out, "<br>%" PRIu64 " failed", section->totals.failures);
	end_card(out);
	begin_card(out, "Freed", units_format_bytes(t->freed_bytes).s);
	strbuf_appendf(out, "%" PRIu64 " %s", t->frees, t->frees == 1 ? "free" : "frees");
	if (section->totals.frees_unknown)
		strbuf_appendf(out, "<br>%" PRIu64 " of blocks that were not tracked",
			       section->totals.frees_unknown);
	end_card(out);
}

/* The sums over all processes. */
static void append_memory(struct strbuf *out, const struct snapshot *snap)
{
	struct snapshot_memory sum = {0};

	vec_foreach (process, &snap->processes) {
		sum.vm_rss_bytes =
			saturate_add(sum.vm_rss_bytes, process->memory.vm_rss_bytes);
		sum.vm_hwm_bytes =
			saturate_add(sum.vm_hwm_bytes, process->memory.vm_hwm_bytes);
		sum.vm_size_bytes =
			saturate_add(sum.vm_size_bytes, process->memory.vm_size_bytes);
	}
	if (!sum.vm_rss_bytes && !sum.vm_size_bytes)
		return;
	begin_card(out, "Resident (VmRSS)", units_format_bytes(sum.vm_rss_bytes).s);
	strbuf_appendf(out, "at most %s", units_format_bytes(sum.vm_hwm_bytes).s);
	strbuf_appendf(out, "<br>%s of address space",
		       units_format_bytes(sum.vm_size_bytes).s);
	end_card(out);
}

static void append_peak(struct strbuf *out, const struct snapshot *snap,
			const struct report_section *heap)
{
	uint64_t at_ns = snap->peak_time_ns > snap->attached_ns
				 ? snap->peak_time_ns - snap->attached_ns
				 : 0;

	if (!snap->has_traffic)
		return;
	begin_card(out, "Heap at its peak", units_format_bytes(heap->peak_bytes).s);
	strbuf_appendf(out, "%" PRIu64 " bytes, %s after the attach", heap->peak_bytes,
		       units_format_duration(at_ns).s);
	end_card(out);
}

/* What a search for unreachable blocks found. */
static void append_lost(struct strbuf *out, const struct snapshot_search *search)
{
	const struct snapshot_unreachable *total = &search->total;

	if (!search->count)
		return;
	begin_card(out, "Lost",
		   units_format_bytes(snapshot_unreachable_lost(total).bytes).s);
	strbuf_appendf(out, "%" PRIu64 " blocks that nothing points to",
		       total->lost.count);
	if (total->held.count)
		strbuf_appendf(out, "<br>and %" PRIu64 " that only these lead to (%s)",
			       total->held.count,
			       units_format_bytes(total->held.bytes).s);
	if (total->possible.count)
		strbuf_appendf(out, "<br>possibly %s more",
			       units_format_bytes(total->possible.bytes).s);
	if (total->unverified.count)
		strbuf_appendf(out, "<br>%s unverified, for want of time",
			       units_format_bytes(total->unverified.bytes).s);
	if (total->lost_but_freed.count)
		strbuf_appendf(out, "<br>%s called lost by mistake, and freed",
			       units_format_bytes(total->lost_but_freed.bytes).s);
	if (total->held_but_freed.count)
		strbuf_appendf(out, " (%s because only lost blocks led to them)",
			       units_format_bytes(total->held_but_freed.bytes).s);
	if (search->unsearched)
		strbuf_appendf(out,
			       "<br>%" PRIu64 " of %" PRIu64
			       " processes could not be searched",
			       search->unsearched, search->processes);
	end_card(out);
}

static void append_kernel(struct strbuf *out, const struct snapshot *snap)
{
	uint64_t times = sampling_factor(&snap->sampling);

	vec_foreach (kind, &snap->kernel_classes) {
		const struct snapshot_totals *t = &kind->totals;
		uint64_t count = saturate_subtract(t->allocations, t->frees);
		uint64_t bytes = saturate_subtract(t->allocated_bytes, t->freed_bytes);

		strbuf_append(out, "<div><dt>");
		html_append_text(out, kind->name);
		strbuf_appendf(out, "</dt><dd>%s<span>",
			       units_format_bytes(report_times(bytes, times)).s);
		strbuf_appendf(out, "%" PRIu64 " live", report_times(count, times));
		end_card(out);
	}
}

void html_append_totals(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;

	html_begin_folded(out, "totals", "Totals");
	strbuf_append(out, "<dl class=\"cards\">\n");
	for (size_t i = 0; i < report->section_count; i++)
		append_live(out, report, &report->sections[i]);
	append_lost(out, &snap->search);
	append_kernel(out, snap);
	append_peak(out, snap, &report->sections[BLOCK_HEAP]);
	append_flow(out, &report->sections[BLOCK_HEAP]);
	append_memory(out, snap);
	strbuf_append(out, "</dl>\n");
	html_end_folded(out);
}

void html_append_losses(struct strbuf *out, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;

	if (!snapshot_has_losses(snap)) {
		strbuf_append(out,
			      "<p class=\"complete\">Nothing was lost: the numbers are "
			      "complete.</p>\n");
		return;
	}
	strbuf_append(out,
		      "<section id=\"losses\" class=\"warning\">\n<h2>Not everything "
		      "could be recorded</h2>\n<ul>\n");
	if (snap->inconsistent)
		strbuf_append(out,
			      "<li>This report is not of one moment: blocks that moved "
			      "while it was made may be missing or listed twice.</li>\n");
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (snap->losses[i])
			strbuf_appendf(out, "<li><code>%s</code> %" PRIu64 ": %s</li>\n",
				       loss_name((enum loss)i), snap->losses[i],
				       loss_remedy((enum loss)i));
	}
	strbuf_append(out, "</ul>\n</section>\n");
}
