/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of a sequence of numbers. */
#ifndef UTIL_MIX_H
#define UTIL_MIX_H

#include <stdint.h>

/* Continue `hash` with a number. The factor is 2^64 divided by the golden ratio. */
static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

#endif
