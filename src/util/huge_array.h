/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large arrays that are accessed at random. Huge pages, where the kernel has them, save
 * most of the time that the processor takes to translate their addresses.
 */
#ifndef UTIL_HUGE_ARRAY_H
#define UTIL_HUGE_ARRAY_H

#include <stddef.h>

/* `bytes` of zeros, at an address that fits any type. Pages take no memory until they are
 * used. NULL: memory is out. */
void *huge_array_create(size_t bytes);
/* NULL is fine. */
void huge_array_destroy(void *array, size_t bytes);

#endif
