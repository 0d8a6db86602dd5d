// SPDX-License-Identifier: Apache-2.0
#include "code/other_runs.h"

static struct other_run *last_of(struct other_runs *runs, int pid, bool is_unread)
{
	struct other_run *last =
		runs->list.len ? &runs->list.data[runs->list.len - 1] : NULL;

	return last && last->pid == pid && last->is_unread == is_unread ? last : NULL;
}

bool other_runs_add(struct other_runs *runs, struct other_run run)
{
	struct other_run *last = last_of(runs, run.pid, false);

	if (!last || last->address + last->size != run.address ||
	    last->file_offset + last->size != run.file_offset)
		return vec_push(&runs->list, run);
	last->size += run.size;
	return true;
}

bool other_runs_add_unread(struct other_runs *runs, int pid, uint64_t file_offset,
			   uint64_t size)
{
	const struct other_run run = {
		.pid = pid, .file_offset = file_offset, .size = size, .is_unread = true};
	struct other_run *last = last_of(runs, pid, true);
	uint64_t from, to = file_offset + size;

	if (!last)
		return vec_push(&runs->list, run);
	from = last->file_offset < file_offset ? last->file_offset : file_offset;
	if (to < last->file_offset + last->size)
		to = last->file_offset + last->size;
	last->file_offset = from;
	last->size = to - from;
	return true;
}
