/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text report and tables of CSV show: one file and one table of ops for each
 * view. JSON and the other formats carry everything whatever the view is.
 */
#ifndef RENDER_VIEWS_H
#define RENDER_VIEWS_H

#include <stdio.h>

#include "report/report.h"

struct text_page;

struct view_ops {
	const char *name;      /* as in --view NAME */
	unsigned needs;        /* enum report_data: without it there is nothing to show */
	unsigned wants;        /* shown too where it is measured */
	enum report_sort sort; /* unless --sort says otherwise */
	bool past;             /* report_options.past and skip_by_traffic */
	bool singles;          /* report_options.singles are shown */
	bool heap_only;        /* there is nothing of mappings */
	/* Append what is shown of a section, behind the head of the report. */
	void (*append_text)(struct text_page *page, const struct report_section *section);
	/* Columns of --csv, and a line of them. With csv_row they are those of a call
	   path, and stand between its pid, stack_id and class and its stacktrace. Else
	   csv_table writes all lines. Both NULL: the table of all stacks that --csv
	   writes without a view. */
	const char *csv_columns;
	void (*csv_row)(const struct report *report, const struct report_row *row,
			FILE *out);
	void (*csv_table)(const struct report *report, FILE *out);
};

/* The view of that name; NULL: there is none. NULL stands for "leaks". Static. */
const struct view_ops *view_find(const char *name);

/* All views, ended by NULL. Static. */
extern const struct view_ops *const views[];

#endif
