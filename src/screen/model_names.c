// SPDX-License-Identifier: Apache-2.0
/* The names of items. */
#include "screen/model.h"

#include "render/text/brief_frames.h"
#include "render/text/groups.h"
#include "render/text/rows.h"
#include "util/escape.h"
#include "util/path.h"

static size_t frame_of(const struct item *item)
{
	return item->frame == ITEM_LEAF ? moment_leaf(item->row) : item->frame;
}

/* The name, and the line of source if it fits. The module has a column of its own. */
static void append_frame(struct strbuf *out, const struct item *item, size_t columns,
			 bool utf8)
{
	const struct report_row *row = item->row;
	const char *end = text_stack_end(row);
	size_t at = frame_of(item);

	if (at < row->depth) {
		const struct report_frame *frame = row->frames[at];

		brief_append_frame(out, frame, frame->module, columns, utf8);
	} else {
		text_append_within(out, end ? end : "no frames", columns, utf8);
	}
}

static void append_thread(struct strbuf *out, const struct report_thread *thread)
{
	escape_text(out, thread->thread->name ? thread->thread->name : "?");
	strbuf_appendf(out, " (%u)", thread->thread->tid);
}

static void append_process(struct strbuf *out, const struct snapshot_process *process)
{
	escape_text(out, process->command ? process->command : "?");
	strbuf_appendf(out, " (%d)%s", process->pid, process->exited ? ", exited" : "");
}

void model_append_name(const struct model *model, const struct item *item, size_t columns,
		       bool utf8, struct strbuf *out)
{
	struct strbuf text = {0};

	(void)model;
	switch (item->kind) {
	case ITEM_FRAME:
		append_frame(out, item, columns, utf8);
		return;
	case ITEM_GROUP:
		text_append_group(&text, item->moment->report, &item->moment->groups,
				  &item->moment->groups.list.data[item->group]);
		break;
	case ITEM_THREAD:
		append_thread(&text, item->thread);
		break;
	case ITEM_PROCESS:
		append_process(&text, item->process->process);
		break;
	}
	text_append_within(out, strbuf_text(&text), columns, utf8);
	out->failed |= text.failed;
	strbuf_deinit(&text);
}

void model_append_module(const struct item *item, struct strbuf *out)
{
	const char *module = NULL;

	size_t at = item->kind == ITEM_FRAME ? frame_of(item) : 0;

	if (item->kind == ITEM_FRAME && at < item->row->depth)
		module = item->row->frames[at]->module;
	if (item->kind == ITEM_GROUP)
		module = group_module(&item->moment->groups,
				      &item->moment->groups.list.data[item->group]);
	if (module)
		escape_text(out, path_base_name(module));
}
