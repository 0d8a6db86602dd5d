// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/aliases.h"

#include <string.h>

#include "abi.h"
#include "abi_walk.h"

#define CHUNK 1024

/* A chunk is freed after this many sweeps without use. */
#define PATIENCE 2

/* A sweep is due if there are this many chunks (4 MiB) more than twice the number that
 * was asked for. */
#define MANY  1024

#define NEVER (UINT64_MAX - 1)

struct alias_chunk {
	uint64_t first; /* first number in the chunk, all 64 bits */
	uint64_t used;  /* aliases.sweeps when it was last used */
	uint64_t asked; /* aliases.sweeps when it was last asked for */
	uint32_t stack[CHUNK];
};

void aliases_deinit(struct aliases *aliases)
{
	vec_foreach (chunk, &aliases->chunks)
		free(*chunk);
	vec_deinit(&aliases->chunks);
}

static void clear(struct alias_chunk *chunk)
{
	for (size_t i = 0; i < CHUNK; i++)
		chunk->stack[i] = ABI_NO_STACK;
}

bool aliases_put(struct aliases *aliases, uint64_t number, uint32_t stack)
{
	size_t at = (size_t)((number & ~ABI_MISS_STACK_BIT) & UINT32_MAX) / CHUNK;
	uint64_t first = number / CHUNK * CHUNK;
	struct alias_chunk *chunk;

	if (!vec_reserve(&aliases->chunks, at + 1))
		return false;
	while (aliases->chunks.len <= at)
		aliases->chunks.data[aliases->chunks.len++] = NULL;
	chunk = aliases->chunks.data[at];
	if (!chunk) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return false;
		clear(chunk);
		chunk->first = first;
		chunk->asked = NEVER;
		aliases->chunks.data[at] = chunk;
		aliases->chunk_count++;
	}
	/* The lower 31 bits have wrapped around. Blocks with the old numbers, if any,
	 * cannot be distinguished from those with the new ones. */
	if (chunk->first != first) {
		clear(chunk);
		chunk->first = first;
	}
	chunk->used = aliases->sweeps;
	chunk->stack[number % CHUNK] = stack;
	if (number >= aliases->highest)
		aliases->highest = number + 1;
	return true;
}

uint32_t aliases_get(struct aliases *aliases, uint32_t number)
{
	size_t at = (number & ~ABI_MISS_STACK_BIT) / CHUNK;
	struct alias_chunk *chunk =
		at < aliases->chunks.len ? aliases->chunks.data[at] : NULL;

	if (!chunk)
		return ABI_NO_STACK;
	chunk->used = chunk->asked = aliases->sweeps;
	return chunk->stack[number % CHUNK];
}

bool aliases_are_many(const struct aliases *aliases)
{
	return aliases->chunk_count > 2 * aliases->asked_count + MANY;
}

void aliases_sweep(struct aliases *aliases)
{
	aliases->sweeps++;
	aliases->asked_count = 0;
	vec_foreach (chunk, &aliases->chunks) {
		bool is_newest; /* still being filled */

		if (!*chunk)
			continue;
		is_newest = (*chunk)->first + CHUNK > aliases->highest;
		aliases->asked_count += (*chunk)->asked + 1 == aliases->sweeps;
		if (is_newest || (*chunk)->used + PATIENCE > aliases->sweeps)
			continue;
		free(*chunk);
		*chunk = NULL;
		aliases->chunk_count--;
	}
}
