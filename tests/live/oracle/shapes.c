/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and sizes that stress tables: many call paths, huge blocks, regular patterns,
 * odd names. */
#include <stdlib.h>

#include "oracle.h"

#define PATH_LEVELS 17

/* The bits of `index` choose one of two functions at each level, the lowest bit
 * outermost. */
void path_left(unsigned thread, size_t index, unsigned level, size_t size);
void path_right(unsigned thread, size_t index, unsigned level, size_t size);

static inline __attribute__((always_inline)) void path_next(unsigned thread, size_t index,
							    unsigned level, size_t size)
{
	if (level == 0) {
		struct block block = new_block(SITE_path, site_path(size), size);

		keep_block(thread, &block);
	} else if (index & 1) {
		path_right(thread, index >> 1, level - 1, size);
	} else {
		path_left(thread, index >> 1, level - 1, size);
	}
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void path_left(unsigned thread, size_t index, unsigned level,
					 size_t size)
{
	__asm__ volatile("# left" : : : "memory");
	path_next(thread, index, level, size);
}

__attribute__((noinline)) void path_right(unsigned thread, size_t index, unsigned level,
					  size_t size)
{
	__asm__ volatile("# right" : : : "memory");
	path_next(thread, index, level, size);
}

/* Keeps one block for each path. Path `i` holds i + 1 bytes. At most 2^17 paths. */
void scenario_paths(unsigned thread, size_t blocks)
{
	if (blocks > (size_t)1 << PATH_LEVELS)
		die("there are not so many paths");
	for (size_t i = 0; i < blocks; i++)
		path_next(thread, i, PATH_LEVELS, i + 1);
}

/* Alternating functions. A sampler with an even period would see only one of them. */
void scenario_alternate(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks / 2; i++) {
		struct block even = new_block(SITE_even, site_even(100), 100);
		struct block odd = new_block(SITE_odd, site_odd(100), 100);

		keep_block(thread, &even);
		keep_block(thread, &odd);
	}
}

#define LONG_NAME                                                                        \
	with_a_name_that_is_much_longer_than_thirty_one_characters_and_is_shown_whole
#define PASTE(a, b)   a##b
#define EXPAND(a, b)  PASTE(a, b)
#define LONG_FUNCTION EXPAND(site_, LONG_NAME)
#define LONG_SITE     EXPAND(SITE_, LONG_NAME)

void scenario_names(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		struct block long_name = new_block(LONG_SITE, LONG_FUNCTION(30), 30);
		struct block bare =
			new_block(SITE_no_frame_pointer, site_no_frame_pointer(40), 40);

		keep_block(thread, &long_name);
		keep_block(thread, &bare);
	}
}

/* Keeps `blocks` blocks of 5 GiB that are never touched, and resizes across 4 GiB. */
void scenario_huge(size_t blocks, unsigned threads)
{
	const size_t unit = (size_t)5 << 30;

	(void)threads;
	for (size_t i = 0; i < blocks; i++) {
		void *address = site_huge(unit + i);

		if (!address) {
			truth_failure();
			truth_note("no block of 5 GiB: overcommit forbids it");
			return;
		}
		struct block block = new_block(SITE_huge, address, unit + i);
		if (i % 8 == 7)
			free_block(&block);
		else
			keep_block(0, &block);
	}
	for (size_t i = 0; i < 4; i++) {
		size_t first = i & 1 ? unit : 100, then = i & 2 ? unit + 4096 : 200;
		struct block block = new_block(SITE_huge, site_huge(first), first);
		void *address = site_huge_realloc(block.address, then);

		if (!address)
			die("cannot resize a huge block");
		truth_remove(block.site, block.size_bytes);
		block = new_block(SITE_huge_realloc, address, then);
		keep_block(0, &block);
	}
	void *address = site_huge(((size_t)1 << 40) + 1);
	if (address) {
		struct block block = new_block(SITE_huge, address, ((size_t)1 << 40) + 1);
		keep_block(0, &block);
	} else {
		truth_failure();
		truth_note("no single block over 1 TiB: overcommit forbids it");
	}
}
