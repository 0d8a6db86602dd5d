// SPDX-License-Identifier: Apache-2.0
#include "screen/moment_known.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

/* --- names -------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool are_same_modules(const struct snapshot_process *a,
			     const struct snapshot_process *b)
{
	if (a->modules.len != b->modules.len)
		return false;
	for (size_t i = 0; i < a->modules.len; i++) {
		const struct snapshot_module *x = &a->modules.data[i];
		const struct snapshot_module *y = &b->modules.data[i];

		if (x->start != y->start || x->end != y->end ||
		    x->file_offset != y->file_offset || !is_same_text(x->path, y->path) ||
		    !is_same_text(x->build_id, y->build_id))
			return false;
	}
	return true;
}

static bool are_same_processes(const struct snapshot *a, const struct snapshot *b)
{
	if (a->processes.len != b->processes.len)
		return false;
	for (size_t i = 0; i < a->processes.len; i++) {
		const struct snapshot_process *x = &a->processes.data[i];
		const struct snapshot_process *y = &b->processes.data[i];

		if (x->pid != y->pid || x->exited != y->exited ||
		    !is_same_text(x->executable, y->executable) ||
		    !are_same_modules(x, y))
			return false;
	}
	return true;
}

/* Two snapshots, and how many of their first strings are equal. */
struct pair {
	const struct snapshot *a, *b;
	uint32_t equal;
};

static uint32_t count_equal(const struct string_table *a, const struct string_table *b)
{
	size_t texts = a->starts.len < b->starts.len ? a->starts.len : b->starts.len;
	size_t bytes = a->bytes.len < b->bytes.len ? a->bytes.len : b->bytes.len;

	/* Mostly one table is the other one, and new strings behind it. */
	if (!bytes || !memcmp(a->bytes.data, b->bytes.data, bytes))
		return (uint32_t)texts;
	for (size_t i = 0; i < texts; i++)
		if (strcmp(string_table_get(a, (uint32_t)i),
			   string_table_get(b, (uint32_t)i)))
			return (uint32_t)i;
	return (uint32_t)texts;
}

static bool is_same_string(const struct pair *pair, uint32_t a, uint32_t b)
{
	if (a == b && (a < pair->equal || a == STRING_NONE))
		return true;
	return is_same_text(string_table_get(&pair->a->strings, a),
			    string_table_get(&pair->b->strings, b));
}

static bool is_same_source(const struct pair *pair, const struct snapshot_source *a,
			   const struct snapshot_source *b)
{
	return a->line == b->line && a->column == b->column && a->inlined == b->inlined &&
	       is_same_string(pair, a->function, b->function) &&
	       is_same_string(pair, a->file, b->file);
}

static bool is_same_name(const struct pair *pair, const struct snapshot_name *a,
			 const struct snapshot_name *b)
{
	if (a->offset != b->offset || a->source_count != b->source_count ||
	    !is_same_string(pair, a->symbol, b->symbol) ||
	    !is_same_string(pair, a->module, b->module))
		return false;
	for (uint32_t i = 0; i < a->source_count; i++)
		if (!is_same_source(pair, &pair->a->sources.data[a->first_source + i],
				    &pair->b->sources.data[b->first_source + i]))
			return false;
	return true;
}

static int compare_places(const struct snapshot_name *a, const struct snapshot_name *b)
{
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static int compare_addresses(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Is none of the addresses in a frame of `snap`? A name of them would be a new one. */
static bool are_unused(const struct snapshot *snap, uint64_t *addresses, size_t count)
{
	if (!count)
		return true;
	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	vec_foreach (frame, &snap->frames)
		if (bsearch(frame, addresses, count, sizeof(*addresses),
			    compare_addresses))
			return false;
	return true;
}

/* Names may have been added for frames that `before` has not. Both are in order. */
static bool are_same_names(const struct snapshot *before, const struct snapshot *now)
{
	const struct pair pair = {before, now,
				  count_equal(&before->strings, &now->strings)};
	VEC(uint64_t) added = {0};
	size_t at = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < now->names.len; i++) {
		const struct snapshot_name *name = &now->names.data[i];
		const struct snapshot_name *old =
			at < before->names.len ? &before->names.data[at] : NULL;

		if (old && !compare_places(old, name)) {
			ok = is_same_name(&pair, old, name);
			at++;
		} else {
			/* If names are missing, this ends with at < before->names.len. */
			ok = vec_push(&added, name->address);
		}
	}
	ok = ok && at == before->names.len && are_unused(before, added.data, added.len);
	vec_deinit(&added);
	return ok;
}

bool known_is_valid(const struct moment *before, const struct moment *moment)
{
	const struct snapshot *a = before->file.snap, *b = moment->file.snap;

	return are_same_processes(a, b) && are_same_names(a, b);
}

/* --- stacks ------------------------------------------------------------------------- */

static bool is_same_stack(const struct snapshot *a, const struct snapshot *b, size_t i)
{
	const struct snapshot_stack *x = &a->stacks.data[i], *y = &b->stacks.data[i];

	return x->depth == y->depth && x->end == y->end && x->gap == y->gap &&
	       x->process == y->process &&
	       (!x->depth ||
		!memcmp(a->frames.data + x->first_frame, b->frames.data + y->first_frame,
			x->depth * sizeof(*a->frames.data)));
}

bool known_init(struct known *ret, const struct moment *before,
		const struct moment *moment)
{
	const struct snapshot *a = before->made.snap, *b = moment->made.snap;
	size_t count = a->stacks.len < b->stacks.len ? a->stacks.len : b->stacks.len;

	*ret = (struct known){
		.stacks = calloc(count + 1, sizeof(*ret->stacks)),
		.report = {.stack_count = count,
			   .frame_count = before->report->frame_count},
	};
	ret->report.stacks = ret->stacks;
	if (!ret->stacks)
		return false;
	for (size_t s = 0; s < before->section_count; s++) {
		vec_foreach (path, &before->sections[s].paths) {
			const struct report_row *row = path->row;

			if (row->stack < count && !ret->stacks[row->stack].depth &&
			    is_same_stack(a, b, row->stack))
				ret->stacks[row->stack] = (struct report_known_stack){
					row->frames, row->depth};
		}
	}
	return true;
}

void known_deinit(struct known *known)
{
	free(known->stacks);
}

const struct moment_path *known_path(const struct moment *base, size_t section,
				     const struct report_row *row)
{
	const struct moment_path *path;
	uint32_t at;

	if (!base || section >= base->section_count || !row->frames ||
	    row->stack >= base->made.snap->stacks.len)
		return NULL;
	at = base->sections[section].by_stack[row->stack];
	if (at == MOMENT_NO_PATH)
		return NULL;
	path = &base->sections[section].paths.data[at];
	return path->row->frames == row->frames ? path : NULL;
}

/* A report may make this share of what it has itself, and a few more, which take no time
 * worth saving. */
#define FRESH_SHARE  8
#define FRESH_PATHS  100
#define FRESH_FRAMES 1000

bool known_is_little(const struct known *known, const struct report *report,
		     size_t fresh_paths, size_t paths)
{
	size_t count = known->report.frame_count;

	return fresh_paths > paths / FRESH_SHARE + FRESH_PATHS ||
	       report->frame_count - count > count / FRESH_SHARE + FRESH_FRAMES;
}
