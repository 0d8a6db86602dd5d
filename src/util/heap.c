// SPDX-License-Identifier: Apache-2.0
#include "util/heap.h"

#include <malloc.h>

void heap_keep_some(void)
{
	/* Other C libraries have not these parameters (mallopt(3)). */
#if defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD)
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

/* The largest threshold that glibc takes (DEFAULT_MMAP_THRESHOLD_MAX in its
 * malloc/malloc.c). */
#define ALL_MMAP_BYTES (32 << 20)
#define ALL_TRIM_BYTES (256 << 20)

void heap_keep_all(void)
{
#if defined(M_MMAP_THRESHOLD) && defined(M_TRIM_THRESHOLD) && defined(M_ARENA_MAX)
	mallopt(M_MMAP_THRESHOLD, ALL_MMAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, ALL_TRIM_BYTES);
	/* Other arenas have heaps of at most 64 MB, which are unmapped when empty. */
	mallopt(M_ARENA_MAX, 1);
#endif
}
