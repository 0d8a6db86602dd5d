// SPDX-License-Identifier: Apache-2.0
#include "render/text/sums.h"

#include <inttypes.h>

#include "render/text_words.h"

static const char *blocks(uint64_t count)
{
	return text_plural(count, "block", "blocks");
}

/* What a search says that found no lost block. */
static const char *nothing_lost(const struct snapshot_search *s)
{
	const struct snapshot_unreachable *u = &s->total;

	if (s->processes && s->unsearched == s->processes)
		return "not known: the memory could not be searched";
	if (s->unsearched)
		return "nothing in the processes that could be searched";
	return u->possible.count || u->unverified.count
		       ? "nothing: something points to every block but these:"
		       : "nothing: something points to every block";
}

static void append_lost(struct text_page *page, const struct snapshot_search *s)
{
	const struct snapshot_unreachable *u = &s->total;
	struct strbuf text = {0};

	if (!u->lost.count) {
		text_append_line(page, "lost", "%s", nothing_lost(s));
		return;
	}
	strbuf_appendf(&text, "%s in %" PRIu64 " %s that nothing points to",
		       units_format_bytes(u->lost.bytes).s, u->lost.count,
		       blocks(u->lost.count));
	if (u->held.count)
		strbuf_appendf(&text, ", and %s in %" PRIu64 " that only these lead to",
			       units_format_bytes(u->held.bytes).s, u->held.count);
	text_append_line(page, "lost", "%s", strbuf_text(&text));
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

static void append_sum(struct text_page *page, const struct snapshot_sum *sum,
		       const char *what)
{
	if (sum->count)
		text_append_line(page, "", "%s in %" PRIu64 " %s %s",
				 units_format_bytes(sum->bytes).s, sum->count,
				 blocks(sum->count), what);
}

/* Blocks that were called lost, and then freed. */
static void append_mistakes(struct text_page *page, const struct snapshot_unreachable *u)
{
	struct strbuf text = {0};

	strbuf_append(&text, "were called lost by mistake: they were freed later");
	if (u->held_but_freed.count)
		strbuf_appendf(&text,
			       "; of these %s in %" PRIu64
			       " because only lost blocks led to them",
			       units_format_bytes(u->held_but_freed.bytes).s,
			       u->held_but_freed.count);
	append_sum(page, &u->lost_but_freed, strbuf_text(&text));
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

/* How the search was made: what a person needs to trust it, and to know its price. */
static void append_search(struct text_page *page, const struct snapshot_search *s)
{
	uint64_t now_ns = page->report->snapshot->time_ns;
	struct strbuf text = {0};

	strbuf_appendf(&text, "%s of memory", units_format_bytes(s->read_bytes).s);
	if (now_ns > s->time_ns + s->took_ns)
		strbuf_appendf(&text, ", %s ago",
			       units_format_duration(now_ns - s->time_ns).s);
	if (s->threads)
		strbuf_appendf(&text, "; stopped %" PRIu64 " %s for %s", s->threads,
			       text_plural(s->threads, "thread", "threads"),
			       units_format_duration(s->pause_ns).s);
	else
		strbuf_append(&text, "; no thread had to be stopped");
	if (s->unsearched)
		strbuf_appendf(&text,
			       "; %" PRIu64 " of %" PRIu64
			       " processes could not be searched",
			       s->unsearched, s->processes);
	text_append_line(page, "searched", "%s", strbuf_text(&text));
	if (s->has_rings)
		text_append_line(page, "",
				 "requests of io_uring or AIO could not be seen: "
				 "blocks that only these hold seem lost");
	page->text.failed |= text.failed;
	strbuf_deinit(&text);
}

void text_append_unreachable(struct text_page *page, const struct report_section *section)
{
	const struct snapshot_search *s = &page->report->snapshot->search;

	if (!report_section_has(page->report, section, REPORT_DATA_UNREACHABLE))
		return;
	append_lost(page, s);
	append_sum(page, &s->total.possible,
		   "possibly: only pointers into them were found, none to their start");
	append_sum(page, &s->total.unverified,
		   "unverified: the search had no more time (--max-pause)");
	append_mistakes(page, &s->total);
	append_search(page, s);
}
