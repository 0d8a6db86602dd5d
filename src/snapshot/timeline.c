// SPDX-License-Identifier: Apache-2.0
#include "snapshot/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "snapshot/sampling.h"
#include "util/cleanup.h"

/*
 * The least-squares line through the points so far. Means, and sums of products of
 * deviations from the means, are updated with each point. Sums of squares of the values
 * themselves would lose a small slope on a large base to rounding.
 */
struct line {
	uint32_t points; /* 0: it has not held anything yet */
	uint32_t grew, shrank;
	uint32_t stands; /* intervals since its last maximum */
	double most_bytes,
		fall_bytes; /* maximum; largest fall below an earlier maximum */
	double first_s;     /* time of the first point, seconds since start_ns */
	double first_bytes, last_bytes;
	double mean_s, mean_bytes;
	double ss, sb, bb; /* sums of products of deviations: time, both, bytes */
};

struct timeline {
	uint64_t start_ns;                         /* of the first snapshot */
	VEC(struct line) lines[BLOCK_CLASS_COUNT]; /* by stack */
	VEC(struct snapshot_moment) moments;
};

struct timeline *timeline_create(void)
{
	return calloc(1, sizeof(struct timeline));
}

void timeline_destroy(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < BLOCK_CLASS_COUNT; i++)
		vec_deinit(&timeline->lines[i]);
	vec_deinit(&timeline->moments);
	free(timeline);
}

static uint64_t rounded(double estimate)
{
	return estimate < 18e18 ? (uint64_t)(estimate + 0.5) : UINT64_MAX;
}

/* --- trends ----------------------------------------------------------------------- */

static void line_add(struct line *line, double time_s, double bytes)
{
	if (!line->points) {
		line->first_s = time_s;
		line->first_bytes = bytes;
	} else if (bytes > line->last_bytes) {
		line->grew++;
	} else if (bytes < line->last_bytes) {
		line->shrank++;
	}
	line->stands = line->points && bytes <= line->most_bytes ? line->stands + 1 : 0;
	if (bytes > line->most_bytes)
		line->most_bytes = bytes;
	if (line->most_bytes - bytes > line->fall_bytes)
		line->fall_bytes = line->most_bytes - bytes;
	line->last_bytes = bytes;
	line->points++;

	double since_s = time_s - line->first_s, n = line->points;
	double off_s = since_s - line->mean_s, off_bytes = bytes - line->mean_bytes;

	line->mean_s += off_s / n;
	line->mean_bytes += off_bytes / n;
	line->ss += off_s * (since_s - line->mean_s);
	line->sb += off_s * (bytes - line->mean_bytes);
	line->bb += off_bytes * (bytes - line->mean_bytes);
}

static struct snapshot_trend line_trend(const struct line *line)
{
	struct snapshot_trend trend = {
		.intervals = line->points ? line->points - 1 : 0,
		.grew = line->grew,
		.shrank = line->shrank,
		.stands = line->stands,
		.fall_bytes = rounded(line->fall_bytes),
	};

	if (line->last_bytes > line->first_bytes)
		trend.rise_bytes = rounded(line->last_bytes - line->first_bytes);
	if (line->ss <= 0)
		return trend;
	trend.slope_bytes_per_s = line->sb / line->ss;
	/* Constant bytes fit their line exactly. */
	trend.determination =
		line->bb > 0 ? line->sb * line->sb / (line->ss * line->bb) : 1;
	if (trend.determination > 1)
		trend.determination = 1;
	return trend;
}

/* The live bytes of each stack; estimated if sampled. */
static double *sum_stacks(const struct snapshot *snap, enum block_class class,
			  const struct sampling_weights *weights)
{
	double *bytes = calloc(snap->stacks.len + 1, sizeof(*bytes));

	if (!bytes)
		return NULL;
	vec_foreach (block, &snap->blocks[class]) {
		double weight = block_class_is_sampled(class)
					? sampling_weight(weights, block->size_bytes)
					: 1;

		uint32_t stack = snapshot_stack_index(snap, block->stack);

		if (stack != SNAPSHOT_NO_STACK)
			bytes[stack] += weight * (double)block->size_bytes;
	}
	return bytes;
}

/* Room for the lines of all stacks of the snapshot. */
static bool reserve_lines(struct timeline *timeline, enum block_class class, size_t count)
{
	size_t known = timeline->lines[class].len;

	if (!vec_reserve(&timeline->lines[class], count))
		return false;
	if (count > known) {
		memset(timeline->lines[class].data + known, 0,
		       (count - known) * sizeof(struct line));
		timeline->lines[class].len = count;
	}
	return true;
}

/* `keeps`: the timeline does. Otherwise only the snapshot gets the trends. */
static struct error *add_trends(struct timeline *timeline, struct snapshot *snap,
				enum block_class class,
				const struct sampling_weights *weights, double time_s,
				bool keeps)
{
	_cleanup_(freep) double *bytes = sum_stacks(snap, class, weights);
	size_t count = snap->stacks.len;

	if (!bytes || !reserve_lines(timeline, class, count) ||
	    !vec_reserve(&snap->trends[class], count))
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct line *kept = &timeline->lines[class].data[i], line = *kept;

		if (line.points || bytes[i] > 0)
			line_add(&line, time_s, bytes[i]);
		snap->trends[class].data[i] = line_trend(&line);
		if (keeps)
			*kept = line;
	}
	snap->trends[class].len = count;
	return NULL;
}

/* --- moments ---------------------------------------------------------------------- */

static void count_totals(const struct snapshot *snap, struct snapshot_moment *m)
{
	const struct snapshot_totals *t =
		sampling_is_by_size(&snap->sampling) ? &snap->estimated
		: snap->heap_untraced                ? &snap->totals[BLOCK_KERNEL]
						     : &snap->totals[BLOCK_HEAP];
	double times = (double)sampling_factor(&snap->sampling);

	m->allocations = rounded(times * (double)t->allocations);
	m->allocated_bytes = rounded(times * (double)t->allocated_bytes);
	m->frees = rounded(times * (double)t->frees);
}

static struct snapshot_moment moment_of(const struct snapshot *snap,
					const struct sampling_weights *weights)
{
	struct snapshot_moment m = {.time_ns = snap->time_ns};

	for (size_t class = 0; class < BLOCK_CLASS_COUNT; class ++) {
		double bytes = 0, blocks = 0;

		vec_foreach (block, &snap->blocks[class]) {
			double weight =
				block_class_is_sampled(class)
					? sampling_weight(weights, block->size_bytes)
					: 1;

			bytes += weight * (double)block->size_bytes;
			blocks += weight;
		}
		m.live_bytes[class] = rounded(bytes);
		m.live_blocks[class] = rounded(blocks);
	}
	count_totals(snap, &m);
	vec_foreach (process, &snap->processes)
		if (!process->exited)
			m.vm_rss_bytes += process->memory.vm_rss_bytes;
	return m;
}

/* Drop every other moment of the older half. */
static void thin(struct timeline *timeline)
{
	struct snapshot_moment *list = timeline->moments.data;
	size_t half = timeline->moments.len / 2, kept = 0;

	for (size_t i = 0; i < timeline->moments.len; i++)
		if (i >= half || i % 2 == 0)
			list[kept++] = list[i];
	timeline->moments.len = kept;
}

static struct error *add_moment(struct timeline *timeline, struct snapshot *snap,
				const struct sampling_weights *weights, bool keeps)
{
	const struct snapshot_moment moment = moment_of(snap, weights);
	size_t count = timeline->moments.len;

	if (!vec_reserve(&snap->moments, count + 1))
		return error_no_memory();
	if (keeps) {
		if (count >= TIMELINE_MOMENTS)
			thin(timeline);
		count = timeline->moments.len;
		if (!vec_push(&timeline->moments, moment))
			return error_no_memory();
	}
	if (count)
		memcpy(snap->moments.data, timeline->moments.data,
		       count * sizeof(*snap->moments.data));
	snap->moments.data[count] = moment;
	snap->moments.len = count + 1;
	return NULL;
}

static struct error *add(struct timeline *timeline, struct snapshot *snap, bool keeps)
{
	uint64_t start_ns = timeline->moments.len ? timeline->start_ns : snap->time_ns;
	double time_s =
		snap->time_ns > start_ns ? (double)(snap->time_ns - start_ns) / 1e9 : 0;
	struct sampling_weights weights;
	struct error *err;

	if (keeps)
		timeline->start_ns = start_ns;
	sampling_weights_init(&snap->sampling, &weights);
	err = add_moment(timeline, snap, &weights, keeps);
	for (size_t i = 0; !err && i < BLOCK_CLASS_COUNT; i++)
		err = add_trends(timeline, snap, (enum block_class)i, &weights, time_s,
				 keeps);
	if (!err)
		snap->has_trends = true;
	return err;
}

struct error *timeline_add(struct timeline *timeline, struct snapshot *snap)
{
	return add(timeline, snap, true);
}

struct error *timeline_show(struct timeline *timeline, struct snapshot *snap)
{
	return add(timeline, snap, false);
}
