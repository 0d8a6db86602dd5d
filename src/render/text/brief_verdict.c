// SPDX-License-Identifier: Apache-2.0
#include "render/text/brief_verdict.h"

#include "render/text/brief_frames.h"
#include "render/verdict_words.h"

/* A name that is cut to less says nothing. */
#define NAME_MIN 12

/* Append "copy_text (leak.c:24) by parse_request" to `name`, or without the place;
 * nothing if that is wider than `room`. */
static void append_called(struct strbuf *name, const struct verdict *v, size_t room,
			  bool utf8)
{
	struct strbuf caller = {0};
	size_t width;

	strbuf_append(&caller, " by ");
	brief_append_name(&caller, v->caller);
	width = text_width(strbuf_text(&caller), caller.len, utf8);
	for (int i = 0; i < 2 && !name->len; i++) {
		const struct cause_part *part = v->cause->parts;

		if (i)
			brief_append_name(name, part->row->frames[part->named_by]);
		else
			brief_append_cause(name, v->cause, SIZE_MAX / 4, utf8);
		if (text_width(strbuf_text(name), name->len, utf8) + width > room)
			strbuf_clear(name);
	}
	if (name->len)
		strbuf_append(name, strbuf_text(&caller));
	name->failed |= caller.failed;
	strbuf_deinit(&caller);
}

/* Append the name of the cause. The name is shortened before `more` columns behind it are
 * given up. */
static void append_name(struct strbuf *name, const struct verdict *v, size_t room,
			size_t more, bool utf8)
{
	if (v->caller && room > more)
		append_called(name, v, room - more, utf8);
	if (name->len)
		return;
	brief_append_cause(name, v->cause, room, utf8);
	if (text_width(strbuf_text(name), name->len, utf8) + more > room &&
	    more + 2 * NAME_MIN <= room) {
		strbuf_clear(name);
		brief_append_cause(name, v->cause, room - more, utf8);
	}
}

/* Append what a search for unreachable blocks found, if there is room. */
static void append_lost(const struct snapshot *snap, struct strbuf *out, size_t *room)
{
	struct snapshot_sum lost = snapshot_unreachable_lost(&snap->search.total);
	char text[64];
	size_t len;

	if (!lost.count)
		return;
	len = (size_t)snprintf(text, sizeof(text), "; %s lost for good",
			       units_format_bytes(lost.bytes).s);
	if (len > *room)
		return;
	strbuf_append(out, text);
	*room -= len;
}

/* Append the parts to `out` as far as they fit. */
static void fit(const struct verdict_words *words, const struct verdict *v,
		const struct brief_page *page, struct strbuf *out)
{
	bool utf8 = page->report->options.utf8;
	size_t room = page->columns, share = words->share.len, more = words->more.len;
	struct strbuf name = {0};

	room -= words->what.len < room ? words->what.len : room;
	if (share && room >= share + NAME_MIN)
		append_name(&name, v, room - share, more, utf8);
	strbuf_append(out, strbuf_text(&words->what));
	if (name.len) {
		strbuf_append(out, strbuf_text(&words->share));
		strbuf_append(out, strbuf_text(&name));
		room -= share + text_width(name.data, name.len, utf8);
	}
	if (more <= room) {
		strbuf_append(out, strbuf_text(&words->more));
		room -= more;
	}
	append_lost(page->report->snapshot, out, &room);
	if (snapshot_has_losses(page->report->snapshot) && strlen(VERDICT_LOSSY) <= room)
		strbuf_append(out, VERDICT_LOSSY);
	out->failed |= name.failed;
	strbuf_deinit(&name);
}

void brief_put_verdict(struct brief_page *page, const struct verdict *v)
{
	struct verdict_words words;
	struct strbuf text = {0};

	verdict_words_init(&words, v);
	fit(&words, v, page, &text);
	brief_put(page, v->kind == VERDICT_LEAKING ? TEXT_WARNING : TEXT_TITLE,
		  strbuf_text(&text));
	brief_end_line(page);
	page->text.failed |= text.failed || verdict_words_failed(&words);
	strbuf_deinit(&text);
	verdict_words_deinit(&words);
}
