// SPDX-License-Identifier: Apache-2.0
#include "causes/causes.h"

#include <string.h>

#include "util/saturate.h"
#include "util/vec.h"

/* A call path, and the functions that decide which cause it belongs to. */
struct path {
	struct cause_part part;
	size_t first_step, step_count; /* in finder.steps, innermost first */
};

struct finder {
	const struct report_section *section;
	struct causes *ret;
	VEC(struct path) paths;
	VEC(uint32_t) steps; /* numbers of functions */
	/* By report_frame.index. */
	const struct report_frame **frames; /* NULL: no path has it */
	uint32_t *functions;                /* number of the frame's function */
	const char **executables;           /* of the frame's process, or NULL */
	size_t frame_count;
};

/* --- the call paths ----------------------------------------------------------------- */

static int compare_stacks(const void *pa, const void *pb)
{
	const struct path *a = pa, *b = pb;

	if (a->part.row->stack != b->part.row->stack)
		return a->part.row->stack < b->part.row->stack ? -1 : 1;
	/* The row of a suspect behind the row of the list, which knows more. */
	return (a->part.slope_bytes_per_s > 0) - (b->part.slope_bytes_per_s > 0);
}

/* Collect the rows, and the suspects among them or beside them. */
static bool collect_paths(struct finder *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->section->row_count; i++) {
		const struct path path = {.part = {.row = &f->section->rows[i]}};

		if (path.part.row->sum.count && !vec_push(&f->paths, path))
			return false;
	}
	for (size_t i = 0; i < f->section->suspect_count; i++) {
		const struct report_suspect *suspect = &f->section->suspects[i];
		const struct path path = {
			.part = {suspect->row, suspect->slope_bytes_per_s, 0}};

		if (!vec_push(&f->paths, path))
			return false;
	}
	if (f->paths.len)
		qsort(f->paths.data, f->paths.len, sizeof(*f->paths.data),
		      compare_stacks);
	vec_foreach (path, &f->paths) {
		struct path *last = kept ? &f->paths.data[kept - 1] : NULL;

		if (last && last->part.row->stack == path->part.row->stack)
			last->part.slope_bytes_per_s = path->part.slope_bytes_per_s;
		else
			f->paths.data[kept++] = *path;
	}
	f->paths.len = kept;
	return true;
}

/* --- functions ---------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
	/* Mostly equal texts of one snapshot have one address. */
	if (a == b)
		return 0;
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Order frames by function: by name and module; without a name by the place in the
 * module. */
static int compare_functions(const struct report_frame *a, const struct report_frame *b)
{
	int order = compare_texts(a->symbol, b->symbol);

	if (!order)
		order = compare_texts(a->module, b->module);
	if (!order && !a->symbol && a->offset != b->offset)
		order = a->offset < b->offset ? -1 : 1;
	if (!order && !a->symbol && !a->module && a->address != b->address)
		order = a->address < b->address ? -1 : 1;
	return order;
}

static int compare_frames(const void *pa, const void *pb)
{
	return compare_functions(*(const struct report_frame *const *)pa,
				 *(const struct report_frame *const *)pb);
}

static void find_frames(struct finder *f)
{
	vec_foreach (path, &f->paths) {
		const struct report_row *row = path->part.row;

		for (size_t i = 0; i < row->depth; i++) {
			f->frames[row->frames[i]->index] = row->frames[i];
			if (row->frames_of)
				f->executables[row->frames[i]->index] =
					row->frames_of->executable;
		}
	}
}

/* Does whose code it is depend on the same? Both are of one function. */
static bool is_judged_alike(const struct finder *f, const struct report_frame *a,
			    const struct report_frame *b)
{
	return a->is_gap == b->is_gap && !compare_texts(a->file, b->file) &&
	       !compare_texts(f->executables[a->index], f->executables[b->index]);
}

/* Number the functions, the same number for all frames of one, and find whose code the
 * frames are. */
static bool judge_frames(struct finder *f, const struct report_frame *const frames[],
			 size_t count)
{
	struct code_origin *origins = f->ret->origins;
	struct strbuf scratch = {0};
	uint32_t number = 0;
	bool ok;

	for (size_t i = 0; i < count; i++) {
		const struct report_frame *frame = frames[i];
		const struct report_frame *last = i ? frames[i - 1] : NULL;
		bool is_same = last && !compare_functions(last, frame);

		number += last && !is_same;
		f->functions[frame->index] = number;
		/* Judging takes longer than comparing. */
		if (is_same && is_judged_alike(f, last, frame))
			origins[frame->index] = origins[last->index];
		else
			origins[frame->index] = code_origin_of(
				frame, f->executables[frame->index], &scratch);
	}
	ok = !scratch.failed;
	strbuf_deinit(&scratch);
	return ok;
}

static bool find_functions(struct finder *f)
{
	VEC(const struct report_frame *) sorted = {0};
	bool ok = true;

	for (size_t i = 0; ok && i < f->frame_count; i++)
		ok = !f->frames[i] || vec_push(&sorted, f->frames[i]);
	if (ok && sorted.len) {
		qsort(sorted.data, sorted.len, sizeof(*sorted.data), compare_frames);
		ok = judge_frames(f, sorted.data, sorted.len);
	}
	vec_deinit(&sorted);
	return ok;
}

/* --- grouping ----------------------------------------------------------------------- */

static enum code_kind kind_of(const struct finder *f, const struct report_row *row,
			      size_t frame)
{
	return f->ret->origins[row->frames[frame]->index].kind;
}

/* The kind of code that decides which cause a path belongs to. */
static enum code_kind find_kind(const struct finder *f, const struct report_row *row)
{
	static const enum code_kind order[] = {CODE_OWN, CODE_LIBRARY, CODE_RUNTIME,
					       CODE_UNKNOWN};

	for (size_t k = 0; k < sizeof(order) / sizeof(*order); k++) {
		for (size_t i = 0; i < row->depth; i++) {
			if (kind_of(f, row, i) == order[k] && !row->frames[i]->is_gap)
				return order[k];
		}
	}
	return CODE_ALLOCATOR;
}

static bool make_steps(struct finder *f, struct path *path)
{
	const struct report_row *row = path->part.row;
	enum code_kind kind = find_kind(f, row);

	path->first_step = f->steps.len;
	path->part.named_by = row->depth;
	for (size_t i = 0; i < row->depth; i++) {
		uint32_t function = f->functions[row->frames[i]->index];
		bool is_first = f->steps.len == path->first_step;

		if (kind_of(f, row, i) != kind || row->frames[i]->is_gap)
			continue;
		/* The outermost allocation function is what the user called. */
		if (is_first || kind == CODE_ALLOCATOR)
			path->part.named_by = i;
		if (!is_first && f->steps.data[f->steps.len - 1] == function)
			continue;
		if (!vec_push(&f->steps, function))
			return false;
	}
	path->step_count = f->steps.len - path->first_step;
	return true;
}

static int compare_steps(const struct path *a, const struct path *b,
			 const uint32_t *steps)
{
	for (size_t i = 0; i < a->step_count && i < b->step_count; i++) {
		uint32_t x = steps[a->first_step + i], y = steps[b->first_step + i];

		if (x != y)
			return x < y ? -1 : 1;
	}
	if (a->step_count != b->step_count)
		return a->step_count < b->step_count ? -1 : 1;
	/* No frames: for want of space in a table, or for another reason. */
	return (a->part.row->stack == SNAPSHOT_NO_STACK) -
	       (b->part.row->stack == SNAPSHOT_NO_STACK);
}

/* `arg` is finder.steps.data. */
static int compare_paths(const void *pa, const void *pb, void *arg)
{
	const struct path *a = pa, *b = pb;
	const struct report_row *x = a->part.row, *y = b->part.row;
	int order = compare_steps(a, b, arg);

	if (order)
		return order;
	if (a->part.slope_bytes_per_s != b->part.slope_bytes_per_s)
		return a->part.slope_bytes_per_s > b->part.slope_bytes_per_s ? -1 : 1;
	if (x->sum.estimated_bytes != y->sum.estimated_bytes)
		return x->sum.estimated_bytes > y->sum.estimated_bytes ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void add_part(struct cause *cause, const struct cause_part *part)
{
	const struct report_row *row = part->row;

	cause->part_count++;
	cause->sum.size_bytes = saturate_add(cause->sum.size_bytes, row->sum.size_bytes);
	cause->sum.count = saturate_add(cause->sum.count, row->sum.count);
	cause->sum.estimated_bytes =
		saturate_add(cause->sum.estimated_bytes, row->sum.estimated_bytes);
	cause->sum.estimated_count =
		saturate_add(cause->sum.estimated_count, row->sum.estimated_count);
	if (__builtin_add_overflow(cause->estimated_growth_bytes,
				   row->estimated_growth_bytes,
				   &cause->estimated_growth_bytes))
		cause->estimated_growth_bytes =
			row->estimated_growth_bytes < 0 ? INT64_MIN : INT64_MAX;
	cause->slope_bytes_per_s += part->slope_bytes_per_s;
	cause->lost_bytes = saturate_add(cause->lost_bytes, report_row_lost_bytes(row));
	if (row->oldest_age_ns > cause->oldest_age_ns)
		cause->oldest_age_ns = row->oldest_age_ns;
}

static int compare_causes(const void *pa, const void *pb)
{
	const struct cause *a = pa, *b = pb;
	bool proved = a->slope_bytes_per_s > 0 && a->lost_bytes;

	if (proved != (b->slope_bytes_per_s > 0 && b->lost_bytes))
		return proved ? -1 : 1;
	if (a->slope_bytes_per_s != b->slope_bytes_per_s)
		return a->slope_bytes_per_s > b->slope_bytes_per_s ? -1 : 1;
	if (a->sum.estimated_bytes != b->sum.estimated_bytes)
		return a->sum.estimated_bytes > b->sum.estimated_bytes ? -1 : 1;
	return a->parts->row->stack < b->parts->row->stack ? -1 : 1;
}

/* Sorting has made the paths of one cause adjacent. */
static void make_causes(struct finder *f)
{
	struct causes *ret = f->ret;

	for (size_t i = 0; i < f->paths.len; i++) {
		const struct path *path = &f->paths.data[i];

		ret->parts[i] = path->part;
		if (!i || compare_steps(path - 1, path, f->steps.data) != 0)
			ret->list[ret->count++] = (struct cause){.parts = &ret->parts[i]};
		add_part(&ret->list[ret->count - 1], &path->part);
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), compare_causes);
	while (ret->suspect_count < ret->count &&
	       ret->list[ret->suspect_count].slope_bytes_per_s > 0)
		ret->suspect_count++;
}

/* --- all of it ---------------------------------------------------------------------- */

/* One more of each, because calloc(0) may return NULL. */
static bool allocate(struct finder *f)
{
	size_t frames = f->frame_count + 1, paths = f->paths.len + 1;
	struct causes *ret = f->ret;

	f->frames = calloc(frames, sizeof(*f->frames));
	f->functions = calloc(frames, sizeof(*f->functions));
	f->executables = calloc(frames, sizeof(*f->executables));
	ret->origins = calloc(frames, sizeof(*ret->origins));
	ret->parts = calloc(paths, sizeof(*ret->parts));
	ret->list = calloc(paths, sizeof(*ret->list));
	return f->frames && f->functions && f->executables && ret->origins &&
	       ret->parts && ret->list;
}

static bool find(struct finder *f)
{
	if (!collect_paths(f) || !allocate(f))
		return false;
	find_frames(f);
	if (!find_functions(f))
		return false;
	vec_foreach (path, &f->paths) {
		if (!make_steps(f, path))
			return false;
	}
	if (f->paths.len)
		qsort_r(f->paths.data, f->paths.len, sizeof(*f->paths.data),
			compare_paths, f->steps.data);
	make_causes(f);
	return true;
}

struct error *causes_find(const struct report *report,
			  const struct report_section *section, struct causes *ret)
{
	struct finder f = {
		.section = section, .ret = ret, .frame_count = report->frame_count};
	bool ok;

	*ret = (struct causes){0};
	ok = find(&f);
	vec_deinit(&f.paths);
	vec_deinit(&f.steps);
	free(f.frames);
	free(f.functions);
	free(f.executables);
	return ok ? NULL : error_no_memory();
}

void causes_deinit(struct causes *causes)
{
	free(causes->list);
	free(causes->origins);
	free(causes->parts);
	*causes = (struct causes){0};
}
