/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight of a sampled block. With --sample-every N each allocation is sampled with
 * the probability 1/N. With --sample-bytes R an allocation of size S is sampled with
 * the probability 1 - e^(-S/R), as if points lay on all bytes at a mean distance of R
 * (Poisson). For that the sizes are sorted into classes, eight for each power of two,
 * and each class has one probability. A sampled block stands for 1/probability blocks
 * of its size, which makes every sum an unbiased estimate (Horvitz and Thompson, 1952).
 */
#ifndef SNAPSHOT_SAMPLING_H
#define SNAPSHOT_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* As in probes/abi.h, which the probes use. */
#define SAMPLING_CLASSES 512

size_t sampling_class(uint64_t size_bytes);

/* A block of this class is sampled if a random 32-bit number is below this threshold;
 * UINT32_MAX: always. Never 0. */
uint32_t sampling_threshold(uint64_t mean_bytes, size_t class);

/* The number of blocks that a block sampled with this threshold stands for. */
double sampling_threshold_weight(uint32_t threshold);

struct sampling_weights {
	double of_class[SAMPLING_CLASSES];
};

/* Does sampling apply to blocks of the class? It never applies to mappings and events. */
static inline bool sampling_is_of(enum block_class class)
{
	return class == BLOCK_HEAP || class == BLOCK_KERNEL;
}

/* The weights of the blocks of a snapshot; all 1 if it was not sampled. */
void sampling_weights_init(const struct snapshot *snap, struct sampling_weights *ret);

/* The number of blocks that a block of this size stands for. */
double sampling_weight(const struct sampling_weights *weights, uint64_t size_bytes);

#endif
