/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a text report. Private to render/. */
#ifndef RENDER_TEXT_PROCESSES_H
#define RENDER_TEXT_PROCESSES_H

#include "report/report.h"
#include "util/strbuf.h"

/* "1118 (leak)", "1118 (leak, 7 in its namespace)". */
void text_append_process(struct strbuf *text, const struct snapshot_process *process);

/* Who holds the blocks of a row: " in 1118 (leak)" or " in 40 processes (cc1, as)", with
 * the commands of those that hold most. Nothing in a report of one process. */
void text_append_where(struct strbuf *text, const struct report *report,
		       const struct report_row *row);

/* A command, escaped. */
void text_append_escaped(struct strbuf *text, const char *command);

/* "cc1, as, ld and others", each put in by `append`, which has to escape it. */
void text_append_commands(struct strbuf *text, const struct report_row *row,
			  void (*append)(struct strbuf *text, const char *command));

/* What each process holds, largest first, at most options.top of them. */
void text_append_processes(struct strbuf *text, const struct report *report,
			   const struct report_section *section);

#endif
