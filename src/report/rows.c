// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <time.h>

#include "report/build.h"
#include "report/processes.h"
#include "util/saturate.h"

/* One call path, with its sort key. */
struct rank {
	struct sort_key key;
	uint32_t stack; /* index, or SNAPSHOT_NO_STACK */
};

/* A call path that seems to leak. */
struct suspicion {
	double strength;
	uint32_t stack;
	bool is_lost; /* some of its blocks are unreachable */
};

/* The call paths of one section. */
struct ranking {
	struct builder *b;
	struct report_section *section;
	VEC(struct rank) ranks;
	VEC(struct suspicion) suspicions;
	VEC(uint32_t) gone; /* stacks */
	struct timespec begun;
	bool has_said;
};

/* The clock is read once for this many stacks. */
#define STACKS_A_LOOK 256

static void say_progress(struct ranking *r, size_t done)
{
	const struct report_progress *progress = &r->b->options->progress;
	struct timespec now;

	if (!progress->say || r->has_said || done % STACKS_A_LOOK)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - r->begun.tv_sec < 2)
		return;
	progress->say(progress->arg, "naming all frames, for the filter");
	r->has_said = true;
}

static int compare_ranks(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->key.first != b->key.first)
		return a->key.first > b->key.first ? -1 : 1;
	if (a->key.second != b->key.second)
		return a->key.second > b->key.second ? -1 : 1;
	if (a->key.third != b->key.third)
		return a->key.third > b->key.third ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int compare_suspicions(const void *pa, const void *pb)
{
	const struct suspicion *a = pa, *b = pb;

	/* Growth makes it likely, being unreachable proves it. */
	if (a->is_lost != b->is_lost)
		return a->is_lost ? -1 : 1;
	if (a->strength != b->strength)
		return a->strength > b->strength ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static void add_sum(struct report_sum *to, const struct report_sum *sum)
{
	to->size_bytes = saturate_add(to->size_bytes, sum->size_bytes);
	to->count = saturate_add(to->count, sum->count);
	to->estimated_bytes = saturate_add(to->estimated_bytes, sum->estimated_bytes);
	to->estimated_count = saturate_add(to->estimated_count, sum->estimated_count);
}

static void leave_out(struct report_left_out *left_out, const struct report_row *row)
{
	/* Blocks that are too young to be listed may be lost. */
	left_out->lost_bytes += report_row_lost_bytes(row);
	if (!row->sum.count)
		return;
	left_out->stack_count++;
	add_sum(&left_out->sum, &row->sum);
}

static bool is_too_small(const struct report_options *options,
			 const struct report_row *row)
{
	if (options->skip_by_traffic && row->traffic)
		return row->flow.allocated_bytes < options->skip_bytes ||
		       row->flow.allocations < options->skip_count;
	return row->sum.estimated_bytes < options->skip_bytes ||
	       row->sum.estimated_count < options->skip_count;
}

static struct error *rank(struct ranking *r, uint32_t stack)
{
	const struct report *report = r->b->report;
	struct report_section *section = r->section;
	enum filter_verdict verdict;
	struct suspicion suspicion = {.stack = stack};
	struct report_row row;
	bool is_listed, is_gone;
	struct error *err;

	report_row_init(r->b, section, stack, &row);
	is_listed =
		row.sum.count || (r->b->options->past &&
				  (row.flow.allocations || report_row_has_verdict(&row)));
	is_gone = r->b->options->gone && !row.sum.count && row.growth_count < 0;
	if (!is_listed && !is_gone)
		return NULL;
	err = report_judge(r->b, stack, &verdict);
	if (err)
		return err;
	if (verdict != FILTER_SHOWN) {
		leave_out(verdict == FILTER_SUPPRESSED ? &section->suppressed
						       : &section->filtered,
			  &row);
		return NULL;
	}
	if (is_gone && !vec_push(&r->gone, stack))
		return error_no_memory();
	if (!is_listed)
		return NULL;
	suspicion.strength = report_suspicion(report, &row);
	suspicion.is_lost = report_row_lost_bytes(&row) > 0;
	if (suspicion.strength > 0 && !vec_push(&r->suspicions, suspicion))
		return error_no_memory();
	if (is_too_small(r->b->options, &row)) {
		leave_out(&section->skipped, &row);
		return NULL;
	}
	section->held_count += row.sum.count > 0;
	add_sum(&section->ranked, &row.sum);

	const struct rank rank = {report_sort_key(report->sort, &row), stack};

	return vec_push(&r->ranks, rank) ? NULL : error_no_memory();
}

static struct error *rank_all(struct ranking *r)
{
	size_t stacks = r->b->snap->stacks.len;
	struct error *err;

	clock_gettime(CLOCK_MONOTONIC, &r->begun);
	err = rank(r, SNAPSHOT_NO_STACK);
	for (size_t i = 0; !err && i < stacks; i++) {
		err = rank(r, (uint32_t)i);
		say_progress(r, i);
	}
	if (r->ranks.len)
		qsort(r->ranks.data, r->ranks.len, sizeof(*r->ranks.data), compare_ranks);
	if (r->suspicions.len)
		qsort(r->suspicions.data, r->suspicions.len, sizeof(*r->suspicions.data),
		      compare_suspicions);
	r->section->stack_count = r->ranks.len;
	return err;
}

static size_t cut(const struct ranking *r, size_t count)
{
	uint64_t top = r->b->options->top;

	return top && top < count ? (size_t)top : count;
}

static struct error *build_rows(struct ranking *r)
{
	struct report_section *section = r->section;
	size_t shown = cut(r, r->ranks.len), held = 0;
	struct error *err = NULL;

	section->rows = report_arena_alloc(r->b->arena, shown, sizeof(*section->rows));
	if (!section->rows)
		return error_no_memory();
	for (; !err && section->row_count < shown; section->row_count++) {
		struct report_row *row = &section->rows[section->row_count];

		report_row_init(r->b, section, r->ranks.data[section->row_count].stack,
				row);
		row->rank = section->row_count;
		row->held_rank = row->sum.count ? held++ : 0;
		err = frame_namer_fill(&r->b->namer, row);
	}
	return err;
}

static struct error *build_suspects(struct ranking *r)
{
	struct report_section *section = r->section;
	size_t shown = cut(r, r->suspicions.len);
	struct report_suspect *suspects =
		report_arena_alloc(r->b->arena, shown, sizeof(*suspects));
	struct report_row *rows = report_arena_alloc(r->b->arena, shown, sizeof(*rows));
	struct error *err = NULL;

	if (!suspects || !rows)
		return error_no_memory();
	for (size_t i = 0; !err && i < shown; i++) {
		const struct suspicion *suspicion = &r->suspicions.data[i];

		report_row_init(r->b, section, suspicion->stack, &rows[i]);
		suspects[i] = (struct report_suspect){&rows[i],
						      rows[i].trend->slope_bytes_per_s};
		err = frame_namer_fill(&r->b->namer, &rows[i]);
	}
	if (!err)
		err = report_holders_build(r->b, section, rows, shown);
	section->suspects = suspects;
	section->suspect_count = shown;
	section->suspect_total = r->suspicions.len;
	return err;
}

static struct error *build_gone(struct ranking *r)
{
	size_t count = r->gone.len;
	struct report_row *rows = report_arena_alloc(r->b->arena, count, sizeof(*rows));
	struct error *err = NULL;

	if (!rows)
		return error_no_memory();
	for (size_t i = 0; !err && i < count; i++) {
		report_row_init(r->b, r->section, r->gone.data[i], &rows[i]);
		err = frame_namer_fill(&r->b->namer, &rows[i]);
	}
	r->section->gone = rows;
	r->section->gone_count = count;
	return err;
}

struct error *report_rows_build(struct builder *b, struct report_section *section)
{
	struct ranking r = {.b = b, .section = section};
	struct error *err = rank_all(&r);

	if (!err)
		err = build_rows(&r);
	if (!err)
		err = build_suspects(&r);
	if (!err)
		err = build_gone(&r);
	if (!err && b->options->group_by_process)
		err = report_processes_group(b->snap, section);
	if (!err)
		err = report_blocks_build(b, section);
	if (!err && b->options->singles)
		err = report_singles_build(b, section);
	vec_deinit(&r.ranks);
	vec_deinit(&r.suspicions);
	vec_deinit(&r.gone);
	return err;
}
