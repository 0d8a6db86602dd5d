/* SPDX-License-Identifier: Apache-2.0 */
/* A program with its own allocator, which has only four functions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "simple.h"

#define ARENA_SIZE (1 << 20)

/* ELF visibility of the functions. */
#ifndef MALLOC_VISIBILITY
#define MALLOC_VISIBILITY "default"
#endif
#ifndef OTHER_VISIBILITY
#define OTHER_VISIBILITY "default"
#endif
#define SEEN(visible) __attribute__((noinline, visibility(visible)))

static _Alignas(16) unsigned char arena[ARENA_SIZE];
static size_t used;

/* The size is stored 16 bytes before the block. */
SEEN(MALLOC_VISIBILITY) void *malloc(size_t size)
{
	size_t need = 16 + ((size + 15) & ~(size_t)15);

	if (size > ARENA_SIZE || need > ARENA_SIZE - used)
		return NULL;
	unsigned char *header = arena + used;
	used += need;
	memcpy(header, &size, sizeof(size));
	return header + 16;
}

SEEN(OTHER_VISIBILITY) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

SEEN(OTHER_VISIBILITY) void *calloc(size_t count, size_t size)
{
	if (size && count > ARENA_SIZE / size)
		return NULL;
	return malloc(count * size); /* the arena is zero */
}

SEEN(OTHER_VISIBILITY) void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t old_size = 0;

	if (!block || !old)
		return block;
	memcpy(&old_size, (unsigned char *)old - 16, sizeof(old_size));
	memcpy(block, old, old_size < size ? old_size : size);
	free(old);
	return block;
}

void *site_own_malloc(size_t size);
void *site_own_calloc(size_t count, size_t size);
void *site_own_realloc(void *old, size_t size);

__attribute__((noinline)) void *site_own_malloc(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

__attribute__((noinline)) void *site_own_calloc(size_t count, size_t size)
{
	void *block = calloc(count, size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

__attribute__((noinline)) void *site_own_realloc(void *old, size_t size)
{
	void *block = realloc(old, size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

/* Keeps 100 blocks each of 24, 3 * 10 and 70 bytes. */
static void work(void)
{
	for (int i = 0; i < 100; i++) {
		void *volatile freed = site_own_malloc(50);

		if (!site_own_malloc(24) || !site_own_calloc(3, 10) ||
		    !site_own_realloc(site_own_malloc(10), 70))
			_exit(1);
		free(freed);
	}
}

int main(void)
{
	return serve(work);
}
