// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "screen/layout.h"

#define ALL (COLUMN(COLUMN_IDS) - 1)

/* Columns are in order, do not overlap, and end at the right edge of the table. */
static void check_columns(const struct layout *layout)
{
	unsigned x = 0;

	CHECK(layout->column_count > 0);
	for (size_t i = 0; i < layout->column_count; i++) {
		const struct layout_column *column = &layout->columns[i];

		CHECK_INT(column->x, x);
		CHECK(column->width > 0);
		x += column->width + 1;
	}
	CHECK_INT(x - 1, layout->table_width);
}

static bool has(const struct layout *layout, enum column_id id)
{
	for (size_t i = 0; i < layout->column_count; i++)
		if (layout->columns[i].id == id)
			return true;
	return false;
}

static void every_size_is_filled(void)
{
	for (unsigned columns = 1; columns < 300; columns++) {
		for (unsigned lines = 1; lines < 80; lines += 7) {
			unsigned w = columns < SCREEN_COLUMNS_MIN ? SCREEN_COLUMNS_MIN
								  : columns;
			unsigned h = lines < SCREEN_LINES_MIN ? SCREEN_LINES_MIN : lines;
			struct layout layout;

			layout_make(&layout, columns, lines, ALL);
			check_columns(&layout);
			CHECK(has(&layout, COLUMN_NAME));
			CHECK(layout.table_lines > 0 && layout.stack_lines > 1);
			CHECK_INT(layout.status_y, h - 1);
			CHECK_INT(layout.stack_y + layout.stack_lines, h - 1);
			if (layout.is_wide) {
				CHECK_INT(layout.table_y + 1 + layout.table_lines, h - 1);
				CHECK_INT(layout.stack_x + layout.stack_width, w);
			} else {
				CHECK_INT(layout.table_y + 1 + layout.table_lines,
					  layout.stack_y);
				CHECK_INT(layout.stack_width, w);
			}
		}
	}
}

static void least_columns_go_first(void)
{
	const unsigned live = COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS) |
			      COLUMN(COLUMN_GROWTH) | COLUMN(COLUMN_OLDEST) |
			      COLUMN(COLUMN_SHARE) | COLUMN(COLUMN_MODULE);
	struct layout layout;

	/* All of them fit into 80 columns. */
	layout_make(&layout, 80, 24, live);
	CHECK_INT(layout.column_count, 7);
	layout_make(&layout, 74, 24, live);
	CHECK(!has(&layout, COLUMN_SHARE));
	CHECK(has(&layout, COLUMN_MODULE));
	layout_make(&layout, 64, 24, live);
	CHECK(!has(&layout, COLUMN_MODULE));
	CHECK(has(&layout, COLUMN_BYTES) && has(&layout, COLUMN_GROWTH));
}

static void places_of_columns(void)
{
	struct layout layout;

	layout_make(&layout, 80, 24, COLUMN(COLUMN_BYTES) | COLUMN(COLUMN_BLOCKS));
	CHECK_INT(layout_column_at(&layout, 0), COLUMN_BYTES);
	CHECK_INT(layout_column_at(&layout, 9), COLUMN_BYTES);
	CHECK_INT(layout_column_at(&layout, 10), COLUMN_IDS);
	CHECK_INT(layout_column_at(&layout, 11), COLUMN_BLOCKS);
	CHECK_INT(layout_column_at(&layout, 79), COLUMN_NAME);
	CHECK_INT(layout_column_at(&layout, 80), COLUMN_IDS);
}

int main(void)
{
	RUN(every_size_is_filled);
	RUN(least_columns_go_first);
	RUN(places_of_columns);
	return check_done();
}
