// SPDX-License-Identifier: Apache-2.0
#include "render/text/groups.h"

#include "render/text/brief_page.h"
#include "render/text_processes.h"
#include "render/text/rows.h"
#include "render/text/wrap.h"
#include "util/escape.h"
#include "util/path.h"

/* Longer names are cut in the middle. */
#define NAME_COLUMNS 100

static void append_in_brackets(struct strbuf *out, const char *text)
{
	strbuf_append_char(out, '[');
	escape_text(out, text);
	strbuf_append_char(out, ']');
}

static void append_code(struct strbuf *out, const struct groups *groups,
			const struct group *group)
{
	const char *name = group_name(groups, group);
	const char *module = group_module(groups, group);
	const char *file = group_file(groups, group);

	if (name)
		escape_text(out, name);
	else if (groups->by == REPORT_GROUP_SOURCE && file)
		escape_text(out, file);
	else if (groups->by == REPORT_GROUP_MODULE && module)
		escape_text(out, module);
	else if (module)
		append_in_brackets(out, path_base_name(module));
	else
		strbuf_append(out, "[unknown]");
}

static void append_end(struct strbuf *out, const struct report_row *row)
{
	const char *end = text_stack_end(row);

	/* A complete stack has no words, unless all of its frames are missing. */
	append_in_brackets(out, end ? end : "no frames");
}

static void append_name(struct strbuf *out, const struct report *report,
			const struct groups *groups, const struct group *group)
{
	const struct report_row *row = group->row;

	switch (group->kind) {
	case GROUP_CODE:
		append_code(out, groups, group);
		break;
	case GROUP_GAP:
		strbuf_append(out, REPORT_GAP_NAME);
		break;
	case GROUP_END:
		append_end(out, row);
		break;
	case GROUP_PROCESS:
		strbuf_append(out, "process ");
		if (row->process)
			text_append_process(out, row->process);
		else
			strbuf_append(out, "unknown");
		break;
	case GROUP_ALLOCATOR:
		if (row->allocator)
			escape_text(out, row->allocator->label);
		else
			strbuf_append(out, "[unknown]");
		break;
	case GROUP_THREAD:
		text_append_thread(out, report, group->tid,
				   group_thread(report, groups, group));
		break;
	}
}

size_t text_append_group(struct strbuf *text, const struct report *report,
			 const struct groups *groups, const struct group *group)
{
	size_t columns = text_columns(&report->options);
	size_t most =
		columns && columns < NAME_COLUMNS ? columns - columns / 4 : NAME_COLUMNS;
	bool utf8 = report->options.utf8;
	struct strbuf name = {0};
	size_t before = text->len;

	append_name(&name, report, groups, group);
	text_append_within(text, strbuf_text(&name), most, utf8);
	text->failed |= name.failed;
	strbuf_deinit(&name);
	return text->failed ? 0
			    : text_width(text->data + before, text->len - before, utf8);
}

void text_append_group_place(struct strbuf *text, const struct report *report,
			     const struct groups *groups, const struct group *group)
{
	const char *name = group_name(groups, group);
	const char *module = group_module(groups, group);
	const char *file = group_file(groups, group);

	if (!name)
		return;
	if (file) {
		strbuf_append(text, " (");
		text_append_cut(text, path_base_name(file), &report->options);
		if (group->line)
			strbuf_appendf(text, ":%u", group->line);
		strbuf_append_char(text, ')');
	}
	if (module) {
		strbuf_append(text, " [");
		text_append_cut(text, path_base_name(module), &report->options);
		strbuf_append_char(text, ']');
	}
}
