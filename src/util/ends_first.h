/* SPDX-License-Identifier: Apache-2.0 */
/* Which mappings of a process are kept where there is room for a part of them: the lowest
 * and the highest first. There the kernel puts the program, and the libraries that it was
 * started with. */
#ifndef UTIL_ENDS_FIRST_H
#define UTIL_ENDS_FIRST_H

#include <stddef.h>

/* The index of the n-th of `count` elements, n < count, taken in turns from the two ends.
 */
static inline size_t ends_first(size_t n, size_t count)
{
	return n % 2 ? count - 1 - n / 2 : n / 2;
}

#endif
