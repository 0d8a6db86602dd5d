// SPDX-License-Identifier: Apache-2.0
/* A target for sampling: many blocks of few sizes. Some of the functions call others
 * inside the allocator (musl's calloc and posix_memalign, every realloc(NULL)). */
#include <stdlib.h>

#include "simple.h"

#define SITE(name, call)                                                                 \
	void *site_##name(size_t size);                                                  \
	__attribute__((noinline)) void *site_##name(size_t size)                         \
	{                                                                                \
		void *block = NULL;                                                      \
                                                                                         \
		call;                                                                    \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

SITE(tiny, block = malloc(size))
SITE(small, block = malloc(size))
SITE(zeroed, block = calloc(size / 8, 8))
SITE(aligned, if (posix_memalign(&block, 64, size)) return NULL)
SITE(renewed, block = realloc(NULL, size))
SITE(large, block = malloc(size))

/* test_sampling.c has the same counts and sizes. */
static void work(void)
{
	for (int i = 0; i < 40000; i++) {
		void *volatile freed = site_small(200);

		if (!site_tiny(16) || !site_zeroed(160) || !site_aligned(192) ||
		    !site_renewed(320) || (i % 1000 == 0 && !site_large(200000)))
			_exit(1);
		free(freed);
	}
}

int main(void)
{
	return serve(work);
}
