/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARGETS_ALLOCATE_EACH_H
#define TARGETS_ALLOCATE_EACH_H

#include <stdlib.h>

/* Calls each function that allocates, and frees what it returned. */
__attribute__((noinline)) static void allocate_each(void)
{
	void *blocks[5] = {NULL};

	blocks[0] = malloc(100);
	blocks[1] = calloc(3, 40);
	blocks[2] = realloc(malloc(40), 5000);
	if (posix_memalign(&blocks[3], 64, 200))
		blocks[3] = NULL;
	blocks[4] = aligned_alloc(256, 512);
	for (int i = 0; i < 5; i++)
		free(blocks[i]);
}

#endif
