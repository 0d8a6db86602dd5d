// SPDX-License-Identifier: Apache-2.0
#include "screen/compose.h"

#include <stdio.h>
#include <string.h>

#include "render/suspect_words.h"
#include "render/text/brief_frames.h"
#include "render/text/rows.h"
#include "screen/views.h"
#include "util/escape.h"
#include "util/units.h"

/* --- the stack ---------------------------------------------------------------------- */

static void put_stack_heading(const struct ui *ui, struct canvas *canvas,
			      const struct item *item)
{
	const struct layout *layout = &ui->layout;
	const struct report_row *row = item->row;
	struct strbuf text = {0};

	strbuf_append(&text, "STACK");
	if (row && item->member_count > 1)
		strbuf_appendf(&text, " of the largest of %u call paths: %s in %s blocks",
			       item->member_count,
			       units_format_bytes(row->sum.estimated_bytes).s,
			       units_format_count(row->sum.estimated_count).s);
	else if (row)
		strbuf_appendf(&text, "  %zu frames", row->depth);
	canvas_put(canvas, layout->stack_x, layout->stack_y, layout->stack_width,
		   CANVAS_HEADING, strbuf_text(&text));
	canvas->texts.failed |= text.failed;
	strbuf_deinit(&text);
}

/* Append the line of frame `index`. After the last frame: why the stack ends. False: no
 * such line. */
static bool append_stack_line(const struct ui *ui, const struct item *item, size_t index,
			      struct strbuf *text)
{
	const struct report_row *row = item->row;
	const char *executable = row->frames_of ? row->frames_of->executable : NULL;
	const char *end = text_stack_end(row);
	size_t shown = 0;

	for (size_t i = 0; i < row->depth; i++) {
		if (!report_row_shows(row, i) || shown++ < index)
			continue;
		brief_append_frame(text, row->frames[i], executable,
				   ui->layout.stack_width - 2, ui->utf8);
		return true;
	}
	if (!end || shown != index)
		return false;
	strbuf_appendf(text, "[%s]", end);
	return true;
}

static size_t stack_line_count(const struct report_row *row)
{
	size_t count = text_stack_end(row) != NULL;

	for (size_t i = 0; i < row->depth; i++)
		count += report_row_shows(row, i);
	return count;
}

void compose_stack(struct ui *ui, struct canvas *canvas)
{
	const struct layout *layout = &ui->layout;
	const struct item *item = model_selected(&ui->model);
	unsigned y = layout->stack_y + 1, end = layout->stack_y + layout->stack_lines;
	size_t count, index;

	if (!item)
		return;
	put_stack_heading(ui, canvas, item);
	if (!item->row)
		return;
	if (item->numbers.slope_bytes_per_s > 0 && item->row->trend && y < end) {
		struct strbuf text = {0};

		strbuf_append(&text, "! ");
		text_append_trend(&text, item->row->trend, ui->utf8);
		canvas_put(canvas, layout->stack_x, y++, layout->stack_width,
			   CANVAS_WARNING, strbuf_text(&text));
		canvas->texts.failed |= text.failed;
		strbuf_deinit(&text);
	}
	count = stack_line_count(item->row);
	if (ui->stack_first + (end - y) > count)
		ui->stack_first = count > end - y ? (unsigned)count - (end - y) : 0;
	for (index = ui->stack_first; y < end; y++, index++) {
		struct strbuf text = {0};

		if (append_stack_line(ui, item, index, &text))
			canvas_put(
				canvas, layout->stack_x + 2, y, layout->stack_width - 2,
				index ? CANVAS_PLAIN : CANVAS_TITLE, strbuf_text(&text));
		canvas->texts.failed |= text.failed;
		strbuf_deinit(&text);
	}
}

/* --- the last line ------------------------------------------------------------------ */

static unsigned put_key(struct canvas *canvas, unsigned x, unsigned y, const char *key,
			const char *text)
{
	unsigned begin = x;

	if (x + strlen(key) + strlen(text) + 3 > canvas->columns)
		return 0;
	x += canvas_put(canvas, x, y, canvas->columns, CANVAS_KEY, key) + 1;
	x += canvas_put(canvas, x, y, canvas->columns, CANVAS_PLAIN, text) + 2;
	return x - begin;
}

static void put_choices(const struct ui *ui, struct canvas *canvas)
{
	unsigned x = 0, y = ui->layout.status_y;

	for (size_t i = 0; i < ui_choice_count(ui); i++) {
		const char key[] = {(char)ui_choice_key(ui, i), '\0'};

		if (ui_choice_is_possible(ui, i))
			x += put_key(canvas, x, y, key, ui_choice_name(ui, i));
	}
}

static void put_input(const struct ui *ui, struct canvas *canvas)
{
	struct strbuf text = {0};

	strbuf_append(&text, ui->mode == UI_INPUT_SEARCH ? "search: " : "filter: ");
	escape_text(&text, strbuf_text(&ui->input));
	strbuf_append_char(&text, '_');
	canvas_put(canvas, 0, ui->layout.status_y, ui->columns, CANVAS_KEY,
		   strbuf_text(&text));
	canvas->texts.failed |= text.failed;
	strbuf_deinit(&text);
}

static void put_hints(const struct ui *ui, struct canvas *canvas)
{
	static const char *const hints[][2] = {
		{"?", "help"},       {"q", "quit"},   {"v", "view"},   {"s", "sort"},
		{"/", "search"},     {"f", "filter"}, {"e", "expand"}, {"m", "mark"},
		{"space", "freeze"}, {"w", "write"},
	};
	const struct model *model = &ui->model;
	unsigned x = 0, y = ui->layout.status_y;
	char right[96];
	unsigned width;

	snprintf(right, sizeof(right), "%s by %s  %zu/%zu",
		 screen_view_of(model->view)->name, screen_sort_name(model->sort),
		 model->items.len ? model->selected + 1 : 0, model->items.len);
	width = (unsigned)strlen(right);
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++) {
		size_t needed = strlen(hints[i][0]) + strlen(hints[i][1]) + 3;

		if (x + needed + width <= ui->columns)
			x += put_key(canvas, x, y, hints[i][0], hints[i][1]);
	}
	canvas_put_right(canvas, ui->columns - width, y, width, CANVAS_DIM, right);
}

static void put_status(const struct ui *ui, struct canvas *canvas)
{
	switch (ui->mode) {
	case UI_INPUT_SEARCH:
	case UI_INPUT_FILTER:
		put_input(ui, canvas);
		return;
	case UI_CHOOSE_VIEW:
	case UI_CHOOSE_SORT:
	case UI_CHOOSE_WRITE:
		put_choices(ui, canvas);
		return;
	default:
		break;
	}
	if (ui->message.len)
		canvas_put(canvas, 0, ui->layout.status_y, ui->columns, CANVAS_KEY,
			   strbuf_text(&ui->message));
	else if (ui->mode != UI_TABLE)
		canvas_put(canvas, 0, ui->layout.status_y, ui->columns, CANVAS_DIM,
			   "arrows scroll, any other key goes back");
	else
		put_hints(ui, canvas);
}

/* --- help and messages -------------------------------------------------------------- */

static void bound_page(struct ui *ui, size_t count, unsigned room)
{
	if (ui->page_first + (size_t)room > count)
		ui->page_first = count > room ? (unsigned)count - room : 0;
}

static void compose_help(struct ui *ui, struct canvas *canvas)
{
	unsigned room = ui->layout.status_y - 2;

	canvas_put(canvas, 0, 0, ui->columns, CANVAS_TITLE, "memtrace: keys");
	bound_page(ui, key_row_count, room);
	for (unsigned i = 0; i < room && ui->page_first + i < key_row_count; i++) {
		const struct key_row *row = &key_rows[ui->page_first + i];

		canvas_put(canvas, 2, 2 + i, 10, CANVAS_KEY, row->names);
		canvas_put(canvas, 13, 2 + i, ui->columns - 13, CANVAS_PLAIN, row->help);
	}
}

static void compose_log(struct ui *ui, struct canvas *canvas)
{
	unsigned room = ui->layout.status_y - 2, y = 2;
	const char *at = strbuf_text(&ui->log);
	size_t count = 0, line = 0;

	for (const char *p = at; *p; p++)
		count += *p == '\n';
	canvas_put(canvas, 0, 0, ui->columns, CANVAS_TITLE, "memtrace: messages");
	if (!count)
		canvas_put(canvas, 2, 2, ui->columns, CANVAS_DIM, "none");
	bound_page(ui, count, room);
	for (; *at && y < 2 + room; line++) {
		size_t len = strcspn(at, "\n");
		struct strbuf text = {0};

		strbuf_append_bytes(&text, at, len);
		if (line >= ui->page_first)
			canvas_put(canvas, 2, y++, ui->columns - 2, CANVAS_PLAIN,
				   strbuf_text(&text));
		canvas->texts.failed |= text.failed;
		strbuf_deinit(&text);
		at += len + (at[len] == '\n');
	}
}

void compose(struct ui *ui, struct canvas *canvas)
{
	canvas_begin(canvas, ui->columns, ui->lines, ui->utf8);
	if (ui->columns < SCREEN_COLUMNS_MIN || ui->lines < SCREEN_LINES_MIN) {
		canvas_putf(canvas, 0, 0, ui->columns, CANVAS_PLAIN,
			    "the screen is too small: %ux%u, at least %dx%d", ui->columns,
			    ui->lines, SCREEN_COLUMNS_MIN, SCREEN_LINES_MIN);
		return;
	}
	if (ui->mode == UI_HELP) {
		compose_help(ui, canvas);
	} else if (ui->mode == UI_LOG) {
		compose_log(ui, canvas);
	} else {
		compose_head(ui, canvas);
		if (ui->model.moment) {
			compose_table(ui, canvas);
			compose_stack(ui, canvas);
		}
	}
	put_status(ui, canvas);
}
