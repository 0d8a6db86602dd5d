// SPDX-License-Identifier: Apache-2.0
#include "report/functions.h"

#include <string.h>

#include "util/saturate.h"

struct adder {
	struct functions *ret;
	group_path path;
	VEC(struct function) list; /* by number of the group */
	VEC(size_t)
	last_rows;   /* by number of the group: the last row with it, from 1
			on */
	size_t rows; /* rows added */
};

static void add_growth(int64_t *to, int64_t growth_bytes)
{
	if (__builtin_add_overflow(*to, growth_bytes, to))
		*to = growth_bytes < 0 ? INT64_MIN : INT64_MAX;
}

static void add_sum(struct function_sum *to, const struct report_row *row)
{
	to->size_bytes = saturate_add(to->size_bytes, row->sum.estimated_bytes);
	to->count = saturate_add(to->count, row->sum.estimated_count);
	add_growth(&to->growth_bytes, row->estimated_growth_bytes);
}

/* Make room for groups that are new. */
static bool extend(struct adder *a)
{
	while (a->list.len < a->ret->groups.list.len) {
		struct function function = {.group = (uint32_t)a->list.len};

		if (!vec_push(&a->last_rows, 0) || !vec_push(&a->list, function))
			return false;
	}
	return true;
}

/* Each thread has a part of the row. */
static bool add_threads(struct adder *a, const struct report_row *row)
{
	for (size_t i = 0; i < row->thread_count; i++) {
		const struct report_share *share = &row->threads[i];
		struct function *function;
		uint32_t group;

		if (!groups_thread(&a->ret->groups, row, share->tid, &group) ||
		    !extend(a))
			return false;
		function = &a->list.data[group];
		function->flat.size_bytes =
			saturate_add(function->flat.size_bytes, share->size_bytes);
		function->flat.count = saturate_add(function->flat.count, share->count);
		function->cumulative = function->flat;
	}
	return true;
}

static bool add_row(struct adder *a, const struct report_row *row)
{
	if (a->ret->groups.by == REPORT_GROUP_THREAD)
		return add_threads(a, row);
	if (!groups_path(&a->ret->groups, row, false, &a->path) || !extend(a))
		return false;
	a->rows++;
	add_sum(&a->list.data[a->path.data[0]].flat, row);
	vec_foreach (group, &a->path) {
		/* Recursion: count it once. */
		if (a->last_rows.data[*group] == a->rows)
			continue;
		a->last_rows.data[*group] = a->rows;
		add_sum(&a->list.data[*group].cumulative, row);
	}
	return true;
}

/* Rows of the history hold nothing; those that did are in `gone`. */
static bool add_rows(struct adder *a, const struct report_section *section)
{
	for (size_t i = 0; i < section->row_count; i++) {
		if (section->rows[i].sum.count && !add_row(a, &section->rows[i]))
			return false;
	}
	for (size_t i = 0; i < section->gone_count; i++) {
		if (!add_row(a, &section->gone[i]))
			return false;
	}
	return true;
}

#define COMPARE(a, b)                                                                    \
	do {                                                                             \
		if ((a) != (b))                                                          \
			return (a) > (b) ? -1 : 1;                                       \
	} while (0)

/* `arg` is an enum report_sort. */
static int compare_functions(const void *pa, const void *pb, void *arg)
{
	const struct function *a = pa, *b = pb;
	enum report_sort sort = *(const enum report_sort *)arg;

	if (sort == REPORT_SORT_CUMULATIVE)
		COMPARE(a->cumulative.size_bytes, b->cumulative.size_bytes);
	if (sort == REPORT_SORT_COUNT)
		COMPARE(a->flat.count, b->flat.count);
	if (sort == REPORT_SORT_GROWTH) {
		COMPARE(a->flat.growth_bytes, b->flat.growth_bytes);
		COMPARE(a->cumulative.growth_bytes, b->cumulative.growth_bytes);
	}
	COMPARE(a->flat.size_bytes, b->flat.size_bytes);
	COMPARE(a->cumulative.size_bytes, b->cumulative.size_bytes);
	COMPARE(a->group, b->group);
	return 0;
}

struct error *functions_find(const struct report *report,
			     const struct report_section *section, enum report_group by,
			     struct functions *ret)
{
	struct adder a = {.ret = ret};
	enum report_sort sort = report->sort;
	bool ok;

	*ret = (struct functions){.list = NULL};
	ok = groups_init(&ret->groups, report, by) && add_rows(&a, section);
	if (a.list.len)
		qsort_r(a.list.data, a.list.len, sizeof(*a.list.data), compare_functions,
			&sort);
	vec_deinit(&a.last_rows);
	vec_deinit(&a.path);
	ret->list = a.list.data;
	ret->count = a.list.len;
	return ok ? NULL : error_no_memory();
}

void functions_deinit(struct functions *functions)
{
	groups_deinit(&functions->groups);
	free(functions->list);
	functions->list = NULL;
	functions->count = 0;
}

bool functions_are_shown(const struct report *report)
{
	return report->options.view && !strcmp(report->options.view, "functions");
}

bool functions_have_growth(enum report_group by)
{
	return by != REPORT_GROUP_THREAD;
}
