// SPDX-License-Identifier: Apache-2.0
#include "diff/diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/arena.h"
#include "util/cleanup.h"
#include "util/path.h"
#include "util/saturate.h"
#include "util/strbuf.h"
#include "util/string_table.h"

DEFINE_CLEANUP(struct report_diff *, report_diff_destroy);

/* For each frame index of one report, the id of the frame's name. */
struct frame_ids {
	uint32_t *ids; /* STRING_NONE: not looked up yet */
};

/* One call path of names, while rows are gathered. */
struct gathered {
	struct report_diff_row row;
	size_t first_step; /* index into builder.steps, row.row.depth steps */
};

struct gathered_section {
	struct string_table keys; /* the index of a key is the index of its row */
	VEC(struct gathered) rows;
};

struct builder {
	struct report_diff *diff;
	bool by_process;
	struct string_table names;               /* names of frames; the index is the
						    id */
	VEC(const struct report_frame *) firsts; /* by id: the frame that is shown */
	struct frame_ids of_old, of_new;
	struct gathered_section classes[BLOCK_CLASS_COUNT]; /* by enum block_class */
	VEC(uint32_t) steps;
	struct strbuf text;
};

/* --- names -------------------------------------------------------------------------- */

/* The parts of the name are separated by a byte that is rare in names. */
static void name_frame(struct strbuf *text, const struct report_frame *frame,
		       const char *module)
{
	text->len = 0;
	if (frame->symbol)
		strbuf_append(text, frame->symbol);
	strbuf_append_char(text, '\x1f');
	if (module)
		strbuf_append(text, path_base_name(module));
	if (!frame->symbol && module)
		strbuf_appendf(text, "\x1f%" PRIx64, frame->offset);
}

static struct error *find_id(struct builder *b, const struct frame_ids *ids,
			     const struct report_frame *frame, uint32_t *ret)
{
	uint32_t *id = &ids->ids[frame->index];
	const char *module = frame->module;

	if (*id == STRING_NONE) {
		if (module && ids == &b->of_old)
			module = diff_modules_new_path(&b->diff->modules, module);
		name_frame(&b->text, frame, module);
		if (b->text.failed ||
		    !string_table_add(&b->names, strbuf_text(&b->text), id) ||
		    (*id == b->firsts.len && !vec_push(&b->firsts, frame)))
			return error_no_memory();
	}
	*ret = *id;
	return NULL;
}

/* Append the id as five bytes that are never 0. */
static void append_id(struct strbuf *text, uint32_t id)
{
	for (int i = 0; i < 5; i++, id >>= 7)
		strbuf_append_char(text, (char)(0x80 | (id & 0x7f)));
}

/* --- gathering ---------------------------------------------------------------------- */

static const char *command_of(const struct builder *b, const struct report_row *row)
{
	return b->by_process && row->process ? row->process->command : NULL;
}

/* The process for a row: one of the new snapshot that runs the same command, also if the
 * stack is only in the old snapshot. NULL: none. */
static const struct snapshot_process *process_of(const struct builder *b,
						 const char *command)
{
	vec_foreach (process, &b->diff->new->snapshot->processes) {
		if (command && process->command && !strcmp(process->command, command))
			return process;
	}
	return NULL;
}

static struct error *find_row(struct builder *b, struct gathered_section *section,
			      const struct frame_ids *ids, const struct report_row *row,
			      struct gathered **ret)
{
	const char *command = command_of(b, row);
	size_t first_step = b->steps.len;
	struct gathered new = {.row = {.row = {.stack = row->stack,
					       .end = row->end,
					       .depth = row->depth},
				       .command = command},
			       .first_step = first_step};
	struct strbuf *key = &b->text;
	struct error *err = NULL;
	uint32_t id, index;

	for (size_t i = 0; !err && i < row->depth; i++) {
		err = find_id(b, ids, row->frames[i], &id);
		if (!err && !vec_push(&b->steps, id))
			err = error_no_memory();
	}
	if (err)
		return err;
	key->len = 0;
	for (size_t i = first_step; i < b->steps.len; i++)
		append_id(key, b->steps.data[i]);
	strbuf_append_char(key, row->stack == SNAPSHOT_NO_STACK ? 'n' : '=');
	strbuf_append_char(key, (char)('0' + row->end));
	if (command)
		strbuf_append(key, command);
	if (key->failed || !string_table_add(&section->keys, strbuf_text(key), &index))
		return error_no_memory();
	if (index == section->rows.len) {
		new.row.row.process = process_of(b, command);
		if (!vec_push(&section->rows, new))
			return error_no_memory();
	} else {
		b->steps.len = first_step;
	}
	*ret = &section->rows.data[index];
	return NULL;
}

static struct error *gather(struct builder *b, const struct report *report,
			    const struct frame_ids *ids, bool is_new)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count; r++) {
			const struct report_row *from = &section->rows[r];
			struct gathered *to;
			struct error *err =
				find_row(b, &b->classes[section->class], ids, from, &to);

			if (err)
				return err;

			uint64_t *bytes =
				is_new ? &to->row.new_bytes : &to->row.old_bytes;
			uint64_t *count =
				is_new ? &to->row.new_count : &to->row.old_count;
			uint64_t *lost = is_new ? &to->row.new_lost_bytes
						: &to->row.old_lost_bytes;

			*bytes = saturate_add(*bytes, from->sum.estimated_bytes);
			*count = saturate_add(*count, from->sum.estimated_count);
			*lost = saturate_add(*lost, report_row_lost_bytes(from));
		}
	}
	return NULL;
}

bool report_diff_knows_lost(const struct report *report)
{
	return report->snapshot->search.count > 0;
}

/* --- the result --------------------------------------------------------------------- */

static void finish_row(struct report_diff_row *row)
{
	uint64_t bytes =
		row->new_bytes > row->old_bytes ? row->new_bytes : row->old_bytes;
	uint64_t count =
		row->new_count > row->old_count ? row->new_count : row->old_count;

	row->bytes = report_difference(row->new_bytes, row->old_bytes);
	row->count = report_difference(row->new_count, row->old_count);
	row->row.sum = (struct report_sum){bytes, count, bytes, count};
	row->row.growth_bytes = row->row.estimated_growth_bytes = row->bytes;
	row->row.growth_count = row->row.estimated_growth_count = row->count;
}

static uint64_t magnitude(int64_t n)
{
	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

/* Runs whose lengths differ by less than one part in this many are of one length. */
#define DIFF_SAME_LENGTH 10

/* Larger changes first; of equal changes, growth first. */
static int compare_numbers(int64_t a, int64_t b)
{
	if (magnitude(a) != magnitude(b))
		return magnitude(a) > magnitude(b) ? -1 : 1;
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct report_diff_row *a = pa, *b = pb;
	const struct report_options *options = arg;
	bool by_count = options->sort == REPORT_SORT_COUNT;
	int order = by_count ? compare_numbers(a->count, b->count)
			     : compare_numbers(a->bytes, b->bytes);

	if (!order)
		order = by_count ? compare_numbers(a->bytes, b->bytes)
				 : compare_numbers(a->count, b->count);
	/* `rank` is the order of their first appearance. */
	return order ? order : a->row.rank < b->row.rank ? -1 : a->row.rank > b->row.rank;
}

static const struct report_frame *const *place_frames(struct builder *b,
						      const struct report_frame *frames,
						      const struct gathered *from)
{
	const struct report_frame **list = report_arena_alloc(
		b->diff->arena, from->row.row.depth, sizeof(struct report_frame *));

	for (size_t i = 0; list && i < from->row.row.depth; i++)
		list[i] = &frames[b->steps.data[from->first_step + i]];
	return list;
}

/* Below --skip-size or --skip-count on both sides? */
static bool is_skipped(const struct builder *b, const struct report_diff_row *row)
{
	return row->row.sum.estimated_bytes < b->diff->options.skip_bytes ||
	       row->row.sum.estimated_count < b->diff->options.skip_count;
}

/* Blocks may have become unreachable while sizes stay. */
static bool is_changed(const struct report_diff *diff, const struct report_diff_row *row)
{
	return row->bytes || row->count ||
	       (row->old_lost_bytes != row->new_lost_bytes &&
		report_diff_knows_lost(diff->old) && report_diff_knows_lost(diff->new));
}

/* The section of the class, or an empty one. */
static const struct report_section *section_of(const struct report *report,
					       enum block_class class)
{
	static const struct report_section none;
	const struct report_section *section = report_find_section(report, class);

	return section ? section : &none;
}

/* Append the section of this class to the difference. */
static struct error *make_section(struct builder *b, enum block_class class,
				  const struct report_frame *frames)
{
	struct report_diff *diff = b->diff;
	struct gathered_section *from = &b->classes[class];
	struct report_diff_section *to = &diff->sections[diff->section_count];
	struct report_section *graph = &diff->graph.sections[diff->section_count++];
	size_t count = from->rows.len;

	to->class = class;
	to->of_old = section_of(diff->old, class);
	to->of_new = section_of(diff->new, class);
	to->old = to->of_old->listed;
	to->new = to->of_new->listed;
	*graph = *to->of_new;
	graph->class = class;
	graph->row_count = 0;
	to->rows = report_arena_alloc(diff->arena, count, sizeof(*to->rows));
	graph->rows = report_arena_alloc(diff->arena, count, sizeof(*graph->rows));
	if (!to->rows || !graph->rows)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct report_diff_row *row = &from->rows.data[i].row;

		row->row.frames = place_frames(b, frames, &from->rows.data[i]);
		if (!row->row.frames)
			return error_no_memory();
		row->row.rank = i;
		finish_row(row);
		if (is_skipped(b, row)) {
			to->skipped++;
			continue;
		}
		graph->rows[graph->row_count++] = row->row;
		if (is_changed(diff, row))
			to->rows[to->changed++] = *row;
		else
			to->unchanged++;
	}
	graph->stack_count = graph->row_count;
	if (to->changed)
		qsort_r(to->rows, to->changed, sizeof(*to->rows), compare_rows,
			&diff->options);
	to->row_count = to->changed;
	if (diff->options.top && diff->options.top < to->row_count)
		to->row_count = diff->options.top;
	return NULL;
}

/* Copy the frames with new indices, because each report numbers its frames from 0. */
static struct report_frame *copy_frames(struct builder *b)
{
	struct report_frame *frames =
		report_arena_alloc(b->diff->arena, b->firsts.len, sizeof(*frames));

	for (size_t i = 0; frames && i < b->firsts.len; i++) {
		frames[i] = *b->firsts.data[i];
		frames[i].index = i;
	}
	return frames;
}

static struct error *make_sections(struct builder *b)
{
	struct report_diff *diff = b->diff;
	const struct report_frame *frames = copy_frames(b);
	enum block_class main = snapshot_main_class(diff->new->snapshot);
	struct error *err;

	if (!frames)
		return error_no_memory();
	diff->graph = *diff->new;
	diff->graph.arena = NULL;
	diff->graph.options = diff->options;
	diff->graph.frame_count = b->firsts.len;
	err = make_section(b, main, frames);
	for (int i = 0; !err && i < BLOCK_CLASS_COUNT; i++) {
		enum block_class class = (enum block_class)i;

		if (class != main && (report_find_section(diff->old, class) ||
				      report_find_section(diff->new, class)))
			err = make_section(b, class, frames);
	}
	diff->graph.section_count = diff->section_count;
	return err;
}

static struct error *ids_init(struct frame_ids *ids, const struct report *report)
{
	/* One more, because malloc(0) may return NULL. STRING_NONE is all 0xff bytes. */
	size_t size = (report->frame_count + 1) * sizeof(*ids->ids);

	ids->ids = malloc(size);
	if (!ids->ids)
		return error_no_memory();
	memset(ids->ids, 0xff, size);
	return NULL;
}

static void builder_deinit(struct builder *b)
{
	free(b->of_old.ids);
	free(b->of_new.ids);
	string_table_deinit(&b->names);
	vec_deinit(&b->firsts);
	vec_deinit(&b->steps);
	strbuf_deinit(&b->text);
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++) {
		string_table_deinit(&b->classes[i].keys);
		vec_deinit(&b->classes[i].rows);
	}
}

static bool is_one_run(const struct snapshot *old, const struct snapshot *new)
{
	const struct snapshot_process *a = snapshot_process(old, 0);
	const struct snapshot_process *b = snapshot_process(new, 0);

	return old->attached_ns && old->attached_ns == new->attached_ns &&
	       old->time_ns <= new->time_ns &&a &&b && a->pid == b->pid;
}

/* 0 for no time at all. */
static double per_minute(uint64_t bytes, uint64_t time_ns)
{
	return time_ns ? (double)bytes * 60e9 / (double)time_ns : 0;
}

enum diff_rates report_diff_rates(const struct report_diff *diff)
{
	uint64_t old = diff->old->elapsed_ns, new = diff->new->elapsed_ns;
	uint64_t more = old > new ? old - new : new - old;

	if (diff->is_one_run)
		return more ? DIFF_RATE_BETWEEN : DIFF_RATE_NONE;
	return more > (old > new ? old : new) / DIFF_SAME_LENGTH ? DIFF_RATE_EACH
								 : DIFF_RATE_NONE;
}

double report_diff_old_rate(const struct report_diff *diff, uint64_t bytes)
{
	return per_minute(bytes, diff->old->elapsed_ns);
}

double report_diff_new_rate(const struct report_diff *diff, uint64_t bytes)
{
	return per_minute(bytes, diff->new->elapsed_ns);
}

double report_diff_rate(const struct report_diff *diff, int64_t bytes)
{
	double rate = per_minute(magnitude(bytes),
				 diff->new->elapsed_ns - diff->old->elapsed_ns);

	return bytes < 0 ? -rate : rate;
}

struct error *report_diff_create(const struct report *old, const struct report *new,
				 const struct report_options *options,
				 struct report_diff **ret)
{
	_cleanup_(report_diff_destroyp) struct report_diff *diff =
		calloc(1, sizeof(*diff));
	struct builder b = {.diff = diff};
	struct error *err;

	if (!diff || !(diff->arena = report_arena_create()))
		return error_no_memory();
	diff->old = old;
	diff->new = new;
	diff->options = *options;
	diff->is_one_run = is_one_run(old->snapshot, new->snapshot);
	b.by_process =
		old->snapshot->processes.len > 1 || new->snapshot->processes.len > 1;
	err = ids_init(&b.of_old, old);
	if (!err)
		err = ids_init(&b.of_new, new);
	if (!err)
		err = diff_modules_match(old, new, &diff->modules);
	/* The new report first, because its frames are shown. */
	if (!err)
		err = gather(&b, new, &b.of_new, true);
	if (!err)
		err = gather(&b, old, &b.of_old, false);
	if (!err)
		err = make_sections(&b);
	builder_deinit(&b);
	if (!err)
		*ret = take(diff);
	return err;
}

void report_diff_destroy(struct report_diff *diff)
{
	if (!diff)
		return;
	report_arena_destroy(diff->arena);
	diff_modules_deinit(&diff->modules);
	free(diff);
}
