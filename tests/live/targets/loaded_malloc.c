// SPDX-License-Identifier: Apache-2.0
/* A library with an allocator of its own, to be loaded and called by name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE (1 << 20)

static _Alignas(16) unsigned char arena[ARENA_SIZE];
static size_t used;

__attribute__((noinline)) void *malloc(size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;

	if (size > ARENA_SIZE || need > ARENA_SIZE - used)
		return NULL;

	unsigned char *block = arena + used;

	used += need;
	return block;
}

__attribute__((noinline)) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}
