/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are inlined into another file. */
#ifndef TARGETS_INLINES_H
#define TARGETS_INLINES_H

#include <stddef.h>

static inline __attribute__((always_inline)) int header_twice(int n)
{
	return n * 2;
}

static inline __attribute__((always_inline)) int header_sum(const char *bytes,
							    size_t size)
{
	int sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += header_twice(bytes[i]) / 3;
	return sum;
}

#endif
