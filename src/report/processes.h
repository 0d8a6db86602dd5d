/* SPDX-License-Identifier: Apache-2.0 */
/* What each process holds, and rows put together by process. Private to report/. */
#ifndef REPORT_PROCESSES_H
#define REPORT_PROCESSES_H

#include "report/arena.h"
#include "report/history.h"

/* Fill section->processes, largest first; equal ones by their number. */
struct error *
report_processes_build(const struct report *report, const struct process_sums *before,
		       struct report_arena *arena, struct report_section *section)
	__attribute__((warn_unused_result));

/* Bring the rows of one process together, in the order of section->processes; within a
 * process they stay in their order. Rows of no one process come last. */
struct error *report_processes_group(const struct snapshot *snap,
				     struct report_section *section)
	__attribute__((warn_unused_result));

#endif
