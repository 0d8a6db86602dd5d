/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views of the text report and of CSV tables: one file and one ops table for each
 * view. JSON and the other formats contain everything, whatever the view.
 */
#ifndef RENDER_VIEWS_VIEWS_H
#define RENDER_VIEWS_VIEWS_H

#include <stdio.h>

#include "report/report.h"

struct text_page;

struct view_ops {
	const char *name; /* as in --view NAME */
	/* Set of enum report_data. If the report lacks any of this data, the view is
	 * empty. A class that never has it (report_class_data()) has no part in the view.
	 */
	unsigned needs;
	unsigned wants;        /* set of enum report_data: also shown if present */
	enum report_sort sort; /* default for --sort */
	bool past;             /* value of report_options.skip_by_traffic */
	unsigned sorts; /* set of 1 << enum report_sort: the only orders; 0: all orders
			   of stacks */
	/* With `sorts`: completes "--view NAME, which has ...". */
	const char *sorts_words;
	bool all_rows; /* needs all call paths: --top limits what is made of them
			  (report_options.entries) */
	bool is_tree;  /* a tree of calls, which begins at either end (--reverse) */
	bool singles;  /* shows report_options.singles */
	/* Append the view of a section, after the head of the report. */
	void (*append_text)(struct text_page *page, const struct report_section *section);
	/* The columns of --csv. With csv_row they describe a call path, and are written
	 * between its pid, stack_id and class and its stacktrace. Otherwise csv_table
	 * writes all lines. Both NULL: --csv writes the table of all stacks, as without a
	 * view. */
	const char *csv_columns;
	void (*csv_row)(const struct report *report, const struct report_row *row,
			FILE *out);
	void (*csv_table)(const struct report *report, FILE *out);
};

/* The value of report_options.past. */
static inline bool view_lists_past(const struct view_ops *view)
{
	return view->past || view->needs & REPORT_DATA_UNREACHABLE;
}

/* The view with this name; NULL: no such view. A NULL name stands for "leaks". Static. */
const struct view_ops *view_find(const char *name);

/* All views, terminated by NULL. Static. */
extern const struct view_ops *const views[];

#endif
