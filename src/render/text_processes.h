/* SPDX-License-Identifier: Apache-2.0 */
/* Processes in the text report. Private to render/. */
#ifndef RENDER_TEXT_PROCESSES_H
#define RENDER_TEXT_PROCESSES_H

#include "report/report.h"
#include "util/strbuf.h"

/* Append "1118 (leak)" or "1118 (leak, 7 in its namespace)". */
void text_append_process(struct strbuf *text, const struct snapshot_process *process);

/* Append "1119 (worker) of 1118 (server), exited": the name, the process and the state as
 * far as they are known. `thread` may be NULL. The process only with several. */
void text_append_thread(struct strbuf *text, const struct report *report, uint32_t tid,
			const struct snapshot_thread *thread);

/* Append which processes hold the blocks of a row: " in 1118 (leak)" or " in 40 processes
 * (cc1, as)", with the commands of the largest holders. Appends nothing in a report of
 * one process. */
void text_append_where(struct strbuf *text, const struct report *report,
		       const struct report_row *row);

/* Append a command, escaped. */
void text_append_escaped(struct strbuf *text, const char *command);

/* Append "cc1, as, ld and others". `append` appends each command and must escape it. */
void text_append_commands(struct strbuf *text, const struct report_row *row,
			  void (*append)(struct strbuf *text, const char *command));

/* Append a table of what each process holds, largest first, at most options.top rows. */
void text_append_processes(struct strbuf *text, const struct report *report,
			   const struct report_section *section);

#endif
