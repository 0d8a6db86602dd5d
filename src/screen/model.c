// SPDX-License-Identifier: Apache-2.0
#include "screen/model.h"

#include <stdlib.h>
#include <string.h>

#include "render/class_words.h"
#include "screen/model_items.h"
#include "screen/views.h"
#include "util/cleanup.h"

void model_init(struct model *ret)
{
	*ret = (struct model){.callees_first = true, .page = 1};
	hashmap_init(&ret->expanded, hashmap_seed());
	hashmap_init(&ret->marked_at, hashmap_seed());
}

void model_deinit(struct model *model)
{
	strbuf_deinit(&model->filter);
	strbuf_deinit(&model->search);
	hashmap_deinit(&model->expanded);
	hashmap_deinit(&model->marked_at);
	vec_deinit(&model->items);
	vec_deinit(&model->members);
	vec_deinit(&model->deltas);
}

/* --- order and tree ----------------------------------------------------------------- */

/* Items are large: their indexes are sorted. */
struct order {
	const struct item *items;
	enum screen_sort sort;
};

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct order *order = arg;
	const struct item *a = &order->items[*(const uint32_t *)pa];
	const struct item *b = &order->items[*(const uint32_t *)pb];
	int result = numbers_compare(&a->numbers, &b->numbers, order->sort);

	/* So that equal lines do not change places. */
	return result ? result : a->key < b->key ? -1 : a->key > b->key;
}

static bool sort_items(struct model *model)
{
	size_t count = model->items.len;
	_cleanup_(freep) uint32_t *indexes = calloc(count + 1, sizeof(*indexes));
	struct item *sorted = malloc((count + 1) * sizeof(*sorted));
	struct order order = {model->items.data, model->sort};

	if (!indexes || !sorted) {
		free(sorted);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		indexes[i] = (uint32_t)i;
	qsort_r(indexes, count, sizeof(*indexes), compare, &order);
	for (size_t i = 0; i < count; i++)
		sorted[i] = model->items.data[indexes[i]];
	free(model->items.data);
	model->items.data = sorted;
	model->items.cap = count + 1;
	return true;
}

/* A line that is alone below its parent is expanded with it, unless it was collapsed. */
static bool is_expanded(const struct model *model, const struct item *item, bool is_alone)
{
	uint64_t value = is_alone;

	hashmap_get(&model->expanded, item->key, &value);
	return item->is_expandable && value;
}

/* Replace the sorted items by themselves and those below expanded ones, in the order of
 * the lines. */
static bool unfold(struct model *model)
{
	VEC(struct item) pending = {0}, lines = {0};
	bool is_any = false, ok;

	vec_foreach (item, &model->items) {
		item->is_expanded = is_expanded(model, item, false);
		is_any |= item->is_expanded;
	}
	if (!is_any)
		return true;
	ok = vec_reserve(&pending, model->items.len);
	for (size_t i = model->items.len; ok && i > 0; i--)
		ok = vec_push(&pending, model->items.data[i - 1]);
	while (ok && pending.len) {
		struct item item = pending.data[--pending.len];

		ok = vec_push(&lines, item);
		if (!ok || !item.is_expanded)
			continue;
		model->items.len = 0;
		ok = items_fill_below(model, &item) && sort_items(model);
		for (size_t i = model->items.len; ok && i > 0; i--) {
			struct item *below = &model->items.data[i - 1];

			below->is_expanded =
				is_expanded(model, below, model->items.len == 1);
			ok = vec_push(&pending, *below);
		}
	}
	vec_deinit(&pending);
	model->items.len = 0;
	ok = ok && vec_copy(&lines, &model->items);
	vec_deinit(&lines);
	return ok;
}

/* --- filter and mark ---------------------------------------------------------------- */

static bool find_shown(struct model *model, bool *shown)
{
	const struct moment_section *section = &model->moment->sections[model->section];
	_cleanup_(freep) bool *matches = NULL;

	if (model->filter.len &&
	    !items_match_frames(model->moment, model->section,
				strbuf_text(&model->filter), &matches))
		return false;
	model->path_count = model->shown_count = 0;
	model->shown_bytes = 0;
	for (size_t i = 0; i < section->paths.len; i++) {
		const struct report_row *row = section->paths.data[i].row;

		shown[i] = !matches;
		for (size_t k = 0; matches && !shown[i] && k < row->depth; k++)
			shown[i] = matches[row->frames[k]->index];
		if (!row->sum.count)
			continue;
		model->path_count++;
		if (shown[i]) {
			model->shown_count++;
			model->shown_bytes += row->sum.estimated_bytes;
		}
	}
	return true;
}

static bool find_deltas(struct model *model)
{
	const struct moment_section *now = &model->moment->sections[model->section];
	const struct moment_section *then;

	model->deltas.len = 0;
	model->gone_bytes = 0;
	model->gone_count = 0;
	if (!model->marked)
		return true;
	then = &model->marked->sections[model->section];
	for (size_t i = 0; i < now->paths.len; i++) {
		uint64_t before = 0, at;

		if (hashmap_get(&model->marked_at, now->paths.data[i].key, &at) &&
		    at < then->paths.len)
			before = then->paths.data[at].row->sum.estimated_bytes;
		if (!vec_push(
			    &model->deltas,
			    report_difference(now->paths.data[i].row->sum.estimated_bytes,
					      before)))
			return false;
	}
	return true;
}

bool model_set_mark(struct model *model, struct moment *marked)
{
	const struct moment_section *section;

	hashmap_deinit(&model->marked_at);
	model->marked = marked;
	if (!marked) {
		if (model->sort == SCREEN_SORT_SINCE_MARK)
			model->sort = screen_view_of(model->view)->sort;
		return true;
	}
	if (model->section >= marked->section_count)
		return true;
	section = &marked->sections[model->section];
	model->sort = SCREEN_SORT_SINCE_MARK;
	for (size_t i = 0; i < section->paths.len; i++)
		if (!hashmap_put(&model->marked_at, section->paths.data[i].key, i))
			return false;
	return true;
}

/* --- what is shown ------------------------------------------------------------------ */

static void keep_selected(struct model *model, uint64_t key, bool had)
{
	size_t before = model->selected;

	for (size_t i = 0; had && i < model->items.len; i++) {
		if (model->items.data[i].key == key) {
			model_select(model, i);
			return;
		}
	}
	model_select(model, before);
}

bool model_update(struct model *model)
{
	const struct item *selected = model_selected(model);
	uint64_t key = selected ? selected->key : 0;
	size_t paths = model->moment->sections[model->section].paths.len;
	_cleanup_(freep) bool *shown = calloc(paths + 1, sizeof(*shown));
	bool ok;

	/* At the top, the selection stays there and not with the line. */
	bool had = selected && model->selected;

	model->items.len = model->members.len = 0;
	ok = shown && find_shown(model, shown) && find_deltas(model) &&
	     items_fill(model, shown);
	ok = ok && sort_items(model) && unfold(model);
	if (!ok)
		model->items.len = 0;
	keep_selected(model, key, had);
	return ok;
}

bool model_set_moment(struct model *model, struct moment *moment)
{
	bool is_first = !model->moment;

	model->moment = moment;
	if (model->section >= moment->section_count)
		model->section = 0;
	if (is_first)
		model_set_view(model, model->view);
	return model_update(model);
}

bool model_has_data(const struct model *model, enum screen_view view)
{
	const struct report *report = model->moment->report;
	unsigned needs = screen_view_of(view)->needs;
	enum block_class class = report->sections[model->section].class;

	if (!class_words(class)->is_live && view == SCREEN_VIEW_THREADS)
		return false;
	return (report->data & needs) == needs;
}

void model_set_view(struct model *model, enum screen_view view)
{
	model->view = view;
	if (!model->marked)
		model->sort = screen_view_of(view)->sort;
	model->selected = model->first = 0;
}

void model_set_filter(struct model *model, const char *text)
{
	strbuf_clear(&model->filter);
	strbuf_append(&model->filter, text);
	model->selected = model->first = 0;
}

/* --- the selection ------------------------------------------------------------------ */

void model_select(struct model *model, size_t index)
{
	size_t count = model->items.len;

	model->selected = index < count ? index : count ? count - 1 : 0;
	if (model->first > model->selected)
		model->first = model->selected;
	if (model->selected >= model->first + model->page)
		model->first = model->selected - model->page + 1;
	/* Leave no empty lines at the end. */
	if (model->first + model->page > count)
		model->first = count > model->page ? count - model->page : 0;
}

void model_move(struct model *model, long lines)
{
	size_t step = lines < 0 ? (size_t)-lines : (size_t)lines;

	if (lines >= 0)
		model_select(model, model->selected > SIZE_MAX - step
					    ? SIZE_MAX
					    : model->selected + step);
	else
		model_select(model, model->selected > step ? model->selected - step : 0);
}

void model_set_page(struct model *model, unsigned lines)
{
	model->page = lines ? lines : 1;
	model_select(model, model->selected);
}

const struct item *model_selected(const struct model *model)
{
	return model->selected < model->items.len ? &model->items.data[model->selected]
						  : NULL;
}

bool model_expand(struct model *model)
{
	const struct item *item = model_selected(model);

	if (!item || !item->is_expandable)
		return true;
	return hashmap_put(&model->expanded, item->key, 1) && model_update(model);
}

bool model_collapse(struct model *model)
{
	size_t at = model->selected;
	const struct item *item = model_selected(model);

	if (!item)
		return true;
	if (!item->is_expanded) {
		uint32_t depth = item->depth;

		while (depth && at && model->items.data[at].depth >= depth)
			at--;
		model_select(model, at);
		item = &model->items.data[at];
	}
	return hashmap_put(&model->expanded, item->key, 0) && model_update(model);
}

/* Can the name have the text? Making it takes longer than to look at the frames. */
static bool may_match(const struct model *model, const struct item *item,
		      const bool *matches)
{
	if (item->kind != ITEM_FRAME || item->moment != model->moment)
		return true;
	for (size_t i = 0; i < item->row->depth; i++)
		if (matches[item->row->frames[i]->index])
			return true;
	return !item->row->depth;
}

bool model_search(struct model *model, bool backwards)
{
	const char *text = strbuf_text(&model->search);
	_cleanup_(strbuf_deinit) struct strbuf name = {0};
	_cleanup_(freep) bool *matches = NULL;
	size_t count = model->items.len;

	if (!*text || !items_match_frames(model->moment, model->section, text, &matches))
		return false;
	for (size_t i = 1; i <= count; i++) {
		size_t at = (model->selected + (backwards ? count - i : i)) % count;

		if (!may_match(model, &model->items.data[at], matches))
			continue;
		strbuf_clear(&name);
		model_append_name(model, &model->items.data[at], SIZE_MAX / 8, true,
				  &name);
		if (!strcasestr(strbuf_text(&name), text))
			continue;
		model_select(model, at);
		return true;
	}
	return false;
}
