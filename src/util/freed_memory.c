// SPDX-License-Identifier: Apache-2.0
#include "util/freed_memory.h"

#include <malloc.h>

/* The largest threshold that glibc takes (DEFAULT_MMAP_THRESHOLD_MAX in its
 * malloc/malloc.c). */
#define MMAP_BYTES (32 << 20)
#define TRIM_BYTES (256 << 20)

void freed_memory_keep(void)
{
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
	/* Other arenas have heaps of at most 64 MB, which are unmapped when empty. */
	mallopt(M_ARENA_MAX, 1);
}
