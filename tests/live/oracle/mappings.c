/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmap and its family. A piece is one contiguous range from one call: a hole in the
 * middle makes two pieces, and neighbours never merge. munmap and MAP_FIXED remove what
 * they cover. mremap removes the old range and adds one new piece, at its own call path.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "oracle.h"

#define PAGE        ((size_t)4096)
#define PIECES_MAX  8192
#define ARENA_PAGES 64

struct piece {
	char *start, *end;
	enum site site;
};

static struct {
	struct piece pieces[PIECES_MAX];
	size_t count;
} threads[POOL_SIZE];

static void add_piece(unsigned thread, enum site site, char *start, char *end)
{
	if (start >= end)
		return;
	if (threads[thread].count == PIECES_MAX)
		die("too many pieces of mappings");
	threads[thread].pieces[threads[thread].count++] =
		(struct piece){start, end, site};
}

static void take_range(unsigned thread, void *address, size_t size)
{
	char *start = address, *end = start + size;

	for (size_t i = threads[thread].count; i-- > 0;) {
		struct piece old = threads[thread].pieces[i];

		if (old.end <= start || end <= old.start)
			continue;
		threads[thread].pieces[i] =
			threads[thread].pieces[--threads[thread].count];
		add_piece(thread, old.site, old.start, start);
		add_piece(thread, old.site, end, old.end);
	}
}

static char *mapped(unsigned thread, enum site site, void *address, size_t size)
{
	if (address == MAP_FAILED)
		die("a mapping failed");
	take_range(thread, address, size);
	add_piece(thread, site, address, (char *)address + size);
	return address;
}

static char *remapped(unsigned thread, enum site site, char *old, size_t old_size,
		      void *address, size_t size)
{
	if (address == MAP_FAILED)
		die("a mapping could not be moved");
	take_range(thread, old, old_size);
	return mapped(thread, site, address, size);
}

static void unmap(unsigned thread, char *address, size_t size)
{
	if (munmap(address, size))
		die("munmap failed");
	take_range(thread, address, size);
}

static char *fixed(unsigned thread, char *address, size_t pages)
{
	return mapped(thread, SITE_mmap_fixed, site_mmap_fixed(address, pages * PAGE),
		      pages * PAGE);
}

static void must_fail(const void *result, int error)
{
	if (result != MAP_FAILED || errno != error)
		die("a mapping call that must fail did not");
}

/* Holes in the middle, at both ends and across two mappings; one mapping over another. */
static void cut(unsigned thread, char *arena)
{
	fixed(thread, arena, 8);
	unmap(thread, arena + 2 * PAGE, 2 * PAGE);

	fixed(thread, arena + 10 * PAGE, 4);
	unmap(thread, arena + 9 * PAGE, 2 * PAGE);
	unmap(thread, arena + 13 * PAGE, 2 * PAGE);

	fixed(thread, arena + 16 * PAGE, 4);
	fixed(thread, arena + 20 * PAGE, 4);
	unmap(thread, arena + 18 * PAGE, 4 * PAGE);

	fixed(thread, arena + 26 * PAGE, 6);
	mapped(thread, SITE_mmap_over, site_mmap_over(arena + 28 * PAGE, 2 * PAGE),
	       2 * PAGE);

	fixed(thread, arena + 34 * PAGE, 2);
	fixed(thread, arena + 36 * PAGE, 2);
	unmap(thread, arena + 33 * PAGE, 6 * PAGE);
}

static void move(unsigned thread, char *arena)
{
	char *map;

	map = mapped(thread, SITE_mmap64, site_mmap64(16 * PAGE), 16 * PAGE);
	remapped(thread, SITE_mremap_shrink, map, 16 * PAGE,
		 site_mremap_shrink(map, 16 * PAGE, 8 * PAGE), 8 * PAGE);

	map = mapped(thread, SITE_mmap64, site_mmap64(4 * PAGE), 4 * PAGE);
	remapped(thread, SITE_mremap_grow, map, 4 * PAGE,
		 site_mremap_grow(map, 4 * PAGE, 32 * PAGE), 32 * PAGE);

	/* Move a mapping over a part of another one, which unmaps that part. */
	map = mapped(thread, SITE_mmap64, site_mmap64(4 * PAGE), 4 * PAGE);
	fixed(thread, arena + 40 * PAGE, 8);
	remapped(thread, SITE_mremap_move, map, 4 * PAGE,
		 site_mremap_move(map, 4 * PAGE, 4 * PAGE, arena + 41 * PAGE), 4 * PAGE);

	/* Move the middle of a mapping elsewhere. */
	fixed(thread, arena + 50 * PAGE, 6);
	remapped(thread, SITE_mremap_part, arena + 52 * PAGE, 2 * PAGE,
		 site_mremap_part(arena + 52 * PAGE, 2 * PAGE, 2 * PAGE,
				  arena + 60 * PAGE),
		 2 * PAGE);

	/* Old size 0 copies a shared mapping: both stay. */
	map = mapped(thread, SITE_mmap, site_mmap(4 * PAGE), 4 * PAGE);
	mapped(thread, SITE_mremap_copy, site_mremap_copy(map, 4 * PAGE), 4 * PAGE);

	map = mapped(thread, SITE_mmap, site_mmap(2 * PAGE), 2 * PAGE);
	unmap(thread, map, 2 * PAGE);
}

/* `live` is a mapping of at least two pages. These calls must not change it. */
static void fail(char *live)
{
	const size_t too_large = (size_t)1 << 60;

	if (munmap(live + 1, PAGE) != -1 || errno != EINVAL)
		die("munmap must refuse an unaligned address");
	if (munmap(live, 0) != -1 || errno != EINVAL)
		die("munmap must refuse no length");
	must_fail(site_mmap_fail(live, 0), EINVAL);
	must_fail(site_mmap_fail(live + 1, PAGE), EINVAL);
	must_fail(site_mmap_fail(live, too_large), ENOMEM);
	must_fail(site_mremap_fail(live + 1, PAGE, 2 * PAGE), EINVAL);
	must_fail(site_mremap_fail(live, 2 * PAGE, 0), EINVAL);
	if (site_mremap_fail(live, 2 * PAGE, too_large) != MAP_FAILED)
		die("mremap must refuse the size");
}

/* libc calls mmap for these blocks: they must count as blocks of the heap, not as
 * mappings. */
static void large_blocks(unsigned thread)
{
	const size_t size = 1 << 20;
	struct block gone = new_block(SITE_malloc_large, site_malloc_large(size), size);
	struct block stays = new_block(SITE_malloc_large, site_malloc_large(size), size);

	void *address = site_realloc(stays.address, 5 * size);
	truth_remove(stays.site, stays.size_bytes);
	stays = new_block(SITE_realloc, address, 5 * size);
	free_block(&gone);
	keep_block(thread, &stays);
}

void scenario_mappings(unsigned thread, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		/* A range for this scenario alone, reserved by a system call that no
		 * probe sees. */
		long arena = syscall(SYS_mmap, NULL, ARENA_PAGES * PAGE, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (arena == -1)
			die("cannot reserve addresses");
		cut(thread, (char *)arena);
		move(thread, (char *)arena);
		fail((char *)arena);
		large_blocks(thread);
	}
}

void mappings_count(void)
{
	for (unsigned site = HEAP_SITE_COUNT; site < SITE_COUNT; site++) {
		uint64_t bytes = 0, pieces = 0;

		for (unsigned t = 0; t < POOL_SIZE; t++) {
			for (size_t i = 0; i < threads[t].count; i++) {
				const struct piece *piece = &threads[t].pieces[i];

				if (piece->site != (enum site)site)
					continue;
				bytes += (uint64_t)(piece->end - piece->start);
				pieces++;
			}
		}
		truth_set_mapping((enum site)site, bytes, pieces);
	}
}
