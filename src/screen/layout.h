/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns of the table fit into the width of the screen, and where they are. */
#ifndef SCREEN_LAYOUT_H
#define SCREEN_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* The smallest screen. */
#define SCREEN_COLUMNS_MIN 60
#define SCREEN_LINES_MIN   16

enum column_id {
	COLUMN_BYTES,
	COLUMN_TOTAL,
	COLUMN_BLOCKS,
	COLUMN_GROWTH,
	COLUMN_SINCE_MARK,
	COLUMN_OLDEST,
	COLUMN_ALLOCATED,
	COLUMN_FREED,
	COLUMN_RATE,
	COLUMN_AT_PEAK,
	COLUMN_PEAK,
	COLUMN_LOST,
	COLUMN_HELD,
	COLUMN_POSSIBLE,
	COLUMN_SHARE,
	COLUMN_NAME, /* takes what is left */
	COLUMN_MODULE,
	COLUMN_IDS,
};

#define COLUMN(id) (1u << (id))

struct layout_column {
	enum column_id id;
	unsigned x, width; /* first column of the screen, from 0; columns */
};

struct layout {
	struct layout_column columns[COLUMN_IDS]; /* from left to right */
	size_t column_count;
	/* Lines of the screen, from 0. */
	unsigned table_y;          /* the heading of the table */
	unsigned table_lines;      /* without the heading */
	unsigned table_width;      /* columns */
	bool is_wide;              /* the stack is beside the table, else below */
	unsigned stack_x, stack_y; /* the pane of the stack, with its heading */
	unsigned stack_width, stack_lines;
	unsigned status_y; /* the last line */
};

/* Lay out a screen of at least SCREEN_COLUMNS_MIN x SCREEN_LINES_MIN for a table with
 * `wanted`, a set of COLUMN(). The columns that matter least are left out first. */
void layout_make(struct layout *ret, unsigned columns, unsigned lines, unsigned wanted);

/* The heading of a column, and whether its text is at its right edge. Static string. */
const char *layout_title(enum column_id id);
bool layout_is_right(enum column_id id);

/* The column at x, or COLUMN_IDS: none. */
enum column_id layout_column_at(const struct layout *layout, unsigned x);

#endif
