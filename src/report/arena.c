// SPDX-License-Identifier: Apache-2.0
#include "report/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

#define CHUNK_BYTES ((size_t)64 * 1024)

struct chunk {
	struct chunk *next;
	size_t used, cap;
	alignas(max_align_t) unsigned char data[];
};

struct report_arena {
	struct chunk *chunks; /* the chunk in use comes first */
};

struct report_arena *report_arena_create(void)
{
	return calloc(1, sizeof(struct report_arena));
}

void report_arena_destroy(struct report_arena *arena)
{
	if (!arena)
		return;
	while (arena->chunks) {
		struct chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	free(arena);
}

void *report_arena_alloc(struct report_arena *arena, size_t count, size_t size_bytes)
{
	const size_t align = alignof(max_align_t);
	size_t want;

	if (__builtin_mul_overflow(count, size_bytes, &want) || want > SIZE_MAX / 2)
		return NULL;
	want = (want + align - 1) / align * align;

	struct chunk *chunk = arena->chunks;

	if (!chunk || chunk->cap - chunk->used < want) {
		size_t cap = want > CHUNK_BYTES ? want : CHUNK_BYTES;

		/* calloc: a large chunk comes zeroed from the kernel at no cost. */
		chunk = calloc(1, sizeof(*chunk) + cap);
		if (!chunk)
			return NULL;
		chunk->cap = cap;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
	}

	void *room = chunk->data + chunk->used;

	chunk->used += want;
	return room;
}
