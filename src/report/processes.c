// SPDX-License-Identifier: Apache-2.0
#include "report/processes.h"

#include <stdlib.h>

#include "report/aggregate.h"
#include "util/cleanup.h"

static int compare_processes(const void *pa, const void *pb)
{
	const struct report_process *a = pa, *b = pb;

	if (a->live.estimated_bytes != b->live.estimated_bytes)
		return a->live.estimated_bytes > b->live.estimated_bytes ? -1 : 1;
	return a->process->pid < b->process->pid ? -1 : a->process->pid > b->process->pid;
}

struct error *report_processes_build(const struct report *report,
				     const struct process_sums *before,
				     struct report_arena *arena,
				     struct report_section *section)
{
	const struct snapshot *snap = report->snapshot;
	size_t count = snap->processes.len;
	struct report_process *processes =
		report_arena_alloc(arena, count, sizeof(*processes));

	if (!processes)
		return error_no_memory();
	for (size_t i = 0; i < count; i++)
		processes[i] =
			(struct report_process){.process = &snap->processes.data[i]};
	_cleanup_(freep) struct snapshot_held *sums = calloc(count + 1, sizeof(*sums));

	if (!sums)
		return error_no_memory();
	vec_foreach (block, &snap->blocks[section->class]) {
		if (block->process >= count)
			continue;

		snapshot_held_add_block(
			&sums[block->process], block,
			report_weight(report, section, block->size_bytes));
	}
	/* Of one process (snapshot/sums.h). */
	for (size_t i = 0;
	     count && section->class < BLOCK_EVENT && i < snap->held[section->class].len;
	     i++)
		snapshot_held_add(&sums[0], &snap->held[section->class].data[i]);
	for (size_t i = 0; section->class == BLOCK_EVENT && i < snap->events.len; i++) {
		const struct snapshot_event *event = &snap->events.data[i];

		if (event->process < count)
			stack_sum_add_event(&sums[event->process], snap, event);
	}
	for (size_t i = 0; i < count; i++) {
		struct report_process *p = &processes[i];
		struct report_sum then = process_sums_get(before, p->process->pid);

		p->live = report_sum_from(&sums[i], section->is_estimate);
		p->growth_bytes = report_difference(p->live.size_bytes, then.size_bytes);
		p->growth_count = report_difference(p->live.count, then.count);
		p->estimated_growth_bytes =
			report_difference(p->live.estimated_bytes, then.estimated_bytes);
	}
	if (count)
		qsort(processes, count, sizeof(*processes), compare_processes);
	section->processes = processes;
	section->process_count = count;
	return NULL;
}

struct ranked_row {
	size_t rank, place;
	struct report_row row;
};

static int compare_rows(const void *pa, const void *pb)
{
	const struct ranked_row *a = pa, *b = pb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

struct error *report_processes_group(const struct snapshot *snap,
				     struct report_section *section)
{
	size_t count = section->row_count;
	const struct snapshot_process *first = snap->processes.data;

	if (section->process_count < 2 || count < 2)
		return NULL;

	_cleanup_(freep) struct ranked_row *ranked = calloc(count, sizeof(*ranked));
	_cleanup_(freep) size_t *ranks = calloc(section->process_count, sizeof(*ranks));

	if (!ranked || !ranks)
		return error_no_memory();
	for (size_t i = 0; i < section->process_count; i++)
		ranks[section->processes[i].process - first] = i;
	for (size_t i = 0; i < count; i++) {
		const struct report_row *row = &section->rows[i];

		ranked[i].rank = row->process ? ranks[row->process - first]
					      : section->process_count;
		ranked[i].place = i;
		ranked[i].row = *row;
	}
	qsort(ranked, count, sizeof(*ranked), compare_rows);
	for (size_t i = 0; i < count; i++)
		section->rows[i] = ranked[i].row;
	return NULL;
}
