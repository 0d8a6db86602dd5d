// SPDX-License-Identifier: Apache-2.0
#include "screen/model_items.h"

#include <stdlib.h>
#include <string.h>

#include "frames/short_name.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/saturate.h"

#define MIX UINT64_C(0x9e3779b97f4a7c15)

static const struct moment_section *section_of(const struct model *model)
{
	return &model->moment->sections[model->section];
}

/* --- the filter --------------------------------------------------------------------- */

/* Does the short name have the text? Mostly it is a part of the full one, which is looked
 * at first, because making short names takes longer. */
static bool name_has(const char *symbol, const char *text, struct strbuf *scratch)
{
	if (!strcasestr(symbol, text) && !strstr(symbol, "basic_") &&
	    !strpbrk(symbol, "{$"))
		return false;
	strbuf_clear(scratch);
	short_name_append(scratch, symbol);
	return strcasestr(strbuf_text(scratch), text);
}

static bool frame_has(const struct report_frame *frame, const char *text,
		      struct strbuf *scratch)
{
	return (frame->symbol && name_has(frame->symbol, text, scratch)) ||
	       (frame->module && strcasestr(path_base_name(frame->module), text)) ||
	       (frame->file && strcasestr(path_base_name(frame->file), text));
}

bool items_match_frames(const struct moment *moment, size_t section, const char *text,
			bool **ret)
{
	const struct moment_section *of = &moment->sections[section];
	size_t count = moment->report->frame_count + 1;
	_cleanup_(freep) bool *known = calloc(count, sizeof(*known));
	_cleanup_(strbuf_deinit) struct strbuf scratch = {0};

	*ret = calloc(count, sizeof(**ret));
	if (!known || !*ret)
		return false;
	for (size_t i = 0; i < of->paths.len; i++) {
		const struct report_row *row = of->paths.data[i].row;

		for (size_t k = 0; k < row->depth; k++) {
			size_t index = row->frames[k]->index;

			if (!known[index])
				(*ret)[index] = frame_has(row->frames[k], text, &scratch);
			known[index] = true;
		}
	}
	return !scratch.failed;
}

/* --- items -------------------------------------------------------------------------- */

static uint64_t key_below(uint64_t parent, uint64_t key)
{
	return (parent ^ key) * MIX ^ parent >> 31;
}

/* Add a path to an item. `row` becomes the path that holds most. */
static void add_path(const struct model *model, struct item *item, uint32_t index)
{
	const struct report_row *row = section_of(model)->paths.data[index].row;

	numbers_add_row(&item->numbers, row);
	if (model->marked)
		item->numbers.delta_bytes += model->deltas.data[index];
	if (!item->row || row->sum.estimated_bytes > item->row->sum.estimated_bytes)
		item->row = row;
}

/* A line for one call path. */
static bool add_single(struct model *model, uint32_t index)
{
	const struct moment_path *path = &section_of(model)->paths.data[index];
	struct item item = {
		.kind = ITEM_FRAME,
		.key = path->key,
		.moment = model->moment,
		.frame = ITEM_LEAF,
		.first_member = (uint32_t)model->members.len,
		.member_count = 1,
		.is_expandable = path->row->depth > 0,
	};

	add_path(model, &item, index);
	return vec_push(&model->members, index) && vec_push(&model->items, item);
}

static bool fill_paths(struct model *model, const bool *shown, bool with_past)
{
	const struct moment_section *section = section_of(model);
	bool unreachable_only = model->view == SCREEN_VIEW_UNREACHABLE;

	for (uint32_t i = 0; i < section->paths.len; i++) {
		bool is_held = section->paths.data[i].row->sum.count;

		if (unreachable_only &&
		    !report_row_has_verdict(section->paths.data[i].row))
			continue;
		if (shown[i] && (is_held || unreachable_only || with_past) &&
		    !add_single(model, i))
			return false;
	}
	return true;
}

/* Call paths that held something at the mark and hold nothing now. */
static bool fill_gone(struct model *model)
{
	const struct moment_section *then;
	struct hashmap now;
	bool ok = true;

	if (!model->marked || model->section >= model->marked->section_count)
		return true;
	then = &model->marked->sections[model->section];
	hashmap_init(&now, hashmap_seed());
	for (size_t i = 0; ok && i < section_of(model)->paths.len; i++) {
		const struct moment_path *path = &section_of(model)->paths.data[i];

		if (path->row->sum.count)
			ok = hashmap_put(&now, path->key, 1);
	}
	for (size_t i = 0; ok && i < then->paths.len; i++) {
		const struct moment_path *path = &then->paths.data[i];
		struct item item = {
			.kind = ITEM_FRAME,
			.key = path->key,
			.moment = model->marked,
			.row = path->row,
			.frame = ITEM_LEAF,
			.is_gone = true,
		};

		if (!path->row->sum.count || hashmap_get(&now, path->key, NULL))
			continue;
		item.numbers.delta_bytes =
			report_difference(0, path->row->sum.estimated_bytes);
		model->gone_bytes += item.numbers.delta_bytes;
		model->gone_count++;
		if (!model->filter.len && model->view == SCREEN_VIEW_STACKS)
			ok = vec_push(&model->items, item);
	}
	hashmap_deinit(&now);
	return ok;
}

static bool fill_causes(struct model *model, const bool *shown)
{
	const struct causes *causes = section_of(model)->causes;

	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *cause = &causes->list[i];
		const struct cause_part *first = cause->parts;
		struct item item = {
			.kind = ITEM_FRAME,
			.moment = model->moment,
			.first_member = (uint32_t)model->members.len,
			.is_expandable = true,
		};

		for (size_t k = 0; k < cause->part_count; k++) {
			uint32_t path = moment_path_of(model->moment, model->section,
						       cause->parts[k].row);

			if (path == MOMENT_NO_PATH || !shown[path])
				continue;
			item.key = item.member_count++
					   ? item.key
					   : section_of(model)->paths.data[path].key + 1;
			add_path(model, &item, path);
			if (!vec_push(&model->members, path))
				return false;
		}
		item.row = first->row;
		item.frame = first->named_by;
		item.numbers.slope_bytes_per_s = cause->slope_bytes_per_s;
		if (item.member_count && !vec_push(&model->items, item))
			return false;
	}
	return true;
}

/* --- by function -------------------------------------------------------------------- */

/* The group of a path's step, counted from the end where the tree begins; UINT32_MAX:
 * the path has ended. */
static uint32_t step_of(const struct model *model, uint32_t index, uint32_t step)
{
	const struct moment_section *section = section_of(model);
	const struct moment_path *path = &section->paths.data[index];

	if (step >= path->step_count)
		return UINT32_MAX;
	if (!model->callees_first)
		step = path->step_count - 1 - step;
	return section->steps.data[path->first_step + step];
}

/* Make an item for each group that `count` members from `first` on have at this step. */
static bool split(struct model *model, uint32_t first, uint32_t count, uint32_t step,
		  const struct item *parent)
{
	size_t first_item = model->items.len;
	struct hashmap by_group;
	bool ok = vec_reserve(&model->members, model->members.len + count);

	hashmap_init(&by_group, hashmap_seed());
	for (uint32_t i = first; ok && i < first + count; i++) {
		uint32_t path = model->members.data[i];
		uint32_t group = step_of(model, path, step);
		uint64_t at = model->items.len;

		if (group == UINT32_MAX)
			continue;
		if (!hashmap_get(&by_group, group, &at)) {
			uint64_t key = moment_group_key(model->moment, group);
			struct item item = {
				.kind = ITEM_GROUP,
				.key = key_below(parent ? parent->key : step, key),
				.moment = model->moment,
				.group = group,
				.step = step + 1,
				.depth = parent ? parent->depth + 1 : 0,
			};

			ok = hashmap_put(&by_group, group, at) &&
			     vec_push(&model->items, item);
		}
		if (ok) {
			add_path(model, &model->items.data[at], path);
			model->items.data[at].member_count++;
		}
	}
	for (size_t i = first_item; ok && i < model->items.len; i++) {
		struct item *item = &model->items.data[i];

		item->first_member = (uint32_t)model->members.len;
		model->members.len += item->member_count;
		item->member_count = 0;
	}
	for (uint32_t i = first; ok && i < first + count; i++) {
		uint32_t path = model->members.data[i];
		uint64_t at = 0;
		struct item *item;

		if (!hashmap_get(&by_group, step_of(model, path, step), &at))
			continue;
		item = &model->items.data[at];
		model->members.data[item->first_member + item->member_count++] = path;
		item->is_expandable |= step_of(model, path, item->step) != UINT32_MAX;
	}
	hashmap_deinit(&by_group);
	return ok;
}

/* Fill the bytes that each function and its callees allocated. */
static bool add_totals(struct model *model, const bool *shown)
{
	const struct moment_section *section = section_of(model);
	size_t group_count = model->moment->groups.list.len + 1;
	_cleanup_(freep) uint64_t *totals = calloc(group_count, sizeof(*totals));
	_cleanup_(freep) uint32_t *seen = calloc(group_count, sizeof(*seen));

	if (!totals || !seen)
		return false;
	for (uint32_t i = 0; i < section->paths.len; i++) {
		const struct moment_path *path = &section->paths.data[i];

		for (uint32_t k = 0; shown[i] && k < path->step_count; k++) {
			uint32_t group = section->steps.data[path->first_step + k];

			if (seen[group] == i + 1)
				continue;
			seen[group] = i + 1;
			totals[group] = saturate_add(totals[group],
						     path->row->sum.estimated_bytes);
		}
	}
	vec_foreach (item, &model->items)
		item->numbers.total_bytes = totals[item->group];
	return true;
}

static bool fill_functions(struct model *model, const bool *shown)
{
	const struct moment_section *section = section_of(model);
	bool callees_first = model->callees_first, ok;
	uint32_t count;

	if (!moment_find_steps(model->moment, model->section))
		return false;
	for (uint32_t i = 0; i < section->paths.len; i++)
		if (shown[i] && section->paths.data[i].row->sum.count &&
		    !vec_push(&model->members, i))
			return false;
	count = (uint32_t)model->members.len;
	/* A function is listed by what it allocated itself. */
	if (model->view == SCREEN_VIEW_FUNCTIONS)
		model->callees_first = true;
	ok = split(model, 0, count, 0, NULL);
	model->callees_first = callees_first;
	if (ok && model->view == SCREEN_VIEW_FUNCTIONS) {
		/* From the outermost function on, if callers come first. */
		vec_foreach (item, &model->items)
			item->step = callees_first ? 1 : 0;
		vec_foreach (item, &model->items)
			item->is_expandable = true;
		ok = add_totals(model, shown);
	}
	return ok;
}

/* --- what has no call paths --------------------------------------------------------- */

static bool fill_threads(struct model *model)
{
	const struct report *report = model->moment->report;

	for (size_t i = 0; i < report->thread_count; i++) {
		const struct report_thread *thread = &report->threads[i];
		struct item item = {
			.kind = ITEM_THREAD,
			.key = thread->thread->tid,
			.moment = model->moment,
			.thread = thread,
			.numbers = {.bytes = thread->live_bytes,
				    .count = thread->live_count,
				    .allocated_bytes = thread->allocated_bytes,
				    .freed_bytes =
					    saturate_add(thread->freed_own_bytes,
							 thread->freed_of_others_bytes)},
		};

		if (!vec_push(&model->items, item))
			return false;
	}
	return true;
}

static bool fill_processes(struct model *model)
{
	const struct report_section *section = section_of(model)->section;

	for (size_t i = 0; i < section->process_count; i++) {
		const struct report_process *process = &section->processes[i];
		struct item item = {
			.kind = ITEM_PROCESS,
			.key = (uint64_t)process->process->pid,
			.moment = model->moment,
			.process = process,
			.numbers = {.bytes = process->live.estimated_bytes,
				    .count = process->live.estimated_count,
				    .growth_bytes = process->estimated_growth_bytes},
		};

		if (!vec_push(&model->items, item))
			return false;
	}
	return true;
}

bool items_fill(struct model *model, const bool *shown)
{
	bool ok = false;

	switch (model->view) {
	case SCREEN_VIEW_CAUSES:
		ok = fill_causes(model, shown);
		break;
	case SCREEN_VIEW_STACKS:
	case SCREEN_VIEW_GROWTH:
	case SCREEN_VIEW_UNREACHABLE:
		ok = fill_paths(model, shown, false);
		break;
	case SCREEN_VIEW_TRAFFIC:
	case SCREEN_VIEW_PEAK:
		ok = fill_paths(model, shown, true);
		break;
	case SCREEN_VIEW_TREE:
	case SCREEN_VIEW_FUNCTIONS:
		ok = fill_functions(model, shown);
		break;
	case SCREEN_VIEW_THREADS:
		ok = fill_threads(model);
		break;
	case SCREEN_VIEW_PROCESSES:
		ok = fill_processes(model);
		break;
	case SCREEN_VIEWS:
		break;
	}
	return ok && fill_gone(model);
}

bool items_fill_below(struct model *model, const struct item *parent)
{
	const struct item copy = *parent;

	return moment_find_steps(model->moment, model->section) &&
	       split(model, copy.first_member, copy.member_count, copy.step, &copy);
}
