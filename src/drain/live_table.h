/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of live blocks, which grows while the probes use it (probes/abi.h). Its
 * buckets are numbered through: the first generation has the numbers from 0 on, the
 * second one those that follow, and so on.
 */
#ifndef DRAIN_LIVE_TABLE_H
#define DRAIN_LIVE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "bpf/mapped.h"
#include "compile/source_sizes.h"
#include "util/error.h"

struct live_table {
	int outer; /* the array of maps; borrowed */
	struct abi_control *control;
	uint32_t first_buckets, generations;
	/* By generation, `known` of them; the first one is borrowed. */
	int part[ABI_LIVE_GENERATIONS];
	uint32_t known;
	void *first; /* the first generation, mapped between walks that come often; NULL:
			it is not */
	uint64_t walked_ns; /* the last walk, CLOCK_MONOTONIC ns; 0: none */
	unsigned often;     /* walks in a row that came soon after the one before */
};

/* `outer` is the map `live`, `first` the map `live_part`. Makes `first` the only
 * generation. `control` is the mapped control record. */
struct error *live_table_open(int outer, int first, const struct source_sizes *sizes,
			      struct abi_control *control, struct live_table *ret)
	__attribute__((warn_unused_result));
/* Can be called on an all-zero struct. */
void live_table_close(struct live_table *t);

/* How many generations there are. Another thread may add some at any time, in a forked
 * child another process. */
uint32_t live_table_count(struct live_table *t);

/* False if there is a generation that this process could not open: one that another
 * process has added. */
bool live_table_is_whole(struct live_table *t);

/* The number of buckets in the first `count` generations. */
static inline uint32_t live_table_buckets(const struct live_table *t, uint32_t count)
{
	return ABI_LIVE_BEFORE(t->first_buckets, count);
}

/* The number of buckets in one generation. */
static inline uint32_t live_table_part_buckets(const struct live_table *t,
					       uint32_t generation)
{
	return ABI_LIVE_BUCKETS(t->first_buckets, generation);
}

/* The number of a block's bucket in a generation. `word` is its key / 8. */
static inline uint32_t live_table_at(const struct live_table *t, uint32_t generation,
				     uint64_t word, int second)
{
	return ABI_LIVE_BEFORE(t->first_buckets, generation) +
	       abi_live_hash(word, ABI_LIVE_BUCKETS(t->first_buckets, generation),
			     second);
}

/* Has a probe asked for a generation that does not exist yet? */
bool live_table_wants_more(struct live_table *t);

/* Add a generation. Blocks are put into it from now on. Only one thread may call this;
 * others may read the table. */
struct error *live_table_grow(struct live_table *t) __attribute__((warn_unused_result));

/* No walk is needed for now: release memory that is kept for the next one. */
void live_table_rest(struct live_table *t);

/* As mapped_walk_writable(), for the buckets of the first `count` generations. If
 * walks come each second, the first one stays mapped, and counts as memtrace's memory. */
struct error *live_table_walk(struct live_table *t, uint32_t count, mapped_fn fn,
			      void *arg) __attribute__((warn_unused_result));

#endif
