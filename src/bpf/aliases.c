// SPDX-License-Identifier: Apache-2.0
#include "bpf/aliases.h"

#include <string.h>

#include "abi.h"
#include "abi_walk.h"

#define CHUNK 1024

/* The sweeps that a chunk survives without having been asked for. */
#define PATIENCE 2

/* So many chunks, 4 MiB, are kept besides twice as many as were asked for. */
#define MANY  1024

#define NEVER (UINT64_MAX - 1)

struct alias_chunk {
	uint64_t first; /* number, with its upper bits */
	uint64_t used;  /* the sweep before which it was in use last */
	uint64_t asked; /* the sweep before which it was asked for last */
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
	/* The numbers have come round while blocks have the old ones: nobody can tell
	 * them apart. */
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
		bool is_newest; /* and still being filled */

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
