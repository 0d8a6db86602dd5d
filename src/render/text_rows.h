/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of stacks in the text report. Private to render/. */
#ifndef RENDER_TEXT_ROWS_H
#define RENDER_TEXT_ROWS_H

#include "render/text_page.h"

/* How a view shows its list. */
struct text_rows {
	const char *heading; /* behind "Top N stacks ", with an 's' for more; of two
				classes, as "mappings" are no "allocations" */
	const char *heading_mappings;
	/* Append the line of a row, without its end. */
	void (*append_line)(struct text_page *page, const struct report_section *section,
			    const struct report_row *row);
	bool is_of_held; /* what is cut off is told by what it holds */
};

/* Append the rows of `section` with their stacks, under "[clock] Top N stacks...", and
 * where there are several processes after a table of them. */
void text_append_rows(struct text_page *page, const struct report_section *section,
		      const struct text_rows *rows);

/* Append the frames of a row, a line each, and why there are no more. */
void text_append_stack(struct text_page *page, const struct report_row *row);

/* "3100 bytes in 3 allocations". */
void text_append_sum(struct text_page *page, const struct report_section *section,
		     uint64_t size_bytes, uint64_t count);

/* The word for blocks of the section's class: "allocations". */
const char *text_blocks(const struct report_section *section, uint64_t count);

#endif
