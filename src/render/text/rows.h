/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of stacks in the text report. Private to render/. */
#ifndef RENDER_TEXT_ROWS_H
#define RENDER_TEXT_ROWS_H

#include "render/text/page.h"

/* How a view shows its list of stacks. */
struct text_rows {
	const char *heading;          /* text after "Top N stacks " */
	const char *heading_mappings; /* the same for mappings and events */
	/* Append the line of a row, without the newline. */
	void (*append_line)(struct text_page *page, const struct report_section *section,
			    const struct report_row *row);
	/* Is the row listed? NULL: all are. */
	bool (*lists)(const struct report_row *row);
	bool is_of_held; /* the line about omitted stacks says what they hold */
};

/* Append the rows of `section` with their stacks, below "[clock] Top N stacks...". With
 * several processes a table of them comes first. */
void text_append_rows(struct text_page *page, const struct report_section *section,
		      const struct text_rows *rows);

/* Append a name, escaped; on a terminal cut to three quarters of a line. */
void text_append_cut(struct strbuf *text, const char *name,
		     const struct report_options *options);

/* Append the name of a function, escaped, in the form that the options say. */
void text_append_name(struct strbuf *text, const char *symbol,
		      const struct report_options *options);

/* Append the frames of a row, one on each line, and why the stack ends early if it
 * does. */
void text_append_stack(struct text_page *page, const struct report_row *row);

/* Why the stack ends early or is missing; NULL: it is complete. Static string. */
const char *text_stack_end(const struct report_row *row);

/* Append "3100 bytes in 3 allocations". */
void text_append_sum(struct text_page *page, const struct report_section *section,
		     uint64_t size_bytes, uint64_t count);

/* The word for `count` blocks of the section's class: "allocations". */
const char *text_blocks(const struct report_section *section, uint64_t count);

#endif
