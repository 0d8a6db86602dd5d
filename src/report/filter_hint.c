// SPDX-License-Identifier: Apache-2.0
/* What the user may have meant by a filter that no stack matches. */
#include <string.h>

#include "report/build.h"
#include "frames/short_name.h"
#include "util/cleanup.h"
#include "util/nearest.h"
#include "util/strbuf.h"

static bool shows_nothing(const struct report *report)
{
	uint64_t left_out = 0;

	for (size_t i = 0; i < report->section_count; i++) {
		if (report->sections[i].stack_count)
			return false;
		left_out += report->sections[i].filtered.stack_count;
	}
	return left_out;
}

/* Offer the short name, and the part after its last "::". */
static void offer(void *data, const struct report_frame *frame)
{
	struct nearest *nearest = data;
	_cleanup_(strbuf_deinit) struct strbuf name = {0};
	const char *text, *last;

	if (!frame->symbol)
		return;
	short_name_append(&name, frame->symbol);
	text = strbuf_text(&name);
	last = text;
	for (const char *at = text; (at = strstr(at, "::")); at += 2)
		last = at + 2;
	nearest_offer(nearest, strstr(nearest->wanted, "::") ? text : last,
		      strlen(strstr(nearest->wanted, "::") ? text : last));
}

/* Wildcards would only count as wrong letters. */
static struct strbuf plain_name(const char *glob)
{
	struct strbuf name = {0};

	for (; *glob; glob++)
		if (!strchr("*?[]\\", *glob))
			strbuf_append_char(&name, *glob);
	return name;
}

struct error *filter_hint_build(struct builder *b)
{
	const struct report_filter *filter = b->options->filter;
	_cleanup_(strbuf_deinit) struct strbuf names = {0};
	const char *glob;
	char *kept;

	if (!filter || !report_filter_kept(filter, 0) || !shows_nothing(b->report))
		return NULL;
	for (size_t i = 0; (glob = report_filter_kept(filter, i)); i++) {
		_cleanup_(strbuf_deinit) struct strbuf name = plain_name(glob);
		struct nearest nearest = {.wanted = strbuf_text(&name)};

		frame_namer_visit(&b->namer, offer, &nearest);
		for (size_t k = 0; k < nearest.count; k++) {
			strbuf_append(&names, names.len ? ", " : "");
			strbuf_append(&names, nearest.best[k].name);
		}
	}
	if (names.failed)
		return error_no_memory();
	if (!names.len)
		return NULL;
	kept = report_arena_alloc(b->arena, names.len + 1, 1);
	if (!kept)
		return error_no_memory();
	memcpy(kept, strbuf_text(&names), names.len + 1);
	b->report->near_filter = kept;
	return NULL;
}
