/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pseudo-random numbers, the same on every run: xorshift64 (Marsaglia, "Xorshift RNGs",
 * 2003). For tests only: the numbers are easy to predict.
 */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Advance the generator's state and return it. The first state is the seed, which must
 * not be 0. No later state is 0. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 to `limit` - 1, from one sequence for the whole program. `limit` must not be 0. */
static inline uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 88172645463325252u;

	return (uint32_t)((random_next(&state) >> 32) % limit);
}

/* Damage `times` bytes, each at a random offset: overwrite it or flip one bit of it. */
static inline void random_damage(uint8_t *bytes, size_t size, unsigned times)
{
	while (times--) {
		uint8_t *byte = bytes + random_below((uint32_t)size);

		if (random_below(2))
			*byte = (uint8_t)random_below(256);
		else
			*byte ^= (uint8_t)(1u << random_below(8));
	}
}

#endif
