// SPDX-License-Identifier: Apache-2.0
#include "screen/moment_steps.h"

#include <stdlib.h>

#include "screen/moment_known.h"

struct span {
	uint32_t first, count;
};

/* The steps of a base, for the moments that are made from it. */
struct shared_steps {
	struct groups groups; /* of the base, and later ones */
	size_t group_count;   /* of the base. Rows of later groups may be gone */
	VEC(uint32_t) steps;
	VEC(struct span) spans[BLOCK_CLASS_COUNT]; /* in `steps`, by path of the base */
};

void shared_steps_destroy(struct shared_steps *shared)
{
	if (!shared)
		return;
	groups_deinit(&shared->groups);
	vec_deinit(&shared->steps);
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		vec_deinit(&shared->spans[i]);
	free(shared);
}

/* --- of one moment ------------------------------------------------------------------ */

bool moment_find_steps(struct moment *moment, size_t index)
{
	struct moment_section *section = &moment->sections[index];
	group_path steps = {0};
	bool ok = true;

	if (section->has_steps)
		return true;
	if (!moment->has_groups) {
		moment->has_groups = true;
		if (!groups_init(&moment->groups, moment->report, REPORT_GROUP_FUNCTION))
			return false;
	}
	section->steps.len = 0;
	for (size_t i = 0; ok && i < section->paths.len; i++) {
		struct moment_path *path = &section->paths.data[i];

		ok = groups_path(&moment->groups, path->row, true, &steps);
		path->first_step = (uint32_t)section->steps.len;
		path->step_count = (uint32_t)steps.len;
		ok = ok && vec_copy(&steps, &section->steps);
	}
	vec_deinit(&steps);
	section->has_steps = ok;
	return ok;
}

/* --- of a base ---------------------------------------------------------------------- */

static bool fill_shared(struct shared_steps *shared, const struct moment *base)
{
	group_path steps = {0};
	bool ok = groups_init(&shared->groups, base->report, REPORT_GROUP_FUNCTION);

	for (size_t s = 0; s < base->section_count; s++) {
		vec_foreach (path, &base->sections[s].paths) {
			struct span span = {.first = (uint32_t)shared->steps.len};

			ok = ok && groups_path(&shared->groups, path->row, true, &steps);
			span.count = (uint32_t)steps.len;
			ok = ok && vec_copy(&steps, &shared->steps) &&
			     vec_push(&shared->spans[s], span);
		}
	}
	vec_deinit(&steps);
	shared->group_count = shared->groups.list.len;
	return ok;
}

static struct shared_steps *shared_of(struct moment *base)
{
	struct shared_steps *shared = base->shared_steps;

	if (shared)
		return shared;
	shared = calloc(1, sizeof(*shared));
	if (!shared || !fill_shared(shared, base)) {
		shared_steps_destroy(shared);
		return NULL;
	}
	base->shared_steps = shared;
	return shared;
}

/* --- of a moment with a base -------------------------------------------------------- */

/* The steps of the path of the base that has the same frames, or NULL. */
static const struct span *known_span(const struct moment *base, size_t section,
				     const struct report_row *row)
{
	const struct moment_path *path = known_path(base, section, row);

	return path ? &base->shared_steps->spans[section]
			       .data[path - base->sections[section].paths.data]
		    : NULL;
}

/* Each group has a row that has it. */
static void set_rows(struct groups *groups, const group_path *steps,
		     const struct report_row *row)
{
	vec_foreach (step, steps)
		if (!groups->list.data[*step].row)
			groups->list.data[*step].row = row;
}

static bool take_path(struct moment *moment, struct shared_steps *shared, size_t index,
		      struct moment_path *path, group_path *scratch)
{
	struct moment_section *section = &moment->sections[index];
	const struct span *span = known_span(moment->base, index, path->row);
	size_t first = section->steps.len;

	scratch->len = 0;
	if (span && !vec_reserve(&section->steps, first + span->count))
		return false;
	if (span && span->count) {
		vec_append_(section->steps.data, &section->steps.len,
			    shared->steps.data + span->first, span->count,
			    sizeof(*shared->steps.data));
	} else if (!span) {
		if (!groups_path(&shared->groups, path->row, true, scratch) ||
		    !vec_copy(scratch, &section->steps))
			return false;
		set_rows(&shared->groups, scratch, path->row);
	}
	path->first_step = (uint32_t)first;
	path->step_count = (uint32_t)(section->steps.len - first);
	return true;
}

static bool take_shared(struct moment *moment, struct shared_steps *shared)
{
	struct groups *groups = &shared->groups;
	group_path scratch = {0};
	bool ok = groups_extend(groups, moment->base->report->frame_count,
				moment->report->frame_count);

	for (size_t i = shared->group_count; i < groups->list.len; i++)
		groups->list.data[i].row = NULL;
	for (size_t s = 0; s < moment->section_count; s++) {
		moment->sections[s].steps.len = 0;
		vec_foreach (path, &moment->sections[s].paths)
			ok = ok && take_path(moment, shared, s, path, &scratch);
		moment->sections[s].has_steps = ok;
	}
	vec_deinit(&scratch);
	/* The thread of the screen reads the moment's own groups. */
	moment->has_groups = true;
	return groups_copy(groups, &moment->groups) && ok;
}

bool moment_take_steps(struct moment *moment)
{
	struct shared_steps *shared = moment->base ? shared_of(moment->base) : NULL;

	if (shared)
		return take_shared(moment, shared);
	for (size_t i = 0; i < moment->section_count; i++)
		if (!moment_find_steps(moment, i))
			return false;
	return true;
}
