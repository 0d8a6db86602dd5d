// SPDX-License-Identifier: Apache-2.0
#include "report/holders.h"

#include <stdlib.h>
#include <string.h>

struct error *holders_init(struct holders *ret, const struct builder *b)
{
	size_t count = b->snap->processes.len + 1;

	*ret = (struct holders){.b = b};
	if (report_is_of_one(b->report))
		return NULL;
	ret->sizes = calloc(count, sizeof(*ret->sizes));
	ret->counts = calloc(count, sizeof(*ret->counts));
	ret->touched = calloc(count, sizeof(*ret->touched));
	return ret->sizes && ret->counts && ret->touched ? NULL : error_no_memory();
}

void holders_deinit(struct holders *h)
{
	free(h->sizes);
	free(h->counts);
	free(h->touched);
}

void holders_add(struct holders *h, uint32_t process, double size_bytes, double count)
{
	size_t known = h->b->snap->processes.len;

	if (!h->touched || !(count > 0))
		return;
	if (process >= known)
		process = (uint32_t)known;
	if (h->counts[process] == 0)
		h->touched[h->touched_count++] = process;
	h->sizes[process] += size_bytes;
	h->counts[process] += count;
}

/* Most bytes first, then the lowest pid; unknown processes last. */
static int compare(const void *pa, const void *pb)
{
	const struct report_holder *a = pa, *b = pb;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	if (!a->process || !b->process)
		return a->process ? -1 : b->process ? 1 : 0;
	if (a->process->pid != b->process->pid)
		return a->process->pid < b->process->pid ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

/* Were several stacks of the run merged into this one? */
static bool is_merged(const struct snapshot *snap, uint32_t stack)
{
	return stack < snap->stack_member_count && snap->stack_members[stack] > 1;
}

struct error *holders_finish(struct holders *h, struct report_row *row)
{
	const struct snapshot *snap = h->b->snap;
	size_t count = h->touched_count;
	struct report_holder *list;

	if (!h->touched)
		return NULL;
	list = report_arena_alloc(h->b->arena, count, sizeof(*list));
	if (!list)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		uint32_t process = h->touched[i];

		list[i] = (struct report_holder){
			.process = snapshot_process(snap, process),
			.size_bytes = report_round(h->sizes[process]),
			.count = report_round(h->counts[process]),
		};
		h->sizes[process] = h->counts[process] = 0;
	}
	h->touched_count = 0;
	if (count > 1)
		qsort(list, count, sizeof(*list), compare);
	row->processes = list;
	row->process_count = count;
	/* Rows that are grouped by process keep their process. */
	if (h->b->options->group_by_process)
		return NULL;
	if (count)
		row->process = count == 1 ? list->process : NULL;
	else if (is_merged(snap, row->stack))
		row->process = NULL;
	return NULL;
}

size_t report_row_commands(const struct report_row *row, const char *ret[REPORT_COMMANDS],
			   bool *more)
{
	size_t count = 0;

	*more = false;
	for (size_t i = 0; i < row->process_count && !*more; i++) {
		const struct snapshot_process *process = row->processes[i].process;
		const char *command =
			process && process->command ? process->command : "unknown";
		size_t at = 0;

		while (at < count && strcmp(ret[at], command))
			at++;
		if (at < count)
			continue;
		if (count < REPORT_COMMANDS)
			ret[count++] = command;
		else
			*more = true;
	}
	return count;
}
