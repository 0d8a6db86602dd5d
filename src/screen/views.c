// SPDX-License-Identifier: Apache-2.0
#include "screen/views.h"

#include "render/text/brief_frames.h"
#include "render/text/groups.h"
#include "render/text/rows.h"
#include "util/escape.h"
#include "util/path.h"

#define LIVE                                                                             \
	(COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) | COLUMN(COLUMN_GROWTH) |          \
	 COLUMN(COLUMN_OLDEST) | COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME) |            \
	 COLUMN(COLUMN_MODULE))

static uint64_t live_part(const struct numbers *numbers)
{
	return numbers->bytes;
}

static uint64_t growth_part(const struct numbers *numbers)
{
	return numbers->growth_bytes > 0 ? (uint64_t)numbers->growth_bytes : 0;
}

static uint64_t allocated_part(const struct numbers *numbers)
{
	return numbers->allocated_bytes;
}

static uint64_t peak_part(const struct numbers *numbers)
{
	return numbers->at_peak_bytes ? numbers->at_peak_bytes : numbers->peak_bytes;
}

static uint64_t lost_part(const struct numbers *numbers)
{
	return numbers->lost_bytes + numbers->held_bytes;
}

static const struct screen_view_ops views_of[SCREEN_VIEWS] = {
	[SCREEN_VIEW_CAUSES] = {"causes", 0, LIVE, SCREEN_SORT_LEAKS, live_part},
	[SCREEN_VIEW_STACKS] = {"stacks", 0, LIVE, SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_TREE] = {"tree", 0, LIVE, SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_FUNCTIONS] = {"functions", 0, LIVE | COLUMN(COLUMN_TOTAL),
				   SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_GROWTH] = {"growth", 0, LIVE, SCREEN_SORT_GROWTH, growth_part},
	[SCREEN_VIEW_TRAFFIC] = {"traffic", REPORT_DATA_TRAFFIC,
				 COLUMN(COLUMN_ALLOCATED) | COLUMN(COLUMN_FREED) |
					 COLUMN(COLUMN_RATE) | COLUMN(COLUMN_BYTES) |
					 COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME) |
					 COLUMN(COLUMN_MODULE),
				 SCREEN_SORT_ALLOCATED, allocated_part},
	[SCREEN_VIEW_PEAK] = {"peak", REPORT_DATA_TRAFFIC,
			      COLUMN(COLUMN_AT_PEAK) | COLUMN(COLUMN_PEAK) |
				      COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_SHARE) |
				      COLUMN(COLUMN_NAME) | COLUMN(COLUMN_MODULE),
			      SCREEN_SORT_PEAK, peak_part},
	[SCREEN_VIEW_THREADS] = {"threads", REPORT_DATA_TRAFFIC,
				 COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) |
					 COLUMN(COLUMN_ALLOCATED) | COLUMN(COLUMN_FREED) |
					 COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_NAME),
				 SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_PROCESSES] = {"processes", 0,
				   COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) |
					   COLUMN(COLUMN_GROWTH) | COLUMN(COLUMN_SHARE) |
					   COLUMN(COLUMN_NAME),
				   SCREEN_SORT_BYTES, live_part},
	[SCREEN_VIEW_UNREACHABLE] = {"unreachable", REPORT_DATA_UNREACHABLE,
				     COLUMN(COLUMN_LOST) | COLUMN(COLUMN_HELD) |
					     COLUMN(COLUMN_POSSIBLE) |
					     COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_SHARE) |
					     COLUMN(COLUMN_NAME) | COLUMN(COLUMN_MODULE),
				     SCREEN_SORT_LOST, lost_part},
};

const struct screen_view_ops *screen_view_of(enum screen_view view)
{
	return &views_of[view];
}

const char *screen_view_name(enum screen_view view)
{
	return views_of[view].name;
}

unsigned screen_view_columns(enum screen_view view)
{
	return views_of[view].columns;
}

bool screen_view_has_data(const struct model *model, enum screen_view view)
{
	const struct report *report = model->moment->report;
	bool is_event = report->sections[model->section].class == BLOCK_EVENT;

	if (is_event && view == SCREEN_VIEW_THREADS)
		return false;
	return (report->data & views_of[view].needs) == views_of[view].needs;
}

/* --- names -------------------------------------------------------------------------- */

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
		brief_append_cut(out, end ? end : "no frames", columns, utf8);
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
	brief_append_cut(out, strbuf_text(&text), columns, utf8);
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
