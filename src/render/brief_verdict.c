// SPDX-License-Identifier: Apache-2.0
#include "render/brief_verdict.h"

#include <inttypes.h>

#include "render/brief_frames.h"
#include "render/brief_rate.h"
#include "render/class_words.h"
#include "render/text_words.h"

/* A name that is cut to less says nothing. */
#define NAME_MIN 12

/* The losses themselves are at the begin of the report. */
#define LOSSY "; not all was recorded"

/* The parts of the line. */
struct line {
	struct strbuf what;  /* "leaking 9.7 MiB/min" */
	struct strbuf share; /* ", 95 % from ", and then the name of the cause */
	struct strbuf more;  /* "; +1 GiB in 1.8 h" */
	const struct cause *cause;
	const struct report_frame *caller; /* tells the cause from another; or NULL */
};

/* "45 s", "12 min", "1.8 h", "3.2 days". */
static struct units_text format_time(double seconds)
{
	static const struct {
		const char *name;
		double seconds, from_s;
	} units[] = {{"s", 1, 0},
		     {"min", 60, 120},
		     {"h", 3600, 3600},
		     {"days", 86400, 172800}};
	struct units_text text;
	size_t i = 0;
	uint64_t tenths;

	while (i + 1 < sizeof(units) / sizeof(*units) && seconds >= units[i + 1].from_s)
		i++;
	tenths = report_round(seconds / units[i].seconds * 10);
	if (tenths >= 100 || i == 0)
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " %s", (tenths + 5) / 10,
			 units[i].name);
	else
		snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%u %s", tenths / 10,
			 (unsigned)(tenths % 10), units[i].name);
	return text;
}

/* Round numbers: "1 GiB", not "1.0 GiB". */
static void append_amount(struct strbuf *text, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (i < 4 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	strbuf_appendf(text, "%" PRIu64 " %s", bytes, units[i]);
}

static void append_live(struct strbuf *text, const struct verdict *v)
{
	strbuf_appendf(text, "%s live", units_format_bytes(v->live.estimated_bytes).s);
}

static void append_share(struct line *line, const struct verdict *v)
{
	line->cause = v->cause;
	line->caller = v->caller;
	if (v->cause)
		strbuf_appendf(&line->share, ", %u %% from ", v->share_percent);
}

static void describe_leak(struct line *line, const struct verdict *v)
{
	struct brief_rate rate;

	brief_rate_init(&rate, v->slope_bytes_per_s);
	strbuf_appendf(&line->what, "leaking %s",
		       brief_rate_format(&rate, v->slope_bytes_per_s).s);
	append_share(line, v);
	strbuf_append(&line->more, "; +");
	append_amount(&line->more, v->more_bytes);
	strbuf_appendf(&line->more, " in %s", format_time(v->more_s).s);
}

static void describe_early(struct line *line, const struct verdict *v)
{
	strbuf_append(&line->what, "too early");
	strbuf_appendf(&line->more, ": leak suspects after %" PRIu64 " more %s",
		       v->reports, text_plural(v->reports, "report", "reports"));
	if (v->wait_ns)
		strbuf_appendf(&line->more, " (%s)",
			       format_time((double)v->wait_ns / 1e9).s);
}

static void describe_short(struct line *line, const struct verdict *v)
{
	append_live(&line->what, v);
	append_share(line, v);
	strbuf_appendf(&line->more, "; too short to find leaks: %d reports are needed",
		       REPORT_SUSPECT_INTERVALS + 1);
}

static void describe(struct line *line, const struct verdict *v)
{
	switch (v->kind) {
	case VERDICT_LEAKING:
		describe_leak(line, v);
		break;
	case VERDICT_EARLY:
		describe_early(line, v);
		break;
	case VERDICT_SHORT:
		describe_short(line, v);
		break;
	case VERDICT_EXITED:
		if (!v->live.count) {
			strbuf_append(&line->what, "exited with nothing live");
			break;
		}
		strbuf_append(&line->what, "exited: ");
		append_live(&line->what, v);
		append_share(line, v);
		break;
	case VERDICT_UNSTEADY:
		strbuf_append(&line->what, "grows unsteadily");
		strbuf_appendf(&line->more, ": %s in %s; no leak suspects",
			       text_format_growth(v->growth_bytes).s,
			       format_time((double)v->growth_ns / 1e9).s);
		break;
	case VERDICT_QUIET:
		strbuf_append(&line->what, "nothing grows");
		strbuf_append(&line->more, ": ");
		append_live(&line->more, v);
		break;
	case VERDICT_HELD:
		append_live(&line->what, v);
		append_share(line, v);
		break;
	case VERDICT_EMPTY:
		strbuf_append(&line->what, "nothing live");
		strbuf_append(&line->more, " that was allocated since the attach");
		break;
	}
}

/* Append "copy_text (leak.c:24) by parse_request" to `name`, or without the place;
 * nothing if that is wider than `room`. */
static void append_called(struct strbuf *name, const struct line *line, size_t room,
			  bool utf8)
{
	struct strbuf caller = {0};
	size_t width;

	strbuf_append(&caller, " by ");
	brief_append_name(&caller, line->caller);
	width = brief_width(strbuf_text(&caller), caller.len, utf8);
	for (int i = 0; i < 2 && !name->len; i++) {
		const struct cause_part *part = line->cause->parts;

		if (i)
			brief_append_name(name, part->row->frames[part->named_by]);
		else
			brief_append_cause(name, line->cause, SIZE_MAX / 4, utf8);
		if (brief_width(strbuf_text(name), name->len, utf8) + width > room)
			strbuf_clear(name);
	}
	if (name->len)
		strbuf_append(name, strbuf_text(&caller));
	name->failed |= caller.failed;
	strbuf_deinit(&caller);
}

/* Append the name of the cause. The name is shortened before `more` columns behind it are
 * given up. */
static void append_name(struct strbuf *name, const struct line *line, size_t room,
			size_t more, bool utf8)
{
	if (line->caller && room > more)
		append_called(name, line, room - more, utf8);
	if (name->len)
		return;
	brief_append_cause(name, line->cause, room, utf8);
	if (brief_width(strbuf_text(name), name->len, utf8) + more > room &&
	    more + 2 * NAME_MIN <= room) {
		strbuf_clear(name);
		brief_append_cause(name, line->cause, room - more, utf8);
	}
}

/* Append the parts to `out` as far as they fit. */
static void fit(const struct line *line, const struct brief_page *page,
		struct strbuf *out)
{
	bool utf8 = page->report->options.utf8;
	size_t room = page->columns, share = line->share.len, more = line->more.len;
	struct strbuf name = {0};

	room -= line->what.len < room ? line->what.len : room;
	if (line->cause && room >= share + NAME_MIN)
		append_name(&name, line, room - share, more, utf8);
	strbuf_append(out, strbuf_text(&line->what));
	if (name.len) {
		strbuf_append(out, strbuf_text(&line->share));
		strbuf_append(out, strbuf_text(&name));
		room -= share + brief_width(name.data, name.len, utf8);
	}
	if (more <= room) {
		strbuf_append(out, strbuf_text(&line->more));
		room -= more;
	}
	if (snapshot_has_losses(page->report->snapshot) && strlen(LOSSY) <= room)
		strbuf_append(out, LOSSY);
	out->failed |= name.failed;
	strbuf_deinit(&name);
}

void brief_put_verdict(struct brief_page *page, const struct verdict *v)
{
	struct line line = {.cause = NULL};
	struct strbuf text = {0};

	if (v->class != BLOCK_HEAP)
		strbuf_appendf(&line.what, "%s: ", class_words(v->class)->name);
	describe(&line, v);
	fit(&line, page, &text);
	brief_put(page, v->kind == VERDICT_LEAKING ? TEXT_WARNING : TEXT_TITLE,
		  strbuf_text(&text));
	brief_end_line(page);
	page->text.failed |=
		text.failed || line.what.failed || line.share.failed || line.more.failed;
	strbuf_deinit(&text);
	strbuf_deinit(&line.what);
	strbuf_deinit(&line.share);
	strbuf_deinit(&line.more);
}
