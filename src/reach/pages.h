/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages of a process have contents of its own, as /proc/PID/pagemap says
 * (Documentation/admin-guide/mm/pagemap.rst). Kernels from 6.7 on answer for whole ranges
 * (PAGEMAP_SCAN), so that a reservation of terabytes takes no time.
 */
#ifndef REACH_PAGES_H
#define REACH_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A range of pages; end exclusive. */
struct page_run {
	uint64_t start, end;
};

/* Open /proc/<tid>/pagemap, for a thread that has memory. -1 with errno set. */
int pages_open(int tid);

/*
 * Find runs of pages from *at on, below `end`, that are in memory or swapped out, and
 * that were written. With `not_of_file` pages that come from a file do not count. Fills
 * up to `max` runs, moves *at to where the next call has to go on, and returns how many;
 * 0 with *at == end: none is left. -1 with errno set.
 */
int pages_find(int pagemap, uint64_t *at, uint64_t end, bool not_of_file,
	       struct page_run runs[], size_t max);

#endif
