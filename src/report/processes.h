/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by process, and rows grouped by process. Private to report/. */
#ifndef REPORT_PROCESSES_H
#define REPORT_PROCESSES_H

#include "report/arena.h"
#include "report/history.h"

/* Fill section->processes, largest first; equal ones by pid. */
struct error *
report_processes_build(const struct report *report, const struct process_sums *before,
		       struct report_arena *arena, struct report_section *section)
	__attribute__((warn_unused_result));

/* Group the rows by process, in the order of section->processes. Within a process they
 * keep their order. Rows without a single process come last. */
struct error *report_processes_group(const struct snapshot *snap,
				     struct report_section *section)
	__attribute__((warn_unused_result));

#endif
