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

/* The blocks in one GiB of addresses. The range of their addresses is divided into cells
 * of 1 << shift bytes, about one for each block. */
struct reach_cluster {
	uint64_t low, high;  /* first and last address that belongs to a block; a block
				also owns the address of its end */
	uint32_t first_cell; /* index into reach_blocks.cells */
	uint8_t shift;
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
	VEC(uint32_t)
	cells; /* the last block that starts at or before the cell, or
		  the cluster's first block if all start after it */
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
 * Takes up to 4 bytes a block, and 512 KiB. */
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

/*
 * For each of `count` words, at most REACH_AT_ONCE, that reach_blocks.all has:
 * the block that it points to, that is, to its start, a byte of it, or its end. If one
 * block ends where another one starts, the latter. REACH_NONE: none. Many words at once
 * are faster: the processor fetches the parts of the index that they need at the same
 * time.
 */
#define REACH_AT_ONCE 64
void reach_blocks_find(const struct reach_blocks *blocks, const uint64_t words[],
		       size_t count, uint32_t ret[]);

#endif
