// SPDX-License-Identifier: Apache-2.0
#include "screen/ui.h"

#include <string.h>

#include "screen/views.h"
#include "util/escape.h"

#define SECOND_NS UINT64_C(1000000000)

void ui_init(struct ui *ui)
{
	*ui = (struct ui){.interval_ns = SECOND_NS};
	model_init(&ui->model);
}

void ui_deinit(struct ui *ui)
{
	model_deinit(&ui->model);
	strbuf_deinit(&ui->input);
	strbuf_deinit(&ui->message);
	strbuf_deinit(&ui->log);
}

static void lay_out(struct ui *ui)
{
	unsigned wanted = screen_view_of(ui->model.view)->columns;

	if (ui->model.marked)
		wanted = (wanted & ~COLUMN(COLUMN_GROWTH)) | COLUMN(COLUMN_SINCE_MARK);
	layout_make(&ui->layout, ui->columns, ui->lines, wanted);
	model_set_page(&ui->model, ui->layout.table_lines);
}

void ui_resize(struct ui *ui, unsigned columns, unsigned lines)
{
	ui->columns = columns;
	ui->lines = lines;
	lay_out(ui);
}

static void say(struct ui *ui, const char *text)
{
	strbuf_clear(&ui->message);
	strbuf_append(&ui->message, text);
}

bool ui_set_moment(struct ui *ui, struct moment *moment)
{
	bool ok = model_set_moment(&ui->model, moment);

	lay_out(ui);
	return ok;
}

bool ui_mark(struct ui *ui, struct moment *marked)
{
	bool ok = model_set_mark(&ui->model, marked) && model_update(&ui->model);

	ui->marked_ns = marked ? marked->report->snapshot->wall_ns : 0;
	say(ui, marked ? "mark set: SINCE MARK counts from here; m removes it"
		       : "mark removed");
	lay_out(ui);
	return ok;
}

/* --- choices ------------------------------------------------------------------------ */

static const char *const files[] = {"snapshot", "HTML page", "flame graph"};
static const char file_keys[] = "shf";

size_t ui_choice_count(const struct ui *ui)
{
	switch (ui->mode) {
	case UI_CHOOSE_VIEW:
		return SCREEN_VIEWS;
	case UI_CHOOSE_SORT:
		return SCREEN_SORTS;
	case UI_CHOOSE_WRITE:
		return sizeof(files) / sizeof(*files);
	default:
		return 0;
	}
}

const char *ui_choice_name(const struct ui *ui, size_t index)
{
	if (ui->mode == UI_CHOOSE_VIEW)
		return screen_view_of((enum screen_view)index)->name;
	if (ui->mode == UI_CHOOSE_SORT)
		return screen_sort_name((enum screen_sort)index);
	return files[index];
}

int ui_choice_key(const struct ui *ui, size_t index)
{
	if (ui->mode == UI_CHOOSE_WRITE)
		return file_keys[index];
	return index < 9 ? (int)('1' + index) : '0';
}

bool ui_choice_is_possible(const struct ui *ui, size_t index)
{
	unsigned needs;

	if (!ui->model.moment)
		return false;
	if (ui->mode == UI_CHOOSE_VIEW)
		return model_has_data(&ui->model, (enum screen_view)index);
	if (ui->mode != UI_CHOOSE_SORT)
		return true;
	needs = screen_sort_needs((enum screen_sort)index);
	if (index == SCREEN_SORT_SINCE_MARK && !ui->model.marked)
		return false;
	return (ui->model.moment->report->data & needs) == needs;
}

static enum ui_result choose(struct ui *ui, size_t index)
{
	enum ui_mode mode = ui->mode;

	if (!ui_choice_is_possible(ui, index)) {
		say(ui, mode == UI_CHOOSE_SORT && index == SCREEN_SORT_SINCE_MARK
				? "set a mark first: m"
			: mode == UI_CHOOSE_VIEW && index == SCREEN_VIEW_UNREACHABLE
				? "this run does not search: it needs --unreachable"
				: "this run does not measure that: it needs --traffic");
		ui->mode = UI_TABLE;
		return UI_NOTHING;
	}
	ui->mode = UI_TABLE;
	if (mode == UI_CHOOSE_WRITE)
		return (enum ui_result)(UI_WRITE_SNAPSHOT + index);
	if (mode == UI_CHOOSE_VIEW)
		model_set_view(&ui->model, (enum screen_view)index);
	else
		ui->model.sort = (enum screen_sort)index;
	if (!model_update(&ui->model))
		say(ui, "out of memory");
	ui->stack_first = 0;
	lay_out(ui);
	return UI_NOTHING;
}

static enum ui_result choice_key(struct ui *ui, int key)
{
	for (size_t i = 0; i < ui_choice_count(ui); i++)
		if (ui_choice_key(ui, i) == key)
			return choose(ui, i);
	ui->mode = UI_TABLE;
	return UI_NOTHING;
}

/* --- input -------------------------------------------------------------------------- */

static void begin_input(struct ui *ui, enum ui_mode mode)
{
	ui->mode = mode;
	strbuf_clear(&ui->input);
	if (mode == UI_INPUT_FILTER)
		strbuf_append(&ui->input, strbuf_text(&ui->model.filter));
}

static void search(struct ui *ui, bool backwards)
{
	if (!ui->model.search.len)
		say(ui, "search for what? / asks");
	else if (!model_search(&ui->model, backwards))
		say(ui, "not found in this view");
	ui->stack_first = 0;
}

static void end_input(struct ui *ui)
{
	bool is_search = ui->mode == UI_INPUT_SEARCH;

	ui->mode = UI_TABLE;
	if (is_search) {
		strbuf_clear(&ui->model.search);
		strbuf_append(&ui->model.search, strbuf_text(&ui->input));
		if (ui->input.len)
			search(ui, false);
		return;
	}
	model_set_filter(&ui->model, strbuf_text(&ui->input));
	if (!model_update(&ui->model))
		say(ui, "out of memory");
}

static void append_character(struct strbuf *to, int c)
{
	if (c < 0x80) {
		strbuf_append_char(to, (char)c);
	} else if (c < 0x800) {
		strbuf_append_char(to, (char)(0xc0 | c >> 6));
		strbuf_append_char(to, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		strbuf_append_char(to, (char)(0xe0 | c >> 12));
		strbuf_append_char(to, (char)(0x80 | (c >> 6 & 0x3f)));
		strbuf_append_char(to, (char)(0x80 | (c & 0x3f)));
	}
}

static void erase_character(struct strbuf *from)
{
	while (from->len && ((unsigned char)from->data[from->len - 1] & 0xc0) == 0x80)
		from->len--;
	if (from->len)
		from->len--;
	if (from->data)
		from->data[from->len] = '\0';
}

static enum ui_result input_key(struct ui *ui, int key)
{
	if (key == SCREEN_KEY_ENTER || key == '\n')
		end_input(ui);
	else if (key == SCREEN_KEY_ESCAPE || key == SCREEN_CONTROL('c'))
		ui->mode = UI_TABLE;
	else if (key == SCREEN_KEY_ERASE || key == 127 || key == '\b')
		erase_character(&ui->input);
	else if (key == SCREEN_CONTROL('u'))
		strbuf_clear(&ui->input);
	else if (key >= ' ' && key < SCREEN_KEY_UP && ui->input.len < UI_INPUT_MAX)
		append_character(&ui->input, key);
	return UI_NOTHING;
}

/* --- keys of the table -------------------------------------------------------------- */

static enum ui_result change_interval(struct ui *ui, bool is_faster)
{
	if (!ui->is_live) {
		say(ui, "a snapshot does not change");
		return UI_NOTHING;
	}
	if (is_faster && ui->interval_ns / 2 >= UI_INTERVAL_MIN_NS)
		ui->interval_ns /= 2;
	else if (!is_faster && ui->interval_ns * 2 <= UI_INTERVAL_MAX_NS)
		ui->interval_ns *= 2;
	return UI_NEW_INTERVAL;
}

static enum ui_result freeze(struct ui *ui)
{
	if (!ui->is_live) {
		say(ui, "a snapshot does not change");
		return UI_NOTHING;
	}
	ui->is_frozen = !ui->is_frozen;
	return UI_FREEZE;
}

static void next_class(struct ui *ui)
{
	struct model *model = &ui->model;

	if (model->moment->section_count < 2) {
		say(ui, "this run traces one class of memory");
		return;
	}
	model->section = (model->section + 1) % model->moment->section_count;
	model->selected = model->first = 0;
	if (!model_has_data(model, model->view))
		model_set_view(model, SCREEN_VIEW_CAUSES);
	if (!model_set_mark(model, model->marked) || !model_update(model))
		say(ui, "out of memory");
	lay_out(ui);
}

static void show_page(struct ui *ui, enum ui_mode mode)
{
	ui->mode = mode;
	ui->page_first = 0;
	/* The last messages. */
	if (mode == UI_LOG)
		ui->page_first = UINT32_MAX;
}

static bool scroll(struct ui *ui, enum screen_action action, long *ret)
{
	long page = ui->model.page;

	switch (action) {
	case DO_UP:
		*ret = -1;
		return true;
	case DO_DOWN:
		*ret = 1;
		return true;
	case DO_PAGE_UP:
		*ret = -page;
		return true;
	case DO_PAGE_DOWN:
		*ret = page;
		return true;
	case DO_TOP:
		*ret = -(long)(ui->model.items.len + UI_LOG_BYTES);
		return true;
	case DO_BOTTOM:
		*ret = (long)(ui->model.items.len + UI_LOG_BYTES);
		return true;
	default:
		return false;
	}
}

/* Keys that need a moment. */
static enum ui_result act_on_table(struct ui *ui, enum screen_action action)
{
	struct model *model = &ui->model;
	bool ok = true;

	switch (action) {
	case DO_NEXT:
	case DO_PREVIOUS:
		search(ui, action == DO_PREVIOUS);
		break;
	case DO_CLASS:
		next_class(ui);
		break;
	case DO_EXPAND:
		ok = model_expand(model);
		break;
	case DO_COLLAPSE:
		ok = model_collapse(model);
		break;
	case DO_CALLERS:
		model->callees_first = !model->callees_first;
		hashmap_deinit(&model->expanded);
		ok = model_update(model);
		say(ui, model->callees_first ? "call trees begin with the callee"
					     : "call trees begin with the caller");
		break;
	case DO_STACK_UP:
		ui->stack_first -= ui->stack_first ? 1 : 0;
		break;
	case DO_STACK_DOWN:
		ui->stack_first++;
		break;
	case DO_MARK:
		return UI_MARK;
	default:
		break;
	}
	if (!ok)
		say(ui, "out of memory");
	return UI_NOTHING;
}

static enum ui_result act(struct ui *ui, enum screen_action action)
{
	switch (action) {
	case DO_QUIT:
		return UI_QUIT;
	case DO_SUSPEND:
		return UI_SUSPEND;
	case DO_REFRESH:
		return UI_REFRESH;
	case DO_HELP:
		show_page(ui, UI_HELP);
		return UI_NOTHING;
	case DO_LOG:
		show_page(ui, UI_LOG);
		return UI_NOTHING;
	case DO_FASTER:
	case DO_SLOWER:
		return change_interval(ui, action == DO_FASTER);
	case DO_FREEZE:
		return freeze(ui);
	default:
		break;
	}
	if (!ui->model.moment)
		return UI_NOTHING;
	switch (action) {
	case DO_SEARCH:
		begin_input(ui, UI_INPUT_SEARCH);
		return UI_NOTHING;
	case DO_FILTER:
		begin_input(ui, UI_INPUT_FILTER);
		return UI_NOTHING;
	case DO_SORT:
		ui->mode = UI_CHOOSE_SORT;
		return UI_NOTHING;
	case DO_VIEW:
		ui->mode = UI_CHOOSE_VIEW;
		return UI_NOTHING;
	case DO_WRITE:
		ui->mode = UI_CHOOSE_WRITE;
		return UI_NOTHING;
	default:
		return act_on_table(ui, action);
	}
}

/* The help and the log: any key but those for scrolling closes them. */
static enum ui_result page_key(struct ui *ui, enum screen_action action)
{
	long lines;

	if (action == DO_SUSPEND || action == DO_REFRESH)
		return act(ui, action);
	if (!scroll(ui, action, &lines)) {
		ui->mode = UI_TABLE;
		return UI_NOTHING;
	}
	if (lines < 0 && ui->page_first < (unsigned long)-lines)
		ui->page_first = 0;
	else if (ui->page_first < UINT32_MAX / 2 || lines < 0)
		ui->page_first = (unsigned)((long)ui->page_first + lines);
	return UI_NOTHING;
}

enum ui_result ui_key(struct ui *ui, int key)
{
	enum screen_action action = keys_action(key);
	long lines;

	strbuf_clear(&ui->message);
	if (key == SCREEN_CONTROL('z'))
		return UI_SUSPEND;
	switch (ui->mode) {
	case UI_INPUT_SEARCH:
	case UI_INPUT_FILTER:
		return input_key(ui, key);
	case UI_CHOOSE_VIEW:
	case UI_CHOOSE_SORT:
	case UI_CHOOSE_WRITE:
		return choice_key(ui, key);
	case UI_HELP:
	case UI_LOG:
		return page_key(ui, action);
	case UI_TABLE:
		break;
	}
	if (scroll(ui, action, &lines)) {
		model_move(&ui->model, lines);
		ui->stack_first = 0;
		return UI_NOTHING;
	}
	return act(ui, action);
}

/* --- mouse -------------------------------------------------------------------------- */

static void sort_by(struct ui *ui, enum column_id column)
{
	static const enum screen_sort by[COLUMN_IDS] = {
		[COLUMN_BYTES] = SCREEN_SORT_BYTES,
		[COLUMN_SHARE] = SCREEN_SORT_BYTES,
		[COLUMN_TOTAL] = SCREEN_SORT_TOTAL,
		[COLUMN_BLOCKS] = SCREEN_SORT_BLOCKS,
		[COLUMN_GROWTH] = SCREEN_SORT_GROWTH,
		[COLUMN_SINCE_MARK] = SCREEN_SORT_SINCE_MARK,
		[COLUMN_OLDEST] = SCREEN_SORT_OLDEST,
		[COLUMN_ALLOCATED] = SCREEN_SORT_ALLOCATED,
		[COLUMN_FREED] = SCREEN_SORT_ALLOCATED,
		[COLUMN_RATE] = SCREEN_SORT_ALLOCATED,
		[COLUMN_AT_PEAK] = SCREEN_SORT_PEAK,
		[COLUMN_PEAK] = SCREEN_SORT_PEAK,
		[COLUMN_LOST] = SCREEN_SORT_LOST,
		[COLUMN_HELD] = SCREEN_SORT_LOST,
		[COLUMN_POSSIBLE] = SCREEN_SORT_LOST,
	};

	ui->mode = UI_CHOOSE_SORT;
	choose(ui, by[column]);
}

enum ui_result ui_click(struct ui *ui, unsigned x, unsigned y, bool is_double)
{
	const struct layout *layout = &ui->layout;
	enum column_id column = layout_column_at(layout, x);
	struct model *model = &ui->model;

	strbuf_clear(&ui->message);
	if (ui->mode != UI_TABLE || !model->moment || x >= layout->table_width) {
		ui->mode = UI_TABLE;
		return UI_NOTHING;
	}
	if (y == layout->table_y && column < COLUMN_NAME) {
		sort_by(ui, column);
	} else if (y > layout->table_y && y <= layout->table_y + layout->table_lines &&
		   model->first + y - layout->table_y - 1 < model->items.len) {
		model_select(model, model->first + y - layout->table_y - 1);
		ui->stack_first = 0;
		if (is_double)
			return act_on_table(ui, model_selected(model)->is_expanded
							? DO_COLLAPSE
							: DO_EXPAND);
	}
	return UI_NOTHING;
}

/* --- messages ----------------------------------------------------------------------- */

/* Drop the oldest lines. */
static void shorten(struct strbuf *log)
{
	const char *from;
	size_t len;

	if (log->failed || log->len <= UI_LOG_BYTES)
		return;
	from = memchr(log->data + log->len - UI_LOG_BYTES / 2, '\n', UI_LOG_BYTES / 2);
	len = from ? (size_t)(log->data + log->len - from - 1) : 0;
	if (from)
		memmove(log->data, from + 1, len);
	log->len = len;
	log->data[len] = '\0';
}

void ui_log(struct ui *ui, const char *bytes, size_t len)
{
	static const char name[] = "memtrace: ";

	while (len) {
		const char *end = memchr(bytes, '\n', len);
		size_t line = end ? (size_t)(end - bytes) : len;
		const char *text = bytes;
		size_t text_len = line;

		if (text_len >= strlen(name) && !memcmp(text, name, strlen(name))) {
			text += strlen(name);
			text_len -= strlen(name);
		}
		if (text_len) {
			strbuf_clear(&ui->message);
			escape_bytes(&ui->message, text, text_len);
			strbuf_append(&ui->log, strbuf_text(&ui->message));
			strbuf_append_char(&ui->log, '\n');
		}
		bytes += line + (end != NULL);
		len -= line + (end != NULL);
	}
	shorten(&ui->log);
}
