// SPDX-License-Identifier: Apache-2.0
#include "report/shares.h"

#include <stdlib.h>

#include "report/report.h"

void shares_init(struct shares *shares)
{
	*shares = (struct shares){.last = 0};
	/* Threads may have chosen their tids. */
	hashmap_init(&shares->places, hashmap_seed());
}

void shares_deinit(struct shares *shares)
{
	vec_deinit(&shares->list);
	hashmap_deinit(&shares->places);
}

/* With so few threads, comparing them all is faster than a hash table. */
#define FEW 16

/* The index of the thread in the list, which is its length if it has none yet. */
static size_t find(const struct shares *shares, uint32_t tid)
{
	size_t len = shares->list.len;
	uint64_t place;

	if (len > FEW)
		return hashmap_get(&shares->places, tid, &place) ? (size_t)place : len;
	for (size_t i = 0; i < len; i++)
		if (shares->list.data[i].tid == tid)
			return i;
	return len;
}

/* Append a thread. */
static bool add(struct shares *shares, uint32_t tid)
{
	if (!vec_push(&shares->list, (struct share){.tid = tid}))
		return false;
	if (shares->list.len <= FEW)
		return true;
	for (size_t i = shares->places.len; i < shares->list.len; i++)
		if (!hashmap_put(&shares->places, shares->list.data[i].tid, i))
			return false;
	return true;
}

bool shares_add(struct shares *shares, const struct snapshot_block *block, double weight)
{
	size_t place = shares->last;
	struct share *share;

	/* Mostly the same thread as for the block before. */
	if (place >= shares->list.len || shares->list.data[place].tid != block->tid)
		place = find(shares, block->tid);
	if (place == shares->list.len && !add(shares, block->tid))
		return false;
	share = &shares->list.data[place];
	shares->last = place;
	share->size_bytes += weight * (double)block->size_bytes;
	share->count += weight;
	return true;
}

static int compare(const void *pa, const void *pb)
{
	const struct report_share *a = pa, *b = pb;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

struct error *shares_finish(struct shares *shares, struct report_arena *arena,
			    struct report_row *row)
{
	size_t count = shares->list.len;
	struct report_share *threads = report_arena_alloc(arena, count, sizeof(*threads));

	if (!threads)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct share *share = &shares->list.data[i];

		threads[i] =
			(struct report_share){share->tid, report_round(share->size_bytes),
					      report_round(share->count)};
	}
	if (count > 1)
		qsort(threads, count, sizeof(*threads), compare);
	row->threads = threads;
	row->thread_count = count;
	shares->list.len = 0;
	hashmap_deinit(&shares->places);
	return NULL;
}
