// SPDX-License-Identifier: Apache-2.0
#include "render/names.h"

#include <string.h>

#include "render/class_words.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/escape.h"
#include "util/saturate.h"

/* A name before equal names are merged. */
struct candidate {
	struct name name;
	size_t slot; /* index into names.ids */
};

typedef VEC(struct candidate) candidates;

static void name_deinit(struct name *name)
{
	free(name->text);
	free(name->module);
}

/* Takes ownership of the contents of both strings. */
static struct error *push(candidates *list, struct strbuf *text, struct strbuf *module,
			  bool is_symbol, size_t slot)
{
	struct candidate c = {.slot = slot};

	c.name.is_symbol = is_symbol;
	/* Allocate, because strbuf_steal() must return "" for an empty text. */
	strbuf_reserve(text, 0);
	strbuf_reserve(module, 0);
	c.name.text = strbuf_steal(text);
	c.name.module = strbuf_steal(module);
	if (!c.name.text || !c.name.module || !vec_push(list, c)) {
		name_deinit(&c.name);
		return error_no_memory();
	}
	return NULL;
}

static struct error *push_frame(candidates *list, const struct report_frame *frame)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(strbuf_deinit) struct strbuf module = {0};
	bool has_text = frame->symbol && *frame->symbol;
	bool is_symbol = has_text && !frame->is_gap;

	if (frame->module)
		escape_text(&module, path_base_name(frame->module));
	if (has_text) {
		escape_text(&text, frame->symbol);
	} else {
		/* "[vdso]" has brackets already. */
		bool bare = module.len && module.data[0] != '[';

		strbuf_append(&text, bare ? "[" : "");
		strbuf_append(&text, module.len ? module.data : "[unknown]");
		strbuf_append(&text, bare ? "]" : "");
	}
	return push(list, &text, &module, is_symbol, frame->index);
}

static struct error *push_note(candidates *list, enum name_note note, size_t slot)
{
	static const char *const texts[NOTE_COUNT] = {
		[NOTE_NO_STACK] = "[no stack: it was not stored]",
		[NOTE_NO_FRAMES] = "[no frames]",
		[NOTE_NO_PROCESS] = "[process not known]",
		[NOTE_OTHER] = "[other]",
		[NOTE_END + STACK_END_DEPTH] = "[truncated: stack depth limit]",
		[NOTE_END + STACK_END_NO_FRAME] = "[truncated: no frame pointer]",
		[NOTE_END + STACK_END_UNREADABLE] = "[truncated: unreadable stack]",
		[NOTE_END + STACK_END_CORRUPT] = "[truncated: corrupt stack]",
		[NOTE_END + STACK_END_NO_RULE] = "[truncated: unwind rules not ready]",
		[NOTE_PROCESSES] = "[several processes]",
	};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(strbuf_deinit) struct strbuf module = {0};

	if (note < NOTE_CLASS + BLOCK_CLASS_COUNT)
		strbuf_appendf(&text, "[%s]",
			       class_words((enum block_class)(note - NOTE_CLASS))->name);
	else if (texts[note])
		strbuf_append(&text, texts[note]);
	else
		strbuf_appendf(&text, "[truncated: %s]",
			       stack_end_name((enum stack_end)(note - NOTE_END)));
	return push(list, &text, &module, false, slot);
}

static struct error *push_process(candidates *list,
				  const struct snapshot_process *process, bool with_pid,
				  size_t slot)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(strbuf_deinit) struct strbuf module = {0};

	escape_text(&text, process->command ? process->command : "unknown");
	if (with_pid)
		strbuf_appendf(&text, " (%d)", process->pid);
	return push(list, &text, &module, false, slot);
}

static int compare(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;
	int order = strcmp(a->name.text, b->name.text);

	if (!order)
		order = strcmp(a->name.module, b->name.module);
	if (!order)
		order = (int)a->name.is_symbol - (int)b->name.is_symbol;
	return order;
}

static void find_frames(struct names *names, const struct report *report)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count; r++) {
			const struct report_row *row = &section->rows[r];

			for (size_t i = 0; i < row->depth; i++) {
				size_t index = row->frames[i]->index;

				names->frames[index] = row->frames[i];
				names->owners[index] = row->frames_of;
			}
		}
	}
}

static struct error *push_all(const struct names *names, candidates *list)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && i < names->frame_count; i++) {
		if (names->frames[i])
			err = push_frame(list, names->frames[i]);
	}
	for (size_t i = 0; !err && i < NOTE_COUNT; i++)
		err = push_note(list, (enum name_note)i, names->frame_count + i);
	for (size_t i = 0; !err && i < names->snapshot->processes.len; i++)
		err = push_process(list, &names->snapshot->processes.data[i],
				   names->with_pids, names->frame_count + NOTE_COUNT + i);
	return err;
}

/* Move the sorted candidates to the list, merging equal ones. */
static void merge(struct names *names, candidates *list)
{
	vec_foreach (c, list) {
		if (c == list->data || compare(c - 1, c))
			names->list.data[names->list.len++] = c->name;
		names->ids[c->slot] = (uint32_t)names->list.len - 1;
	}
	/* Free the candidates that were merged into an equal one. */
	for (size_t i = list->len; i-- > 0;) {
		struct name *kept = &names->list.data[names->ids[list->data[i].slot]];

		if (kept->text != list->data[i].name.text)
			name_deinit(&list->data[i].name);
	}
	list->len = 0;
}

struct error *names_init(struct names *ret, const struct report *report)
{
	candidates list = {0};
	struct error *err;

	*ret = (struct names){.snapshot = report->snapshot,
			      .frame_count = report->frame_count,
			      .with_pids = report->options.group_by_process};
	ret->frames = calloc(report->frame_count + 1, sizeof(*ret->frames));
	ret->owners = calloc(report->frame_count + 1, sizeof(*ret->owners));
	ret->ids =
		calloc(report->frame_count + NOTE_COUNT + report->snapshot->processes.len,
		       sizeof(*ret->ids));
	if (!ret->frames || !ret->owners || !ret->ids)
		return error_no_memory();
	find_frames(ret, report);
	err = push_all(ret, &list);
	if (!err && !vec_reserve(&ret->list, list.len))
		err = error_no_memory();
	if (!err) {
		qsort(list.data, list.len, sizeof(*list.data), compare);
		merge(ret, &list);
	}
	vec_foreach (c, &list)
		name_deinit(&c->name);
	vec_deinit(&list);
	return err;
}

void names_deinit(struct names *names)
{
	vec_foreach (name, &names->list)
		name_deinit(name);
	vec_deinit(&names->list);
	free(names->frames);
	free(names->owners);
	free(names->ids);
	*names = (struct names){0};
}

uint32_t names_frame(const struct names *names, const struct report_frame *frame)
{
	return names->ids[frame->index];
}

uint32_t names_note(const struct names *names, enum name_note note)
{
	return names->ids[names->frame_count + note];
}

uint32_t names_process(const struct names *names, const struct snapshot_process *process)
{
	if (!process)
		return names_note(names, NOTE_NO_PROCESS);
	return names->ids[names->frame_count + NOTE_COUNT +
			  (size_t)(process - names->snapshot->processes.data)];
}

bool names_end(const struct report_row *row, enum name_note *ret)
{
	if (row->stack == SNAPSHOT_NO_STACK)
		*ret = NOTE_NO_STACK;
	else if (row->end != STACK_END_COMPLETE)
		*ret = (enum name_note)(NOTE_END + (int)row->end);
	else if (!row->depth)
		*ret = NOTE_NO_FRAMES;
	else
		return false;
	return true;
}

static int compare_parts(const void *pa, const void *pb)
{
	const struct name_part *a = pa, *b = pb;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->process < b->process ? -1 : a->process > b->process;
}

struct error *names_split(const struct names *names, const struct report_row *row,
			  name_parts *ret)
{
	const struct snapshot_process *first = names->snapshot->processes.data;
	size_t kept = 0;

	ret->len = 0;
	for (size_t i = 0; row->process_count > 1 && i < row->process_count; i++) {
		const struct report_holder *holder = &row->processes[i];
		struct name_part part = {
			.name = names_process(names, holder->process),
			.process = holder->process ? (uint32_t)(holder->process - first)
						   : SNAPSHOT_NO_PROCESS,
			.size_bytes = holder->size_bytes,
			.count = holder->count,
		};

		if (!vec_push(ret, part))
			return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare_parts);
	vec_foreach (part, ret) {
		struct name_part *last = kept ? &ret->data[kept - 1] : NULL;

		if (last && last->name == part->name) {
			last->size_bytes =
				saturate_add(last->size_bytes, part->size_bytes);
			last->count = saturate_add(last->count, part->count);
		} else {
			ret->data[kept++] = *part;
		}
	}
	ret->len = kept;
	return NULL;
}
