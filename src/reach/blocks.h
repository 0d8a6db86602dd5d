/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the block that an address points into. The blocks are of one process, and of one
 * moment. All of this is in memory of the caller's process; nothing is read from the
 * target.
 */
#ifndef REACH_BLOCKS_H
#define REACH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/vec.h"

#define REACH_NONE UINT32_MAX

/* User addresses are below this (x86-64: 47 bits, unless a program asks for more;
 * Documentation/arch/x86/x86_64/5level-paging.rst). */
#define REACH_ADDRESS_BITS 47
#define REACH_GIB_SHIFT    30
#define REACH_GIB_COUNT    (UINT64_C(1) << (REACH_ADDRESS_BITS - REACH_GIB_SHIFT))

/*
 * The blocks in one GiB of addresses. The range of their addresses is divided into parts
 * of 1 << shift bytes. Many small blocks, which all start at multiples of a part, are in
 * groups: the starts are bits. Few blocks, or blocks that start anywhere, are in cells:
 * about one part for each block. docs/unreachable.md, "How a block is found".
 */
struct reach_cluster {
	uint64_t low, high; /* first and last address that belongs to a block; a block
			       also owns the address of its end. In groups, `low` is
			       a multiple of a part. */
	uint32_t first;     /* index into reach_blocks.cells or .groups */
	uint8_t shift;
	bool in_groups;
};

/* Parts of a cluster where blocks start. */
#define REACH_GROUP_PARTS 96
struct reach_group {
	uint32_t before; /* blocks that start before the first part of this group */
	uint32_t starts[REACH_GROUP_PARTS / 32];
};

/* A word that was looked up. */
struct reach_found {
	uint32_t block;
	bool is_start; /* it points to the first byte of the block */
};

/* Addresses low to low + span. */
struct reach_span {
	uint64_t low, span;
};

struct reach_blocks {
	const uint64_t *start; /* ascending, each once; borrowed */
	const uint64_t *end;   /* exclusive; not above the next start; borrowed */
	uint32_t count;        /* at most REACH_NONE - 1 */
	struct reach_span all; /* no other address belongs to a block */
	uint32_t *gib;         /* by address >> 30: 1 + index into clusters; 0: none */
	VEC(struct reach_cluster) clusters;
	uint32_t *cells; /* the last block that starts at or before the cell, or the
			    cluster's first block if all start after it */
	size_t cell_count;
	struct reach_group *groups;
	size_t group_count;
	bool are_joined; /* some block ends where the next one starts */
	/* Bit `address >> FILTER_SHIFT`, modulo the number of bits, is set if a block may
	 * have the address. NULL: it would be set for too many. */
	uint64_t *filter;
};

/*
 * Make `start` and `end` fit for reach_blocks_init(). Sorts the `count` blocks by start,
 * drops those that are outside of user addresses or start like another one, gives empty
 * blocks one byte, and cuts blocks that overlap the next one: an allocator that is
 * broken, or hostile, may report such blocks. Returns the number of blocks that remain.
 * `number` is sorted along; may be NULL.
 */
uint32_t reach_blocks_tidy(uint64_t start[], uint64_t end[], uint32_t number[],
			   uint32_t count);

/* Index blocks that reach_blocks_tidy() has prepared. The arrays must outlive `ret`.
 * Takes up to REACH_INDEX_BYTES a block, and 1 MiB. */
#define REACH_INDEX_BYTES 6
struct error *reach_blocks_init(const uint64_t start[], const uint64_t end[],
				uint32_t count, struct reach_blocks *ret)
	__attribute__((warn_unused_result));
void reach_blocks_deinit(struct reach_blocks *blocks);

/* The first block whose end is above `address`; blocks->count: none. */
uint32_t reach_blocks_from(const struct reach_blocks *blocks, uint64_t address);

/* Is the word such an address? Of blocks.all: most words are not. */
static inline bool reach_span_has(const struct reach_span *span, uint64_t word)
{
	return word - span->low <= span->span;
}

/* If the blocks are few, most addresses between them are of other blocks, or of none: can
 * this one be of one of them? The bits fit the cache of a processor. */
#define REACH_FILTER_SHIFT 9
#define REACH_FILTER_BITS  (UINT64_C(1) << 21)
static inline bool reach_filter_has(const uint64_t *filter, uint64_t word)
{
	uint64_t bit = word >> REACH_FILTER_SHIFT & (REACH_FILTER_BITS - 1);

	return !filter || filter[bit / 64] >> bit % 64 & 1;
}

/* The cluster that has the word within its addresses; NULL: none. */
static inline const struct reach_cluster *
reach_blocks_cluster(const struct reach_blocks *blocks, uint64_t word)
{
	uint64_t gib = word >> REACH_GIB_SHIFT;
	uint32_t number = gib < REACH_GIB_COUNT ? blocks->gib[gib] : 0;
	const struct reach_cluster *cluster;

	if (!number)
		return NULL;
	cluster = &blocks->clusters.data[number - 1];
	return word < cluster->low || word > cluster->high ? NULL : cluster;
}

/* The number of the part that starts at the word, among the parts of all groups: below
 * blocks->group_count * REACH_GROUP_PARTS. REACH_NO_PART: none does. */
#define REACH_NO_PART UINT64_MAX
static inline uint64_t reach_blocks_part(const struct reach_blocks *blocks, uint64_t word)
{
	const struct reach_cluster *cluster = reach_blocks_cluster(blocks, word);

	if (!cluster || !cluster->in_groups ||
	    word & ((UINT64_C(1) << cluster->shift) - 1))
		return REACH_NO_PART;
	return cluster->first * (uint64_t)REACH_GROUP_PARTS +
	       ((word - cluster->low) >> cluster->shift);
}

/*
 * For each of `count` words, at most REACH_AT_ONCE: the block that it points to, that is,
 * to its start, a byte of it, or its end. If one block ends where another one starts, the
 * latter. REACH_NONE: none. Many words at once are faster: the processor fetches the
 * parts of the index that they need at the same time.
 */
#define REACH_AT_ONCE 64
void reach_blocks_find(const struct reach_blocks *blocks, const uint64_t words[],
		       size_t count, struct reach_found ret[]);

#endif
