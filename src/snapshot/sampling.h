/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight of a sampled block: 1/probability (docs/options.md, "Sampling"). With
 * --sample-bytes, sizes are sorted into classes, eight for each power of two, and each
 * class has one probability, as if points lay on all bytes at a mean distance (Poisson).
 * So every sum is an unbiased estimate (Horvitz and Thompson, 1952).
 */
#ifndef SNAPSHOT_SAMPLING_H
#define SNAPSHOT_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/units.h"

/* Number of size classes: the same as ABI_SAMPLE_CLASSES in probes/abi.h. */
#define SAMPLING_CLASSES 512

/* How allocations are sampled: by number or by size. Either `every` is 1 or `mean_bytes`
 * is 0. */
struct sampling {
	uint64_t every;      /* --sample-every: one allocation in so many; 1: all */
	uint64_t mean_bytes; /* --sample-bytes: mean distance of samples; 0: not used */
};

/* Are some allocations not traced? Then the numbers for all of them are estimates. */
bool sampling_is_on(const struct sampling *s);

/* Does a block's weight depend on its size? Sums for all blocks can then be estimated
 * only where each block is counted. */
bool sampling_is_by_size(const struct sampling *s);

/* Multiply a sum over traced blocks by this to estimate the sum over all blocks. 1 if all
 * are traced, and if sampling_is_by_size(). */
uint64_t sampling_factor(const struct sampling *s);

/* One allocation in this is traced: a number of allocations or of bytes ("100", "64.0
 * KiB"). */
struct units_text sampling_format_interval(const struct sampling *s);

/* An allocation is sampled if a random 32-bit number is below this threshold. Only if
 * sampling_factor() > 1. */
uint32_t sampling_factor_threshold(const struct sampling *s);

size_t sampling_class(uint64_t size_bytes);

/* A block of this class is sampled if a random 32-bit number is below this threshold;
 * UINT32_MAX: always. Never 0. */
uint32_t sampling_threshold(uint64_t mean_bytes, size_t class);

/* The number of blocks that a block sampled with this threshold stands for. */
double sampling_threshold_weight(uint32_t threshold);

struct sampling_weights {
	double of_class[SAMPLING_CLASSES];
};

/* The weights of blocks; all 1 if all are traced. */
void sampling_weights_init(const struct sampling *s, struct sampling_weights *ret);

/* The number of blocks that a block of this size stands for. */
double sampling_weight(const struct sampling_weights *weights, uint64_t size_bytes);

#endif
