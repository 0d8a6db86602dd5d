/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which blocks are reached, and how. A pointer to the start of a block reaches it. A
 * pointer to another byte of it, or to its end, possibly does: a program may keep only
 * such pointers, or an integer may look like one. What only a possibly reached block
 * points to is possibly reached as well. (Valgrind's memcheck has the same classes:
 * "still reachable", "possibly lost".)
 */
#ifndef REACH_MARKS_H
#define REACH_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reach/blocks.h"

/* The smallest page of any architecture. */
#define REACH_PAGE UINT64_C(4096)

enum reach_level {
	REACH_UNREACHED,
	REACH_POSSIBLE,
	REACH_REACHED,
};

/* What the memory between blocks holds. */
enum reach_gaps {
	REACH_GAPS_USED,       /* pointers of the program, or of its allocator */
	REACH_GAPS_FREE_PAGES, /* no pointers of the program in pages that have blocks */
	REACH_GAPS_FREE,       /* no pointers of the program */
};

/* Which words are pointers. */
struct reach_words {
	/* glibc stores some pointers rotated and combined with a value of the process
	 * (the pointer guard: arch/registers.h). 0: not used. */
	uint64_t guard;
	/* Programs store tags in pointers. The highest byte is never looked at. A pointer
	 * to the start of a block may also be this much higher: 7 if the lowest three
	 * bits may be a tag, else 0. */
	uint64_t low_tag_max;
	bool unaligned; /* a pointer may begin at any byte, not only at multiples of 8 */
};

struct reach_marks {
	const struct reach_blocks *blocks; /* borrowed */
	struct reach_words words;
	/* enum reach_level of each block. Several threads may share it (sweep.h): then a
	 * level changes by atomic operations. */
	uint8_t *level;
	/* A bit for each part of the groups of blocks (blocks.h): the word that points to
	 * it was followed as REACH_REACHED. To follow it again would change nothing.
	 * NULL: not known. */
	uint64_t *followed;
	/* Blocks that were reached and not yet scanned for pointers. A block may be in it
	 * twice. */
	VEC(uint32_t) todo;
	/* Words that may be pointers, not yet followed; the part that each points to, if
	 * there is `followed`; and the level of each. */
	uint64_t waiting[REACH_AT_ONCE];
	uint64_t waiting_part[REACH_AT_ONCE];
	uint8_t waiting_level[REACH_AT_ONCE];
	size_t waiting_count;
	/* The sweep still comes to this block and to later ones, so they are not put into
	 * `todo`. REACH_NONE: it comes to no more blocks. */
	uint32_t ahead;
	bool is_whole;        /* `blocks` has all blocks of the process */
	enum reach_gaps gaps; /* in the region that is being swept */
	bool is_apart;        /* other threads sweep, too: `ahead` is REACH_NONE */
	bool no_memory;       /* `todo` lacks blocks: the result is not valid */
};

struct error *reach_marks_init(const struct reach_blocks *blocks,
			       const struct reach_words *words, struct reach_marks *ret)
	__attribute__((warn_unused_result));
void reach_marks_deinit(struct reach_marks *marks);

/* From now on remember which words were followed, if blocks are so close together that
 * this takes little memory: an index with it has at most REACH_INDEX_BYTES a block. Then
 * only one thread may use the marks, and no level may be lowered. */
void reach_marks_remember(struct reach_marks *marks);

/* A copy of a piece of the target's memory. */
struct reach_piece {
	uint64_t address; /* of the first byte, in the target */
	const void *bytes;
	size_t size;  /* a pointer that begins in the first `size` bytes is looked at, ...
		       */
	size_t extra; /* ... if it ends within `extra` further bytes */
};

/* Scan memory for pointers that belongs to no block, or to a block that is reached as
 * `level` says. */
void reach_marks_scan(struct reach_marks *marks, const struct reach_piece *piece,
		      enum reach_level level);

/* The same, but words may wait until reach_marks_settle(): faster for many small
 * pieces. */
void reach_marks_collect(struct reach_marks *marks, const struct reach_piece *piece,
			 enum reach_level level);
/* Follow the words that wait. */
void reach_marks_settle(struct reach_marks *marks);

/*
 * Scan a piece of memory that may contain blocks: what is in no block, as `gaps` says,
 * and the blocks in it that are reached already. Pieces must be scanned
 * in ascending order of addresses. Blocks that are reached later by a pointer at a higher
 * address are in `todo` afterwards.
 */
void reach_marks_sweep(struct reach_marks *marks, const struct reach_piece *piece);

/* The sweep is over: from now on all blocks that are reached get into `todo`. */
void reach_marks_swept(struct reach_marks *marks);

#endif
