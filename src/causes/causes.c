// SPDX-License-Identifier: Apache-2.0
#include "causes/causes.h"

#include <stdlib.h>
#include <string.h>

#include "causes/book.h"
#include "util/cleanup.h"
#include "util/saturate.h"

/* A call path, and the number of its cause. */
struct path {
	struct cause_part part;
	uint32_t cause; /* a number of known->keys, then of book->keys; CAUSES_NONE: not
			   found yet */
};

struct finder {
	const struct report *report;
	const struct report_section *section;
	struct causes *ret;
	struct cause_book *book;        /* becomes ret->book */
	const struct cause_book *known; /* NULL: none */
	VEC(struct path) paths;
};

/* --- the call paths ----------------------------------------------------------------- */

static bool add_rows(struct finder *f, struct hashmap *suspects)
{
	for (size_t i = 0; i < f->section->row_count; i++) {
		const struct report_row *row = &f->section->rows[i];
		struct path path = {.part = {.row = row}, .cause = CAUSES_NONE};
		uint64_t at;

		if (!row->sum.count)
			continue;
		if (suspects->len && hashmap_get(suspects, row->stack, &at) &&
		    at < f->section->suspect_count) {
			path.part.slope_bytes_per_s =
				f->section->suspects[at].slope_bytes_per_s;
			/* It has its path. */
			if (!hashmap_put(suspects, row->stack, SIZE_MAX))
				return false;
		}
		if (!vec_push(&f->paths, path))
			return false;
	}
	return true;
}

/* Collect the rows, and the suspects among them or beside them. */
static bool collect_paths(struct finder *f)
{
	struct hashmap suspects;
	bool ok = true;

	hashmap_init(&suspects, hashmap_seed());
	for (size_t i = 0; ok && i < f->section->suspect_count; i++)
		ok = hashmap_put(&suspects, f->section->suspects[i].row->stack, i);
	ok = ok && add_rows(f, &suspects);
	for (size_t i = 0; ok && i < f->section->suspect_count; i++) {
		const struct report_suspect *suspect = &f->section->suspects[i];
		const struct path path = {
			.part = {suspect->row, suspect->slope_bytes_per_s, 0},
			.cause = CAUSES_NONE};
		uint64_t at = SIZE_MAX;

		hashmap_get(&suspects, suspect->row->stack, &at);
		ok = at != i || vec_push(&f->paths, path);
	}
	hashmap_deinit(&suspects);
	return ok;
}

/* --- what is known ------------------------------------------------------------------ */

/* Take the functions of all frames, and the causes of the call paths whose frames are the
 * same. */
static void take_known(struct finder *f)
{
	const struct cause_book *known = f->known;

	if (!known)
		return;
	memcpy(f->book->functions, known->functions,
	       known->frame_count * sizeof(*known->functions));
	memcpy(f->book->origins, known->origins,
	       known->frame_count * sizeof(*known->origins));
	vec_foreach (path, &f->paths) {
		const struct report_row *row = path->part.row;
		const struct cause_place *place =
			row->stack < known->places.len ? &known->places.data[row->stack]
						       : NULL;

		if (!place || !place->frames || place->frames != row->frames)
			continue;
		path->cause = place->cause;
		path->part.named_by = place->named_by;
	}
}

/* Number the functions of the other call paths. */
static bool find_functions(struct finder *f)
{
	_cleanup_(freep) const char **executables =
		calloc(f->book->frame_count + 1, sizeof(*executables));
	VEC(const struct report_frame *) fresh = {0};
	bool ok = executables;

	vec_foreach (path, &f->paths) {
		const struct report_row *row = path->part.row;

		if (path->cause != CAUSES_NONE)
			continue;
		for (size_t i = 0; ok && i < row->depth; i++) {
			uint32_t *function = &f->book->functions[row->frames[i]->index];

			if (row->frames_of)
				executables[row->frames[i]->index] =
					row->frames_of->executable;
			if (*function != CAUSES_NONE)
				continue;
			/* Each frame once. */
			*function = 0;
			ok = vec_push(&fresh, row->frames[i]);
		}
	}
	ok = ok &&
	     cause_book_judge(f->book, f->known, fresh.data, fresh.len, executables);
	f->book->sorted.data = fresh.data;
	f->book->sorted.len = fresh.len;
	f->book->sorted.cap = fresh.cap;
	return ok;
}

/* --- grouping ----------------------------------------------------------------------- */

static enum code_kind kind_of(const struct finder *f, const struct report_row *row,
			      size_t frame)
{
	return f->book->origins[row->frames[frame]->index].kind;
}

/* The kind of code that decides which cause a path belongs to. */
static enum code_kind find_kind(const struct finder *f, const struct report_row *row)
{
	static const unsigned char ranks[] = {[CODE_OWN] = 0,
					      [CODE_LIBRARY] = 1,
					      [CODE_RUNTIME] = 2,
					      [CODE_UNKNOWN] = 3,
					      [CODE_ALLOCATOR] = 4};
	enum code_kind ret = CODE_ALLOCATOR;

	for (size_t i = 0; i < row->depth; i++) {
		enum code_kind kind = kind_of(f, row, i);

		if (!row->frames[i]->is_gap && ranks[kind] < ranks[ret])
			ret = kind;
	}
	return ret;
}

/* Append the functions that decide to book->steps, and find the naming frame. */
static bool make_steps(struct finder *f, struct path *path)
{
	const struct report_row *row = path->part.row;
	enum code_kind kind = find_kind(f, row);
	size_t first_step = f->book->steps.len;

	path->part.named_by = row->depth;
	for (size_t i = 0; i < row->depth; i++) {
		uint32_t function = f->book->functions[row->frames[i]->index];
		bool is_first = f->book->steps.len == first_step;

		if (kind_of(f, row, i) != kind || row->frames[i]->is_gap)
			continue;
		/* The outermost allocation function is what the user called. */
		if (is_first || kind == CODE_ALLOCATOR)
			path->part.named_by = i;
		if (!is_first && f->book->steps.data[f->book->steps.len - 1] == function)
			continue;
		if (!vec_push(&f->book->steps, function))
			return false;
	}
	return true;
}

static bool find_cause(struct finder *f, struct path *path)
{
	struct cause_book *book = f->book;
	/* No frames: for want of space in a table, or for another reason. */
	bool has_no_stack = path->part.row->stack == SNAPSHOT_NO_STACK;
	size_t first_step = book->steps.len;
	uint32_t known_count = f->known ? (uint32_t)f->known->keys.len : 0;
	struct cause_steps steps;

	if (!make_steps(f, path))
		return false;
	steps = cause_book_steps(book, first_step, book->steps.len - first_step);
	if (f->known)
		path->cause = cause_book_find(f->known, &steps, has_no_stack);
	if (path->cause == CAUSES_NONE) {
		path->cause = cause_book_find(book, &steps, has_no_stack);
		if (path->cause == CAUSES_NONE) {
			path->cause = (uint32_t)book->keys.len + known_count;
			return cause_book_add(book, first_step, has_no_stack);
		}
		path->cause += known_count;
	}
	book->steps.len = first_step;
	return true;
}

/* Keep what was found for the next report. */
static bool keep_places(struct finder *f)
{
	size_t stacks = 0;

	vec_foreach (path, &f->paths)
		if (path->part.row->stack != SNAPSHOT_NO_STACK &&
		    path->part.row->stack >= stacks)
			stacks = (size_t)path->part.row->stack + 1;
	if (!vec_reserve(&f->book->places, stacks + 1))
		return false;
	f->book->places.len = stacks;
	memset(f->book->places.data, 0, stacks * sizeof(*f->book->places.data));
	vec_foreach (path, &f->paths) {
		const struct report_row *row = path->part.row;

		if (row->stack < stacks)
			f->book->places.data[row->stack] = (struct cause_place){
				row->frames, path->cause, (uint32_t)path->part.named_by};
	}
	return true;
}

/* --- causes ------------------------------------------------------------------------- */

static int compare_parts(const void *pa, const void *pb)
{
	const struct cause_part *a = pa, *b = pb;
	const struct report_row *x = a->row, *y = b->row;

	if (a->slope_bytes_per_s != b->slope_bytes_per_s)
		return a->slope_bytes_per_s > b->slope_bytes_per_s ? -1 : 1;
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

/* Put the parts of each cause together. firsts[i]: the number of parts of the causes
 * before cause i. */
static void place_parts(struct finder *f, size_t firsts[], size_t count)
{
	size_t sum = 0;

	vec_foreach (path, &f->paths)
		firsts[path->cause]++;
	for (size_t i = 0; i <= count; i++) {
		size_t of_this = i < count ? firsts[i] : 0;

		firsts[i] = sum;
		sum += of_this;
	}
	vec_foreach (path, &f->paths)
		f->ret->parts[firsts[path->cause]++] = path->part;
	/* Each has moved to the first part of the next cause. */
	for (size_t i = count; i > 0; i--)
		firsts[i] = firsts[i - 1];
	firsts[0] = 0;
}

static bool make_causes(struct finder *f)
{
	struct causes *ret = f->ret;
	size_t count = f->book->keys.len + (f->known ? f->known->keys.len : 0);
	_cleanup_(freep) size_t *firsts = calloc(count + 1, sizeof(*firsts));

	if (!firsts)
		return false;
	place_parts(f, firsts, count);
	for (size_t i = 0; i < count; i++) {
		struct cause_part *parts = &ret->parts[firsts[i]];
		size_t part_count = firsts[i + 1] - firsts[i];
		struct cause *cause = &ret->list[ret->count];

		if (!part_count)
			continue;
		if (part_count > 1)
			qsort(parts, part_count, sizeof(*parts), compare_parts);
		*cause = (struct cause){.parts = parts};
		for (size_t k = 0; k < part_count; k++)
			add_part(cause, &parts[k]);
		ret->count++;
	}
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), compare_causes);
	while (ret->suspect_count < ret->count &&
	       ret->list[ret->suspect_count].slope_bytes_per_s > 0)
		ret->suspect_count++;
	return true;
}

/* --- all of it ---------------------------------------------------------------------- */

static bool find(struct finder *f)
{
	struct causes *ret = f->ret;

	f->book = ret->book = calloc(1, sizeof(*ret->book));
	if (!f->book || !cause_book_init(f->book, f->report->frame_count) ||
	    !collect_paths(f))
		return false;
	ret->origins = f->book->origins;
	/* One more of each, because calloc(0) may return NULL. */
	ret->parts = calloc(f->paths.len + 1, sizeof(*ret->parts));
	ret->list = calloc(f->paths.len + 1, sizeof(*ret->list));
	if (!ret->parts || !ret->list)
		return false;
	take_known(f);
	if (!find_functions(f))
		return false;
	vec_foreach (path, &f->paths) {
		if (path->cause == CAUSES_NONE && !find_cause(f, path))
			return false;
	}
	return make_causes(f) && (f->known || keep_places(f));
}

struct error *causes_find(const struct report *report,
			  const struct report_section *section,
			  const struct causes *known, struct causes *ret)
{
	struct finder f = {.report = report,
			   .section = section,
			   .ret = ret,
			   .known = known ? known->book : NULL};
	bool ok;

	*ret = (struct causes){0};
	ok = find(&f);
	vec_deinit(&f.paths);
	return ok ? NULL : error_no_memory();
}

void causes_deinit(struct causes *causes)
{
	free(causes->list);
	free(causes->parts);
	if (causes->book)
		cause_book_deinit(causes->book);
	free(causes->book);
	*causes = (struct causes){0};
}
