/* SPDX-License-Identifier: Apache-2.0 */
/* Saturating sums: numbers of a damaged snapshot must not wrap around. */
#ifndef UTIL_SATURATE_H
#define UTIL_SATURATE_H

#include <stdint.h>

/* a + b, at most UINT64_MAX. */
static inline uint64_t saturate_add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* a - b, at least 0. `b` may be larger: earlier data may be missing, and a clock may be
 * ahead of the snapshot's. */
static inline uint64_t saturate_subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
