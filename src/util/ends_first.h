/* SPDX-License-Identifier: Apache-2.0 */
/* The order of keeping a process's mappings if only some fit: the lowest and the
 * highest first. The kernel places the program and its initial libraries there. */
#ifndef UTIL_ENDS_FIRST_H
#define UTIL_ENDS_FIRST_H

#include <stddef.h>

/* The index of the n-th of `count` elements, n < count, taken alternately from both
 * ends. */
static inline size_t ends_first(size_t n, size_t count)
{
	return n % 2 ? count - 1 - n / 2 : n / 2;
}

#endif
