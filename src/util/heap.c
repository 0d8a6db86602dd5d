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
