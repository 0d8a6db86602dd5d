// SPDX-License-Identifier: Apache-2.0
#include "screen/layout.h"

#define HEAD_LINES   4
#define WIDE_COLUMNS 140 /* from here on the stack is beside the table */
#define NAME_MIN     20
#define STACK_SHARE  38 /* percent of the columns of a wide screen */
#define BELOW_SHARE  38 /* percent of the lines of a narrow one */
#define BELOW_MIN    5

/* The lowest rank is left out first. `most`: the width on a screen with room. */
static const struct {
	const char *title;
	unsigned rank, width, most;
	bool is_right;
} columns_of[COLUMN_IDS] = {
	[COLUMN_BYTES] = {"BYTES", 10, 10, 10, true},
	[COLUMN_TOTAL] = {"WITH CALLEES", 5, 12, 12, true},
	[COLUMN_BLOCKS] = {"BLOCKS", 6, 7, 7, true},
	[COLUMN_GROWTH] = {"GROWTH/MIN", 7, 11, 11, true},
	[COLUMN_SINCE_MARK] = {"SINCE MARK", 9, 11, 11, true},
	[COLUMN_OLDEST] = {"OLDEST", 4, 8, 8, true},
	[COLUMN_ALLOCATED] = {"ALLOCATED", 8, 10, 10, true},
	[COLUMN_FREED] = {"FREED", 7, 10, 10, true},
	[COLUMN_RATE] = {"ALLOC/S", 6, 10, 10, true},
	[COLUMN_AT_PEAK] = {"AT PEAK", 9, 10, 10, true},
	[COLUMN_PEAK] = {"OWN PEAK", 8, 10, 10, true},
	[COLUMN_LOST] = {"LOST", 9, 10, 10, true},
	[COLUMN_HELD] = {"HELD BY IT", 8, 10, 10, true},
	[COLUMN_POSSIBLE] = {"POSSIBLY", 5, 10, 10, true},
	[COLUMN_SHARE] = {"SHARE", 2, 6, 12, false},
	[COLUMN_NAME] = {"CALL PATH", 100, NAME_MIN, 0, false},
	[COLUMN_MODULE] = {"MODULE", 3, 10, 22, false},
};

const char *layout_title(enum column_id id)
{
	return columns_of[id].title;
}

bool layout_is_right(enum column_id id)
{
	return columns_of[id].is_right;
}

static unsigned width_of(unsigned wanted)
{
	unsigned width = 0;

	for (size_t i = 0; i < COLUMN_IDS; i++)
		if (wanted & COLUMN(i))
			width += columns_of[i].width + (width ? 1 : 0);
	return width;
}

static unsigned drop_least(unsigned wanted)
{
	size_t least = COLUMN_NAME;

	for (size_t i = 0; i < COLUMN_IDS; i++)
		if (wanted & COLUMN(i) && columns_of[i].rank < columns_of[least].rank)
			least = i;
	return wanted & ~COLUMN(least);
}

/* Widen `id` by at most half of what is left. */
static unsigned widen(enum column_id id, unsigned left)
{
	unsigned more = columns_of[id].most - columns_of[id].width;

	return more < left / 2 ? more : left / 2;
}

static void place_columns(struct layout *ret, unsigned wanted)
{
	unsigned extra[COLUMN_IDS] = {0}, left, x = 0;

	wanted |= COLUMN(COLUMN_NAME);
	while (width_of(wanted) > ret->table_width && wanted != COLUMN(COLUMN_NAME))
		wanted = drop_least(wanted);
	left = ret->table_width > width_of(wanted) ? ret->table_width - width_of(wanted)
						   : 0;
	if (wanted & COLUMN(COLUMN_MODULE))
		extra[COLUMN_MODULE] = widen(COLUMN_MODULE, left / 2);
	left -= extra[COLUMN_MODULE];
	if (wanted & COLUMN(COLUMN_SHARE))
		extra[COLUMN_SHARE] = widen(COLUMN_SHARE, left / 2);
	extra[COLUMN_NAME] = left - extra[COLUMN_SHARE];
	for (size_t i = 0; i < COLUMN_IDS; i++) {
		unsigned width = columns_of[i].width + extra[i];

		if (!(wanted & COLUMN(i)))
			continue;
		ret->columns[ret->column_count++] =
			(struct layout_column){(enum column_id)i, x, width};
		x += width + 1;
	}
}

void layout_make(struct layout *ret, unsigned columns, unsigned lines, unsigned wanted)
{
	unsigned body;

	if (columns < SCREEN_COLUMNS_MIN)
		columns = SCREEN_COLUMNS_MIN;
	if (lines < SCREEN_LINES_MIN)
		lines = SCREEN_LINES_MIN;
	*ret = (struct layout){
		.table_y = HEAD_LINES,
		.table_width = columns,
		.is_wide = columns >= WIDE_COLUMNS,
		.status_y = lines - 1,
	};
	/* Without the heading of the table and the last line. */
	body = lines - HEAD_LINES - 2;
	if (ret->is_wide) {
		ret->stack_width = columns * STACK_SHARE / 100;
		ret->table_width = columns - ret->stack_width - 2;
		ret->stack_x = ret->table_width + 2;
		ret->stack_y = ret->table_y;
		ret->stack_lines = body + 1;
		ret->table_lines = body;
	} else {
		ret->stack_width = columns;
		ret->stack_lines = body * BELOW_SHARE / 100;
		if (ret->stack_lines < BELOW_MIN)
			ret->stack_lines = BELOW_MIN;
		ret->table_lines = body - ret->stack_lines;
		ret->stack_y = ret->table_y + 1 + ret->table_lines;
	}
	place_columns(ret, wanted);
}

enum column_id layout_column_at(const struct layout *layout, unsigned x)
{
	for (size_t i = 0; i < layout->column_count; i++) {
		const struct layout_column *column = &layout->columns[i];

		if (x >= column->x && x < column->x + column->width)
			return column->id;
	}
	return COLUMN_IDS;
}
