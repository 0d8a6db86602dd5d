// SPDX-License-Identifier: Apache-2.0
#include "render/paths.h"
#include "util/saturate.h"

/* Compare the steps of two paths. `arg` is paths.steps.data. */
static int compare(const void *pa, const void *pb, void *arg)
{
	const uint32_t *steps = arg;
	const struct path *a = pa, *b = pb;

	for (size_t i = 0; i < a->depth && i < b->depth; i++) {
		uint32_t x = steps[a->first + i], y = steps[b->first + i];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static bool push_steps(struct paths *paths, const struct report_row *row,
		       enum paths_order order)
{
	enum name_note note;
	bool has_note = names_end(row, &note);
	bool root_first = order == PATHS_ROOT_FIRST;

	if (has_note && root_first &&
	    !vec_push(&paths->steps, names_note(&paths->names, note)))
		return false;
	for (size_t i = 0; i < row->depth; i++) {
		const struct report_frame *frame =
			row->frames[root_first ? row->depth - 1 - i : i];

		if (!vec_push(&paths->steps, names_frame(&paths->names, frame)))
			return false;
	}
	return !has_note || root_first ||
	       vec_push(&paths->steps, names_note(&paths->names, note));
}

/* `part` is the share of the row that the path gets. */
static bool push_path(struct paths *paths, const struct report *report,
		      const struct report_section *section, const struct report_row *row,
		      enum paths_order order, const struct name_part *part)
{
	struct path path = {
		.first = paths->steps.len,
		.section = (size_t)(section - report->sections),
		.size_bytes = part->size_bytes,
		.count = part->count,
		.old_bytes = part->size_bytes,
		.new_bytes = part->size_bytes,
	};
	uint32_t class = names_note(&paths->names,
				    (enum name_note)(NOTE_CLASS + (int)section->class));

	if (row->estimated_growth_bytes > 0)
		path.old_bytes -= (uint64_t)row->estimated_growth_bytes;
	else
		path.new_bytes -= -(uint64_t)row->estimated_growth_bytes;
	if (report->snapshot->processes.len > 1 && !vec_push(&paths->steps, part->name))
		return false;
	if (report->section_count > 1 && !vec_push(&paths->steps, class))
		return false;
	if (!push_steps(paths, row, order))
		return false;
	path.depth = paths->steps.len - path.first;
	return vec_push(&paths->list, path);
}

static struct report_measure measure_lost(const struct report_row *row)
{
	struct snapshot_sum lost = report_row_lost(row);

	return (struct report_measure){lost.bytes, lost.count};
}

struct report_measure paths_measure(const struct report *report,
				    const struct report_row *row)
{
	switch (report->options.flame_of) {
	case REPORT_FLAME_PEAK:
		return (struct report_measure){row->at_peak_bytes, row->at_peak_count};
	case REPORT_FLAME_TRAFFIC:
		return (struct report_measure){row->flow.allocated_bytes,
					       row->flow.allocations};
	case REPORT_FLAME_LOST:
		return measure_lost(row);
	case REPORT_FLAME_COUNT:
		return (struct report_measure){row->sum.estimated_count,
					       row->sum.estimated_count};
	case REPORT_FLAME_LIVE:
		break;
	}
	return (struct report_measure){row->sum.estimated_bytes,
				       row->sum.estimated_count};
}

struct error *paths_check(const struct report *report)
{
	if (report->options.flame_of == REPORT_FLAME_PEAK &&
	    !(report->data & REPORT_DATA_AT_PEAK))
		return error_create(ERROR_UNSUPPORTED,
				    "--flame-of peak: what was live at the peak was not "
				    "counted (--peak)");
	if (report->options.flame_of == REPORT_FLAME_TRAFFIC &&
	    !(report->data & REPORT_DATA_TRAFFIC))
		return error_create(
			ERROR_UNSUPPORTED,
			"--flame-of traffic: the allocations of each call path "
			"were not counted (--traffic)");
	if (report->options.flame_of == REPORT_FLAME_LOST &&
	    !(report->data & REPORT_DATA_UNREACHABLE))
		return error_create(ERROR_UNSUPPORTED,
				    "--flame-of lost: nothing was searched for "
				    "unreachable blocks (--unreachable)");
	return NULL;
}

/* Are the measures of the blocks that are live? Otherwise it is not known how the
 * processes of a row share them. */
static bool is_of_live(const struct report *report)
{
	return report->options.flame_of == REPORT_FLAME_LIVE ||
	       report->options.flame_of == REPORT_FLAME_COUNT;
}

/* Push a path for each name of the row's processes. */
static struct error *push_row(struct paths *paths, const struct report *report,
			      const struct report_section *section,
			      const struct report_row *row, enum paths_order order,
			      name_parts *parts)
{
	struct error *err = names_split(&paths->names, row, parts);
	struct report_measure measure = paths_measure(report, row);
	bool is_shared = !is_of_live(report) && !row->process && row->frames_of;
	const struct name_part whole = {
		.name = is_shared ? names_note(&paths->names, NOTE_PROCESSES)
				  : names_process(&paths->names, row->process),
		.size_bytes = measure.size,
		.count = measure.count,
	};
	bool ok = true;

	if (err)
		return err;
	if (!parts->len || !is_of_live(report))
		return push_path(paths, report, section, row, order, &whole)
			       ? NULL
			       : error_no_memory();
	for (size_t i = 0; ok && i < parts->len; i++) {
		if (report->options.flame_of == REPORT_FLAME_COUNT)
			parts->data[i].size_bytes = parts->data[i].count;
		ok = push_path(paths, report, section, row, order, &parts->data[i]);
	}
	return ok ? NULL : error_no_memory();
}

static void merge(struct paths *paths)
{
	size_t kept = 0;

	vec_foreach (path, &paths->list) {
		struct path *last = kept ? &paths->list.data[kept - 1] : NULL;

		if (last && !compare(last, path, paths->steps.data)) {
			last->size_bytes =
				saturate_add(last->size_bytes, path->size_bytes);
			last->count = saturate_add(last->count, path->count);
			last->old_bytes = saturate_add(last->old_bytes, path->old_bytes);
			last->new_bytes = saturate_add(last->new_bytes, path->new_bytes);
		} else {
			paths->list.data[kept++] = *path;
		}
	}
	paths->list.len = kept;
}

struct error *paths_init(struct paths *ret, const struct report *report,
			 enum paths_order order)
{
	name_parts parts = {0};
	struct error *err;

	*ret = (struct paths){0};
	err = error_first(paths_check(report), names_init(&ret->names, report));
	if (err)
		return err;
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; !err && r < section->row_count; r++) {
			/* Rows that have nothing have no width. */
			if (paths_measure(report, &section->rows[r]).count)
				err = push_row(ret, report, section, &section->rows[r],
					       order, &parts);
		}
	}
	vec_deinit(&parts);
	if (err)
		return err;
	if (ret->list.len)
		qsort_r(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare,
			ret->steps.data);
	merge(ret);
	return NULL;
}

void paths_deinit(struct paths *paths)
{
	names_deinit(&paths->names);
	vec_deinit(&paths->steps);
	vec_deinit(&paths->list);
}

const struct name *paths_name(const struct paths *paths, const struct path *path,
			      size_t depth)
{
	return &paths->names.list.data[paths->steps.data[path->first + depth]];
}

size_t paths_common(const struct paths *paths, const struct path *a, const struct path *b)
{
	const uint32_t *steps = paths->steps.data;
	size_t i = 0;

	while (i < a->depth && i < b->depth && steps[a->first + i] == steps[b->first + i])
		i++;
	return i;
}
