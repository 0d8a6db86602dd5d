// SPDX-License-Identifier: Apache-2.0
#include "report/view.h"

#include "report/arena.h"

/* Keep the rows that are in the new top. They may be anywhere, because rows are grouped
 * by process after the first cut. */
static struct error *cut(struct report_arena *arena, const struct report_options *options,
			 bool had_past, struct report_section *section)
{
	const struct report_row *all = section->rows;
	size_t count = section->row_count;
	uint64_t top = options->top ? options->top : UINT64_MAX;
	/* If all rows hold something, none has to be removed. */
	bool held_only =
		had_past && !options->past && section->held_count < section->stack_count;

	if (section->suspect_count > top)
		section->suspect_count = (size_t)top;
	if (section->single_count > options->singles)
		section->single_count = (size_t)options->singles;
	if (held_only)
		section->stack_count = section->held_count;
	if (!held_only && top >= count)
		return NULL;
	section->rows = report_arena_alloc(arena, top < count ? (size_t)top : count,
					   sizeof(*section->rows));
	if (!section->rows)
		return error_no_memory();
	section->row_count = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_shown = held_only ? all[i].sum.count && all[i].held_rank < top
					  : all[i].rank < top;

		if (!is_shown)
			continue;
		section->rows[section->row_count] = all[i];
		if (held_only)
			section->rows[section->row_count].rank = all[i].held_rank;
		section->row_count++;
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
		err = cut(ret->arena, options, report->options.past, &ret->sections[i]);
	return err;
}
