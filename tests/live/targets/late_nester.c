/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with its own allocator. Its aligned_alloc() takes the first blocks from a
 * pool, and all later ones from malloc(), with a larger size than its caller requested.
 */
#include <stdint.h>
#include <stdlib.h>

#include "simple.h"

#define ARENA_SIZE (1 << 20)
#define POOLED     500
#define NESTED     300
#define SIZE       48

static _Alignas(64) unsigned char arena[ARENA_SIZE], pool[POOLED][64];
static size_t used, pooled;

__attribute__((noinline)) void *malloc(size_t size)
{
	size_t need = (size + 63) & ~(size_t)63;

	if (need > ARENA_SIZE - used)
		return NULL;
	used += need;
	return arena + used - need;
}

__attribute__((noinline)) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

__attribute__((noinline)) void *aligned_alloc(size_t alignment, size_t size)
{
	unsigned char *block;

	if (pooled < POOLED)
		return pool[pooled++];
	block = malloc(size + alignment);
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block ? block + (-(uintptr_t)block & (alignment - 1)) : NULL;
}

void *site_aligned(void);

__attribute__((noinline)) void *site_aligned(void)
{
	void *block = aligned_alloc(64, SIZE);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void work(void)
{
	for (int i = 0; i < POOLED + NESTED; i++)
		if (!site_aligned())
			_exit(1);
}

int main(void)
{
	return serve(work);
}
