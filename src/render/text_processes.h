/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a text report. Private to render/. */
#ifndef RENDER_TEXT_PROCESSES_H
#define RENDER_TEXT_PROCESSES_H

#include "report/report.h"
#include "util/strbuf.h"

/* Is this report of one process that was asked for? Then it needs no table. */
bool text_is_of_one(const struct report *report);

/* "1118 (leak)", "1118 (leak, 7 in its namespace)". */
void text_append_process(struct strbuf *text, const struct snapshot_process *process);

/* What each process holds, largest first, at most options.top of them. */
void text_append_processes(struct strbuf *text, const struct report *report,
			   const struct report_section *section);

#endif
