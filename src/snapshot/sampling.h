/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sampled block stands for. With --sample-every N each allocation is drawn with
 * the probability 1/N. With --sample-bytes R one of size S is drawn with 1 - e^(-S/R), as
 * if points lay on all bytes at a mean distance of R (Poisson); for that the sizes are
 * sorted into classes, eight for each power of two, each with one probability. A drawn
 * block stands for 1/probability blocks of its size, which makes every sum an unbiased
 * estimate (Horvitz and Thompson, 1952), whatever the probabilities are.
 */
#ifndef SNAPSHOT_SAMPLING_H
#define SNAPSHOT_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

/* As in probes/abi.h, which the draws are made by. */
#define SAMPLING_CLASSES 512

size_t sampling_class(uint64_t size_bytes);

/* A block of this class is drawn when a random number of 32 bits is below this;
 * UINT32_MAX: always. Never 0. */
uint32_t sampling_threshold(uint64_t mean_bytes, size_t class);

/* How many blocks one that is drawn by this threshold stands for. */
double sampling_threshold_weight(uint32_t threshold);

struct sampling_weights {
	double of_class[SAMPLING_CLASSES];
};

/* Are blocks of the class sampled, where any are? Mappings and events never are. */
static inline bool sampling_is_of(enum block_class class)
{
	return class == BLOCK_HEAP || class == BLOCK_KERNEL;
}

/* The weights of the blocks of a snapshot; all 1 when it was not sampled. */
void sampling_weights_init(const struct snapshot *snap, struct sampling_weights *ret);

/* How many blocks one of this size stands for. */
double sampling_weight(const struct sampling_weights *weights, uint64_t size_bytes);

#endif
