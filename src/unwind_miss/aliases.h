/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the number of each unwind miss to the stack that the miss handler found for it:
 * 4 bytes each, kept while a block may have that number (probes/abi_walk.h,
 * ABI_MISS_STACK). Numbers grow, and a block stores only the lower 31 bits of its number.
 */
#ifndef UNWIND_MISS_ALIASES_H
#define UNWIND_MISS_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct alias_chunk;

struct aliases {
	VEC(struct alias_chunk *) chunks; /* NULL: no number of this chunk is kept */
	uint64_t highest;                 /* the highest number so far, plus 1 */
	uint64_t sweeps;
	size_t chunk_count; /* allocated chunks, 4 KiB each */
	size_t asked_count; /* chunks that were asked for before the last sweep */
};

void aliases_deinit(struct aliases *aliases);

/* Record that miss `number` has the stack `stack`. Returns false without memory; then the
 * miss has no stack. */
bool aliases_put(struct aliases *aliases, uint64_t number, uint32_t stack)
	__attribute__((warn_unused_result));

/* The stack of the miss whose lower 31 bits are `number`, and mark the number as in use.
 * Returns ABI_NO_STACK if the number is not kept. */
uint32_t aliases_get(struct aliases *aliases, uint32_t number);

/* Are most of the kept numbers probably out of use? Then a sweep is due. */
bool aliases_are_many(const struct aliases *aliases);

/* Free numbers that are out of use. Before the call, every number in use must have been
 * asked for since the last sweep. A number is freed after two sweeps without use, since a
 * block with that number may not have reached the tables yet. */
void aliases_sweep(struct aliases *aliases);

#endif
