/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every allocation function, with mixed sizes in mixed order, successful and
 * failing. */
#include <errno.h>
#include <stdlib.h>

#include "oracle.h"

/* One thread can keep a million blocks. Unused entries take no memory. */
#define KEPT_MAX ((1 << 20) + 4096)
#define WINDOW   256

/* More bytes than any machine has. */
#define TOO_LARGE (SIZE_MAX / 2)

static struct {
	struct block blocks[KEPT_MAX];
	size_t count;
} kept[POOL_SIZE];

static struct block windows[POOL_SIZE][WINDOW];

uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 to 64 KiB. Most are small, so that a million blocks fit in any machine. */
static size_t random_size(uint64_t *state)
{
	uint64_t r = random_next(state);
	uint64_t bound = r % 64 == 0 ? 65536 : r % 8 == 0 ? 4096 : 256;

	return (r >> 16) % (bound + 1);
}

void keep_block(unsigned thread, const struct block *block)
{
	if (kept[thread].count == KEPT_MAX)
		die("too many blocks");
	kept[thread].blocks[kept[thread].count++] = *block;
}

struct block *kept_block(unsigned thread, size_t n)
{
	return n < kept[thread].count ? &kept[thread].blocks[n] : NULL;
}

struct block new_block(enum site site, void *address, uint64_t size_bytes)
{
	if (!address)
		die("out of memory");
	truth_add(site, size_bytes);
	return (struct block){address, size_bytes, site};
}

void free_block(const struct block *block)
{
	truth_remove(block->site, block->size_bytes);
	free(block->address);
}

static struct block aligned_block(uint64_t *state, size_t size)
{
	size_t alignment = (size_t)32 << random_next(state) % 4;
	void *address = NULL;

	switch (random_next(state) % 4) {
	case 0:
		if (site_posix_memalign(&address, alignment, size))
			die("posix_memalign failed");
		return new_block(SITE_posix_memalign, address, size);
	case 1:
		size -= size % alignment;
		return new_block(SITE_aligned_alloc, site_aligned_alloc(alignment, size),
				 size);
	case 2:
		return new_block(SITE_memalign, site_memalign(alignment, size), size);
	default:
		/* glibc's memalign calls malloc for small alignments. */
		return new_block(SITE_memalign_small, site_memalign_small(8, size), size);
	}
}

static struct block any_block(uint64_t *state)
{
	size_t size = random_size(state);
	uint64_t r = random_next(state) % 64;

	switch (r) {
	case 0:
		return new_block(SITE_valloc, site_valloc(size), size);
	case 1:
		return new_block(SITE_pvalloc, site_pvalloc(size), size);
	case 2:
		return new_block(SITE_malloc_zero, site_malloc_zero(0), 0);
	default:
		break;
	}
	switch (r % 5) {
	case 0:
		return new_block(SITE_malloc, site_malloc(size), size);
	case 1:
		return new_block(SITE_calloc, site_calloc(3, size / 3), size / 3 * 3);
	case 2:
		return new_block(SITE_realloc_null, site_realloc_null(size), size);
	case 3:
		return new_block(SITE_reallocarray_null, site_reallocarray_null(2, size),
				 2 * size);
	default:
		return aligned_block(state, size);
	}
}

static void resized(struct block *block, enum site site, void *address, size_t size)
{
	truth_remove(block->site, block->size_bytes);
	*block = new_block(site, address, size);
}

static void check_failed(const void *address)
{
	if (address)
		die("a call that must fail did not");
	truth_failure();
}

/* Fails in every way with `block` as an argument. Nothing may change. */
static void fail_around(const struct block *block)
{
	void *out = block->address;

	check_failed(site_realloc_fail(block->address, TOO_LARGE));
	check_failed(site_reallocarray_fail(block->address, SIZE_MAX / 4, 8));
	check_failed(site_malloc_fail(TOO_LARGE));
	check_failed(site_calloc_fail(TOO_LARGE, 3));
	/* On error posix_memalign must leave the out pointer alone. Here it points to a
	 * live block. */
	if (site_posix_memalign_bad(&out, 3, 100) != EINVAL || out != block->address)
		die("posix_memalign must refuse the alignment");
	truth_failure();
	if (site_posix_memalign_fail(&out, 64, TOO_LARGE) != ENOMEM ||
	    out != block->address)
		die("posix_memalign must refuse the size");
	truth_failure();
}

static void change(struct block *block, size_t n, uint64_t *state)
{
	size_t size = random_size(state) + 1;

	if (n % 3 == 0)
		resized(block, SITE_realloc, site_realloc(block->address, size), size);
	if (n % 11 == 0)
		resized(block, SITE_reallocarray,
			site_reallocarray(block->address, 2, size), 2 * size);
	if (n % 16 == 1)
		fail_around(block);
	if (n % 17 == 2) {
		truth_remove(block->site, block->size_bytes);
		if (site_realloc_zero(block->address))
			die("realloc to 0 is expected to free");
		*block = any_block(state);
	}
	if (n % 32 == 5)
		free(NULL);
}

static void shuffle(struct block *blocks, size_t count, uint64_t *state)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = random_next(state) % i;
		struct block block = blocks[other];

		blocks[other] = blocks[i - 1];
		blocks[i - 1] = block;
	}
}

/* Keeps `blocks` blocks and frees as many. Never holds many more than it keeps. */
void scenario_mixed(unsigned thread, size_t blocks)
{
	uint64_t state = 0x9e3779b97f4a7c15 + thread;
	struct block *window = windows[thread];

	while (blocks) {
		size_t half = blocks < WINDOW / 2 ? blocks : WINDOW / 2;

		for (size_t i = 0; i < 2 * half; i++)
			window[i] = any_block(&state);
		for (size_t i = 0; i < 2 * half; i++)
			change(&window[i], i, &state);
		shuffle(window, 2 * half, &state);
		for (size_t i = 0; i < half; i++)
			free_block(&window[i]);
		for (size_t i = half; i < 2 * half; i++)
			keep_block(thread, &window[i]);
		blocks -= half;
	}
}

/* Keeps blocks, and makes every failing call between them. */
void scenario_failures(unsigned thread, size_t blocks)
{
	uint64_t state = 0x2545f4914f6cdd1d + thread;

	for (size_t i = 0; i < blocks; i++) {
		struct block block = any_block(&state);

		fail_around(&block);
		keep_block(thread, &block);
	}
}

void scenario_keep(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		size_t size = i % 512;
		struct block block = new_block(SITE_keep, site_keep(size), size);

		keep_block(thread, &block);
	}
}

/* Each thread frees the blocks that its neighbour keeps. A single thread frees all. */
void scenario_release(unsigned thread, size_t blocks)
{
	(void)blocks;
	unsigned owner = (thread + 1) % POOL_SIZE;

	for (size_t i = 0; i < kept[owner].count; i++)
		free_block(&kept[owner].blocks[i]);
	kept[owner].count = 0;
}
