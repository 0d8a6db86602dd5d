// SPDX-License-Identifier: Apache-2.0
/* The table of call paths. */
#include "screen/compose.h"

#include <stdio.h>
#include <string.h>

#include "render/text_words.h"
#include "screen/views.h"
#include "util/units.h"

#define NS_PER_MINUTE   60e9
#define PERCENT_COLUMNS 6 /* "100 %" and a space */

#define INDENT_COLUMNS  40 /* a narrower column is indented less */

static enum column_id sorted_column(enum screen_sort sort)
{
	static const enum column_id columns[SCREEN_SORTS] = {
		[SCREEN_SORT_LEAKS] = COLUMN_IDS,
		[SCREEN_SORT_BYTES] = COLUMN_BYTES,
		[SCREEN_SORT_BLOCKS] = COLUMN_BLOCKS,
		[SCREEN_SORT_GROWTH] = COLUMN_GROWTH,
		[SCREEN_SORT_OLDEST] = COLUMN_OLDEST,
		[SCREEN_SORT_TOTAL] = COLUMN_TOTAL,
		[SCREEN_SORT_ALLOCATED] = COLUMN_ALLOCATED,
		[SCREEN_SORT_PEAK] = COLUMN_AT_PEAK,
		[SCREEN_SORT_SINCE_MARK] = COLUMN_SINCE_MARK,
		[SCREEN_SORT_LOST] = COLUMN_LOST,
	};

	return columns[sort];
}

static void put_heading(const struct ui *ui, struct canvas *canvas)
{
	const struct layout *layout = &ui->layout;
	enum column_id sorted = sorted_column(ui->model.sort);

	for (size_t i = 0; i < layout->column_count; i++) {
		const struct layout_column *column = &layout->columns[i];
		enum canvas_style style =
			column->id == sorted ? CANVAS_KEY : CANVAS_HEADING;
		const char *title = layout_title(column->id);

		if (column->id == COLUMN_NAME && ui->model.view == SCREEN_VIEW_THREADS)
			title = "THREAD";
		if (column->id == COLUMN_NAME && ui->model.view == SCREEN_VIEW_PROCESSES)
			title = "PROCESS";
		if (layout_is_right(column->id))
			canvas_put_right(canvas, column->x, layout->table_y,
					 column->width, style, title);
		else
			canvas_put(canvas, column->x, layout->table_y, column->width,
				   style, title);
	}
}

/* --- cells -------------------------------------------------------------------------- */

/* Growth since the last report, as if it went on for a minute. */
static struct units_text growth_text(const struct report *report, int64_t bytes)
{
	double minutes = (double)report->since_ns / NS_PER_MINUTE;
	double rate = minutes > 0 ? (double)bytes / minutes : 0;
	struct units_text text = {"0 B"};

	if (rate >= 0.5 || rate <= -0.5)
		snprintf(text.s, sizeof(text.s), "%c%.30s", rate > 0 ? '+' : '-',
			 units_format_bytes(report_round(rate < 0 ? -rate : rate)).s);
	return text;
}

static struct units_text delta_text(int64_t bytes)
{
	struct units_text text = {"0 B"};

	return bytes ? text_format_growth(bytes) : text;
}

static struct units_text number_text(const struct report *report, const struct item *item,
				     enum column_id column)
{
	const struct numbers *n = &item->numbers;

	switch (column) {
	case COLUMN_BYTES:
		return units_format_bytes(n->bytes);
	case COLUMN_TOTAL:
		if (!item->depth)
			return units_format_bytes(n->total_bytes);
		break;
	case COLUMN_BLOCKS:
		return units_format_count(n->count);
	case COLUMN_GROWTH:
		return growth_text(report, n->growth_bytes);
	case COLUMN_SINCE_MARK:
		return delta_text(n->delta_bytes);
	case COLUMN_OLDEST:
		if (n->oldest_ns)
			return units_format_duration(n->oldest_ns);
		break;
	case COLUMN_ALLOCATED:
		return units_format_bytes(n->allocated_bytes);
	case COLUMN_FREED:
		return units_format_bytes(n->freed_bytes);
	case COLUMN_RATE:
		return units_format_bytes(report_round(n->allocated_rate));
	case COLUMN_AT_PEAK:
		if (report->data & REPORT_DATA_AT_PEAK)
			return units_format_bytes(n->at_peak_bytes);
		break;
	case COLUMN_LOST:
		return units_format_bytes(n->lost_bytes);
	case COLUMN_HELD:
		return units_format_bytes(n->held_bytes);
	case COLUMN_POSSIBLE:
		return units_format_bytes(n->possible_bytes);
	case COLUMN_PEAK:
		return units_format_bytes(n->peak_bytes);
	default:
		break;
	}
	return (struct units_text){"-"};
}

static void put_share(struct canvas *canvas, const struct layout_column *column,
		      unsigned y, double part, double whole)
{
	double percent = whole > 0 ? part / whole * 100 : 0;
	char text[16];

	snprintf(text, sizeof(text), "%3.0f %%", percent < 999 ? percent : 999);
	canvas_put_right(canvas, column->x, y, PERCENT_COLUMNS - 1, CANVAS_PLAIN, text);
	if (column->width > PERCENT_COLUMNS) {
		unsigned width = column->width - PERCENT_COLUMNS;
		struct strbuf bar = {0};

		canvas_append_bar(&bar, part, whole, width, canvas->utf8);
		canvas_put(canvas, column->x + PERCENT_COLUMNS, y, width, CANVAS_BAR,
			   strbuf_text(&bar));
		canvas->texts.failed |= bar.failed;
		strbuf_deinit(&bar);
	}
}

static void put_name(const struct ui *ui, struct canvas *canvas,
		     const struct layout_column *column, unsigned y,
		     const struct item *item)
{
	unsigned most = column->width / 2, mark = 2;
	unsigned indent = item->depth * (column->width < INDENT_COLUMNS ? 1 : 2);
	bool is_suspect = item->numbers.slope_bytes_per_s > 0;
	const char *marks = item->is_expanded ? "- " : item->is_expandable ? "+ " : "  ";
	enum canvas_style style = is_suspect      ? CANVAS_WARNING
				  : item->is_gone ? CANVAS_DIM
						  : CANVAS_PLAIN;
	struct strbuf name = {0};

	if (indent > most)
		indent = most;
	canvas_put(canvas, column->x + indent, y, mark, CANVAS_DIM, marks);
	if (is_suspect)
		strbuf_append(&name, "!");
	model_append_name(&ui->model, item,
			  column->width - indent - mark - (is_suspect ? 1 : 0), ui->utf8,
			  &name);
	canvas_put(canvas, column->x + indent + mark, y, column->width - indent - mark,
		   style, strbuf_text(&name));
	canvas->texts.failed |= name.failed;
	strbuf_deinit(&name);
}

static void put_module(struct canvas *canvas, const struct layout_column *column,
		       unsigned y, const struct item *item)
{
	struct strbuf text = {0};

	model_append_module(item, &text);
	canvas_put(canvas, column->x, y, column->width, CANVAS_DIM, strbuf_text(&text));
	canvas->texts.failed |= text.failed;
	strbuf_deinit(&text);
}

/* The whole that a share is of. */
static double whole_of(const struct ui *ui)
{
	const struct screen_view_ops *view = screen_view_of(ui->model.view);
	double whole = 0;

	if (view->columns & COLUMN(COLUMN_BYTES) &&
	    (view->sort == SCREEN_SORT_BYTES || view->sort == SCREEN_SORT_LEAKS))
		return (double)ui->model.moment->sections[ui->model.section]
			.section->live.estimated_bytes;
	vec_foreach (item, &ui->model.items)
		if (!item->depth)
			whole += (double)view->part(&item->numbers);
	return whole;
}

static void put_item(const struct ui *ui, struct canvas *canvas, unsigned y,
		     const struct item *item, double whole)
{
	const struct screen_view_ops *view = screen_view_of(ui->model.view);

	for (size_t i = 0; i < ui->layout.column_count; i++) {
		const struct layout_column *column = &ui->layout.columns[i];

		if (column->id == COLUMN_NAME)
			put_name(ui, canvas, column, y, item);
		else if (column->id == COLUMN_MODULE)
			put_module(canvas, column, y, item);
		else if (column->id == COLUMN_SHARE)
			put_share(canvas, column, y, (double)view->part(&item->numbers),
				  whole);
		else
			canvas_put_right(
				canvas, column->x, y, column->width, CANVAS_PLAIN,
				number_text(ui->model.moment->report, item, column->id)
					.s);
	}
}

void compose_table(const struct ui *ui, struct canvas *canvas)
{
	const struct model *model = &ui->model;
	const struct layout *layout = &ui->layout;
	double whole = whole_of(ui);

	put_heading(ui, canvas);
	for (unsigned i = 0; i < layout->table_lines; i++) {
		size_t at = model->first + i;
		unsigned y = layout->table_y + 1 + i;

		if (at >= model->items.len)
			break;
		/* So that the whole line is inverted. */
		if (at == model->selected)
			canvas_putf(canvas, 0, y, layout->table_width, CANVAS_PLAIN,
				    "%*s", (int)layout->table_width, " ");
		put_item(ui, canvas, y, &model->items.data[at], whole);
		if (at == model->selected)
			canvas_select(canvas, 0, y, layout->table_width);
	}
	if (!model->items.len)
		canvas_put(canvas, 2, layout->table_y + 1, layout->table_width - 2,
			   CANVAS_DIM,
			   model->filter.len ? "no call path matches the filter"
					     : "nothing to show");
}
