// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "report/aggregate.h"
#include "report/build.h"
#include "report/histogram.h"
#include "report/holders.h"
#include "report/shares.h"
#include "util/cleanup.h"

#define FEW        32
#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)

/* The blocks of the shown rows, grouped by row. */
struct lists {
	const struct snapshot_block **blocks;
	uint64_t *ages_ns; /* scratch: ages of the blocks of one row */
	struct shares shares;
	struct holders holders;
};

static int compare_places(const void *pa, const void *pb)
{
	return block_compare(*(const struct snapshot_block *const *)pa,
			     *(const struct snapshot_block *const *)pb);
}

/* Insertion sort, because most call paths hold few blocks. */
static void sort_few(uint64_t *numbers, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t number = numbers[i];
		size_t at = i;

		for (; at && numbers[at - 1] > number; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = number;
	}
}

/* The number at index `place` in sorted order. If there are many numbers, it is
 * determined digit by digit (radix), so that the target cannot cause a slow case by their
 * order. */
static uint64_t select_place(uint64_t *numbers, size_t count, size_t place)
{
	uint64_t prefix = 0;

	if (count <= FEW) {
		sort_few(numbers, count);
		return numbers[place];
	}

	for (unsigned shift = 64; shift;) {
		size_t of_digit[DIGITS] = {0}, digit = 0;

		shift -= DIGIT_BITS;
		for (size_t i = 0; i < count; i++) {
			uint64_t head = numbers[i] >> shift;

			if (head >> DIGIT_BITS == prefix)
				of_digit[head % DIGITS]++;
		}
		for (; place >= of_digit[digit]; digit++)
			place -= of_digit[digit];
		prefix = prefix << DIGIT_BITS | digit;
	}
	return prefix;
}

static void fill_median(const struct snapshot *snap, struct lists *lists,
			const struct snapshot_block *const *blocks, size_t count,
			struct report_row *row)
{
	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		lists->ages_ns[i] = block_age_ns(snap, blocks[i]);
	row->median_age_ns = select_place(lists->ages_ns, count, count / 2);
}

static struct error *fill_threads(const struct builder *b,
				  const struct report_section *section,
				  struct lists *lists,
				  const struct snapshot_block *const *blocks,
				  size_t count, struct report_row *row)
{
	for (size_t i = 0; i < count; i++) {
		double weight = report_weight(b->report, section, blocks[i]->size_bytes);

		if (!shares_add(&lists->shares, blocks[i], weight))
			return error_no_memory();
	}
	return shares_finish(&lists->shares, b->arena, row);
}

static struct error *fill_processes(const struct builder *b,
				    const struct report_section *section,
				    struct holders *holders,
				    const struct snapshot_block *const *blocks,
				    size_t count, struct report_row *row)
{
	for (size_t i = 0; holders->touched && i < count; i++) {
		double weight = report_weight(b->report, section, blocks[i]->size_bytes);

		holders_add(holders, blocks[i]->process,
			    weight * (double)blocks[i]->size_bytes, weight);
	}
	return holders_finish(holders, row);
}

static struct error *fill_sizes(const struct builder *b,
				const struct report_section *section,
				const struct snapshot_block *const *blocks, size_t count,
				struct report_row *row)
{
	double of_bucket[HISTOGRAM_CLASSES] = {0};
	struct report_bucket *sizes;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		of_bucket[histogram_class(blocks[i]->size_bytes)] +=
			report_weight(b->report, section, blocks[i]->size_bytes);
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++)
		used += of_bucket[i] > 0;
	sizes = report_arena_alloc(b->arena, used, sizeof(*sizes));
	if (!sizes)
		return error_no_memory();
	row->sizes = sizes;
	for (size_t i = 0; i < HISTOGRAM_CLASSES; i++) {
		if (of_bucket[i] > 0)
			sizes[row->size_count++] = (struct report_bucket){
				(unsigned)i, report_round(of_bucket[i])};
	}
	return NULL;
}

/* Append each listed block to the list of its row, if its stack has one in `rows`. */
static struct error *gather(const struct builder *b, const struct report_section *section,
			    const struct report_row rows[], size_t row_count,
			    const struct snapshot_block **list)
{
	const struct snapshot_block *blocks = b->snap->blocks[section->class].data;
	size_t count = b->snap->blocks[section->class].len;
	size_t stacks = b->snap->stacks.len;
	/* Where the next block of each stack goes; the last slot is for blocks without a
	 * stack. */
	_cleanup_(freep) const struct snapshot_block ***next =
		calloc(stacks + 1, sizeof(*next));

	if (!next)
		return error_no_memory();
	for (size_t i = 0; i < row_count; i++) {
		const struct report_row *row = &rows[i];

		next[row->stack == SNAPSHOT_NO_STACK ? stacks : row->stack] = list;
		list += row->sum.count;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = block_stack(b->snap, &blocks[i]);
		size_t slot = stack == SNAPSHOT_NO_STACK ? stacks : stack;

		if (next[slot] && block_is_listed(b->snap, b->options, &blocks[i]))
			*next[slot]++ = &blocks[i];
	}
	return NULL;
}

static struct error *fill_details(const struct builder *b,
				  const struct report_section *section,
				  struct lists *lists,
				  const struct snapshot_block *const *blocks,
				  size_t count, struct report_row *row)
{
	struct error *err = fill_sizes(b, section, blocks, count, row);

	fill_median(b->snap, lists, blocks, count, row);
	return err ? err : fill_threads(b, section, lists, blocks, count, row);
}

static struct error *fill_rows(const struct builder *b, struct report_section *section,
			       struct lists *lists)
{
	const struct snapshot_block **list = lists->blocks;
	struct error *err = NULL;

	for (size_t i = 0; !err && i < section->row_count; i++) {
		struct report_row *row = &section->rows[i];
		size_t count = (size_t)row->sum.count;

		if (!b->options->sums_only)
			err = fill_details(b, section, lists, list, count, row);
		if (!err)
			err = fill_processes(b, section, &lists->holders, list, count,
					     row);
		if (b->options->show_blocks) {
			qsort(list, count, sizeof(*list), compare_places);
			row->blocks = list;
			row->block_count = count;
		}
		list += count;
	}
	return err;
}

/* Are there sums instead of blocks? Then the rows count more blocks than can be listed.
 */
static bool has_sums(const struct snapshot *snap, enum block_class class)
{
	return class < BLOCK_EVENT && snap->held[class].len;
}

struct error *report_blocks_build(struct builder *b, struct report_section *section)
{
	_cleanup_(freep) const struct snapshot_block **passing = NULL;
	_cleanup_(freep) uint64_t *ages_ns = NULL;
	struct lists lists;
	size_t total = 0, most = 0;
	struct error *err;

	/* Events have hits instead of blocks. */
	if (section->class == BLOCK_EVENT)
		return report_events_build(b, section);
	if (has_sums(b->snap, section->class) ||
	    (b->options->sums_only && report_is_of_one(b->report)))
		return NULL;
	for (size_t i = 0; i < section->row_count; i++) {
		size_t count = (size_t)section->rows[i].sum.count;

		total += count;
		most = count > most ? count : most;
	}
	ages_ns = calloc(most + 1, sizeof(*ages_ns));
	if (b->options->show_blocks)
		lists.blocks = report_arena_alloc(b->arena, total, sizeof(*lists.blocks));
	else
		lists.blocks = passing = calloc(total + 1, sizeof(*passing));
	lists.ages_ns = ages_ns;
	if (!lists.blocks || !ages_ns)
		return error_no_memory();
	err = gather(b, section, section->rows, section->row_count, lists.blocks);
	if (err)
		return err;
	shares_init(&lists.shares);
	err = holders_init(&lists.holders, b);
	if (!err)
		err = fill_rows(b, section, &lists);
	holders_deinit(&lists.holders);
	shares_deinit(&lists.shares);
	return err;
}

struct error *report_holders_build(struct builder *b,
				   const struct report_section *section,
				   struct report_row rows[], size_t row_count)
{
	_cleanup_(freep) const struct snapshot_block **list = NULL;
	struct holders holders;
	size_t total = 0, from = 0;
	struct error *err;

	if (!row_count || report_is_of_one(b->report) ||
	    has_sums(b->snap, section->class))
		return NULL;
	for (size_t i = 0; i < row_count; i++)
		total += (size_t)rows[i].sum.count;
	list = calloc(total + 1, sizeof(*list));
	if (!list)
		return error_no_memory();
	err = gather(b, section, rows, row_count, list);
	if (err)
		return err;
	err = holders_init(&holders, b);
	for (size_t i = 0; !err && i < row_count; i++) {
		size_t count = (size_t)rows[i].sum.count;

		err = fill_processes(b, section, &holders, list + from, count, &rows[i]);
		from += count;
	}
	holders_deinit(&holders);
	return err;
}
