/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stack each walk that was handed over came to be, by the number of the walk: 4
 * bytes each, kept while some block may have that number (probes/abi_walk.h,
 * ABI_MISS_STACK). Numbers grow, and only the lower 31 bits of each are stored with a
 * block.
 */
#ifndef BPF_ALIASES_H
#define BPF_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct alias_chunk;

struct aliases {
	VEC(struct alias_chunk *) chunks; /* NULL: none is kept */
	uint64_t highest;                 /* number so far, and one more */
	uint64_t sweeps;
	size_t chunk_count; /* of 4 KiB */
	size_t asked_count; /* of them were asked for before the last sweep */
};

void aliases_deinit(struct aliases *aliases);

/* Walk `number` is the stack `stack`. False when memory is out: then it is none. */
bool aliases_put(struct aliases *aliases, uint64_t number, uint32_t stack)
	__attribute__((warn_unused_result));

/* The stack of a walk whose lower 31 bits these are, which is in use then; ABI_NO_STACK
 * when it is not kept. */
uint32_t aliases_get(struct aliases *aliases, uint32_t number);

/* Are most of them in use no more, as far as can be seen? Then a sweep is due. */
bool aliases_are_many(const struct aliases *aliases);

/* All that is in use was asked for since the last time. What was not is given up when it
 * is not the second time either: blocks may be on their way. */
void aliases_sweep(struct aliases *aliases);

#endif
