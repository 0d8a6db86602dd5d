// SPDX-License-Identifier: Apache-2.0
#include "report/groups.h"

#include <string.h>

#include "frames/own_code.h"
#include "frames/short_name.h"

#define NOT_GROUPED UINT32_MAX

bool report_group_is_single(enum report_group by)
{
	return by == REPORT_GROUP_CALLER || by == REPORT_GROUP_ALLOCATOR ||
	       by == REPORT_GROUP_THREAD;
}

static bool init_threads(struct groups *ret, const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->threads.len; i++) {
		const struct snapshot_thread *thread = &snap->threads.data[i];
		uint64_t known;

		/* A tid that was used again is of the thread that still runs. */
		if (hashmap_get(&ret->threads, thread->tid, &known) && thread->exited)
			continue;
		if (!hashmap_put(&ret->threads, thread->tid, i))
			return false;
	}
	return true;
}

bool groups_init(struct groups *ret, const struct report *report, enum report_group by)
{
	uint64_t seed = hashmap_seed();
	/* One more, because calloc(0) may return NULL. */
	size_t count = report->frame_count + 1;

	*ret = (struct groups){
		.by = by <= REPORT_GROUP_PROCESS ? REPORT_GROUP_FUNCTION : by,
		.by_frame = calloc(count, sizeof(*ret->by_frame)),
		.kinds = calloc(count, sizeof(*ret->kinds)),
		.full_names = report->options.names == REPORT_FORM_FULL,
	};
	hashmap_init(&ret->functions, seed);
	hashmap_init(&ret->places, seed);
	hashmap_init(&ret->codes, seed);
	hashmap_init(&ret->others, seed);
	hashmap_init(&ret->threads, seed);
	if (!ret->by_frame || !ret->kinds)
		return false;
	if (by == REPORT_GROUP_THREAD && !init_threads(ret, report->snapshot))
		return false;
	memset(ret->by_frame, 0xff, count * sizeof(*ret->by_frame));
	return true;
}

bool groups_extend(struct groups *groups, size_t known, size_t frame_count)
{
	size_t fresh = frame_count - known + 1;
	uint32_t *by_frame =
		realloc(groups->by_frame, (known + fresh) * sizeof(*by_frame));
	unsigned char *kinds = NULL;

	if (by_frame) {
		groups->by_frame = by_frame;
		kinds = realloc(groups->kinds, (known + fresh) * sizeof(*kinds));
	}
	if (!kinds)
		return false;
	groups->kinds = kinds;
	memset(by_frame + known, 0xff, fresh * sizeof(*by_frame));
	memset(kinds + known, 0, fresh * sizeof(*kinds));
	return true;
}

bool groups_copy(const struct groups *groups, struct groups *ret)
{
	*ret = (struct groups){.by = groups->by, .full_names = groups->full_names};
	return vec_copy(&groups->list, &ret->list) &&
	       string_table_copy(&groups->texts, &ret->texts);
}

void groups_deinit(struct groups *groups)
{
	vec_deinit(&groups->list);
	string_table_deinit(&groups->texts);
	hashmap_deinit(&groups->functions);
	hashmap_deinit(&groups->places);
	hashmap_deinit(&groups->codes);
	hashmap_deinit(&groups->others);
	hashmap_deinit(&groups->threads);
	free(groups->by_frame);
	free(groups->kinds);
	strbuf_deinit(&groups->scratch);
}

/* Number pairs in order of first appearance. */
static bool number_pair(struct hashmap *map, uint32_t a, uint32_t b, uint32_t *ret)
{
	uint64_t key = (uint64_t)a << 32 | b, known = map->len;

	*ret = 0;
	if (!hashmap_get(map, key, &known) &&
	    (known >= NOT_GROUPED || !hashmap_put(map, key, known)))
		return false;
	*ret = (uint32_t)known;
	return true;
}

/* The number of a group, which is `group` if the pair is new. */
static bool number_group(struct groups *groups, struct hashmap *map, uint32_t a,
			 uint32_t b, const struct group *group, uint32_t *ret)
{
	uint64_t key = (uint64_t)a << 32 | b, known = groups->list.len;

	*ret = 0;
	if (!hashmap_get(map, key, &known) &&
	    (known >= NOT_GROUPED || !vec_push(&groups->list, *group) ||
	     !hashmap_put(map, key, known)))
		return false;
	*ret = (uint32_t)known;
	return true;
}

/* --- frames ------------------------------------------------------------------------- */

static const char *executable_of(const struct report_row *row)
{
	return row->frames_of ? row->frames_of->executable : NULL;
}

/* Whose code the frame is: all files and inlined functions of one library are one group.
 */
static bool describe_library(struct groups *groups, const struct report_row *row,
			     const struct report_frame *frame, struct group *ret)
{
	struct code_origin origin =
		code_origin_of(frame, executable_of(row), &groups->scratch);
	bool is_own = origin.kind == CODE_OWN;

	if (groups->scratch.failed)
		return false;
	strbuf_clear(&groups->scratch);
	if (origin.library)
		strbuf_append_bytes(&groups->scratch, origin.library, origin.library_len);
	ret->module = ret->file = STRING_NONE;
	ret->line = 0;
	return !groups->scratch.failed &&
	       string_table_add(&groups->texts,
				is_own           ? "the program's own code"
				: origin.library ? strbuf_text(&groups->scratch)
						 : NULL,
				&ret->name);
}

/* Fill the texts that group the frame. */
static bool describe(struct groups *groups, const struct report_row *row,
		     const struct report_frame *frame, struct group *ret)
{
	if (groups->by == REPORT_GROUP_LIBRARY)
		return describe_library(groups, row, frame, ret);

	bool by_file =
		groups->by == REPORT_GROUP_SOURCE || groups->by == REPORT_GROUP_LINE;
	bool by_name =
		groups->by != REPORT_GROUP_SOURCE && groups->by != REPORT_GROUP_MODULE;
	const char *file = by_file ? frame->file : NULL;
	const char *module = frame->module;

	/* A header is one file in all modules. */
	if (groups->by == REPORT_GROUP_SOURCE && file)
		module = NULL;
	strbuf_clear(&groups->scratch);
	if (by_name && frame->symbol && groups->full_names)
		strbuf_append(&groups->scratch, frame->symbol);
	else if (by_name && frame->symbol)
		short_name_append(&groups->scratch, frame->symbol);
	ret->line = groups->by == REPORT_GROUP_LINE && file ? frame->line : 0;
	return !groups->scratch.failed &&
	       string_table_add(&groups->texts,
				by_name && frame->symbol && *frame->symbol
					? strbuf_text(&groups->scratch)
					: NULL,
				&ret->name) &&
	       string_table_add(&groups->texts, module, &ret->module) &&
	       string_table_add(&groups->texts, file, &ret->file);
}

static bool group_frame(struct groups *groups, const struct report_row *row,
			const struct report_frame *frame, uint32_t *ret)
{
	struct group group = {.kind = frame->is_gap ? GROUP_GAP : GROUP_CODE, .row = row};
	uint32_t function, place;
	bool ok;

	if (groups->by_frame[frame->index] != NOT_GROUPED) {
		*ret = groups->by_frame[frame->index];
		return true;
	}
	if (frame->is_gap)
		ok = number_group(groups, &groups->others, GROUP_GAP, 0, &group, ret);
	else
		ok = describe(groups, row, frame, &group) &&
		     number_pair(&groups->functions, group.name, group.module,
				 &function) &&
		     number_pair(&groups->places, group.file, group.line, &place) &&
		     number_group(groups, &groups->codes, function, place, &group, ret);
	if (ok)
		groups->by_frame[frame->index] = *ret;
	return ok;
}

/* --- rows --------------------------------------------------------------------------- */

#define KIND_KNOWN 0x80

static enum code_kind kind_of(struct groups *groups, const struct report_row *row,
			      const struct report_frame *frame)
{
	unsigned char *kind = &groups->kinds[frame->index];

	if (!*kind)
		*kind = (unsigned char)(KIND_KNOWN |
					code_origin_of(frame, executable_of(row),
						       &groups->scratch)
						.kind);
	return (enum code_kind)(*kind & ~KIND_KNOWN);
}

static bool is_code(const struct report_row *row, size_t frame)
{
	return !row->frames[frame]->is_gap && report_row_shows(row, frame);
}

/* The innermost frame that does not only allocate for its caller. */
static size_t find_site(struct groups *groups, const struct report_row *row)
{
	size_t last = row->depth;

	for (size_t i = 0; i < row->depth; i++) {
		if (!is_code(row, i))
			continue;
		last = i;
		if (kind_of(groups, row, row->frames[i]) != CODE_ALLOCATOR)
			break;
	}
	return last;
}

/* The innermost frame of the program's own code; without such code `site`. */
static size_t find_own(struct groups *groups, const struct report_row *row, size_t site)
{
	for (size_t i = site; i < row->depth; i++) {
		if (is_code(row, i) && kind_of(groups, row, row->frames[i]) == CODE_OWN)
			return i;
	}
	return site;
}

static bool push_end(struct groups *groups, const struct report_row *row, group_path *ret)
{
	const struct group group = {.kind = GROUP_END, .row = row};
	uint32_t number, end = row->stack == SNAPSHOT_NO_STACK ? STACK_END_COUNT
							       : (uint32_t)row->end;

	/* Without frames the words are others ("no frames"). */
	return number_group(groups, &groups->others, GROUP_END,
			    end * 2 + (row->depth > 0), &group, &number) &&
	       vec_push(ret, number);
}

static bool push_allocator(struct groups *groups, const struct report_row *row,
			   group_path *ret)
{
	const struct group group = {.kind = GROUP_ALLOCATOR, .row = row};
	const struct snapshot_allocator *allocator = row->allocator;
	uint32_t label, number;

	return string_table_add(&groups->texts, allocator ? allocator->label : NULL,
				&label) &&
	       number_group(groups, &groups->others, GROUP_ALLOCATOR, label, &group,
			    &number) &&
	       vec_push(ret, number);
}

static bool push_frame(struct groups *groups, const struct report_row *row, size_t frame,
		       group_path *ret)
{
	uint32_t number;

	return group_frame(groups, row, row->frames[frame], &number) &&
	       vec_push(ret, number);
}

bool groups_path(struct groups *groups, const struct report_row *row, bool with_notes,
		 group_path *ret)
{
	size_t site = find_site(groups, row);

	ret->len = 0;
	if (groups->scratch.failed)
		return false;
	if (groups->by == REPORT_GROUP_ALLOCATOR)
		return push_allocator(groups, row, ret);
	if (site == row->depth)
		return push_end(groups, row, ret);
	if (groups->by == REPORT_GROUP_CALLER)
		return push_frame(groups, row, find_own(groups, row, site), ret);
	for (size_t i = site; i < row->depth; i++) {
		bool is_note = row->frames[i]->is_gap && with_notes;

		if ((is_note || is_code(row, i)) && !push_frame(groups, row, i, ret))
			return false;
	}
	return !with_notes || row->end == STACK_END_COMPLETE ||
	       push_end(groups, row, ret);
}

bool groups_process(struct groups *groups, const struct report_row *row, uint32_t *ret)
{
	const struct group group = {.kind = GROUP_PROCESS, .row = row};

	return number_group(groups, &groups->others, GROUP_PROCESS,
			    row->process ? (uint32_t)row->process->pid : 0, &group, ret);
}

bool groups_thread(struct groups *groups, const struct report_row *row, uint32_t tid,
		   uint32_t *ret)
{
	const struct group group = {.kind = GROUP_THREAD, .row = row, .tid = tid};

	return number_group(groups, &groups->others, GROUP_THREAD, tid, &group, ret);
}

/* --- texts -------------------------------------------------------------------------- */

static const char *get(const struct groups *groups, uint32_t text)
{
	return text == STRING_NONE ? NULL : string_table_get(&groups->texts, text);
}

const char *group_name(const struct groups *groups, const struct group *group)
{
	return group->kind == GROUP_CODE ? get(groups, group->name) : NULL;
}

const char *group_module(const struct groups *groups, const struct group *group)
{
	return group->kind == GROUP_CODE ? get(groups, group->module) : NULL;
}

const char *group_file(const struct groups *groups, const struct group *group)
{
	return group->kind == GROUP_CODE ? get(groups, group->file) : NULL;
}

const struct snapshot_thread *group_thread(const struct report *report,
					   const struct groups *groups,
					   const struct group *group)
{
	uint64_t index;

	return group->kind == GROUP_THREAD &&
			       hashmap_get(&groups->threads, group->tid, &index)
		       ? &report->snapshot->threads.data[index]
		       : NULL;
}
