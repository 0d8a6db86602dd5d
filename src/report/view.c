// SPDX-License-Identifier: Apache-2.0
#include "report/view.h"

#include "report/arena.h"

/* Rows are grouped by process after the cut to the top, so those that are in it may lie
 * anywhere. */
static struct error *cut(struct report_arena *arena, uint64_t top,
			 struct report_section *section)
{
	const struct report_row *all = section->rows;
	size_t count = section->row_count;

	if (!top || top >= count)
		return NULL;
	section->rows = report_arena_alloc(arena, top, sizeof(*section->rows));
	if (!section->rows)
		return error_no_memory();
	section->row_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (all[i].rank < top)
			section->rows[section->row_count++] = all[i];
	}
	return NULL;
}

struct error *report_view(const struct report *report,
			  const struct report_options *options, struct report *ret)
{
	struct error *err = NULL;

	*ret = *report;
	ret->options = *options;
	for (size_t i = 0; !err && i < ret->section_count; i++)
		err = cut(ret->arena, options->top, &ret->sections[i]);
	return err;
}
