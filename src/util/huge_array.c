// SPDX-License-Identifier: Apache-2.0
#include "util/huge_array.h"

#include <sys/mman.h>

/* An array that is smaller than this gains nothing. */
#define HUGE_BYTES_MIN ((size_t)4 << 20)

void *huge_array_create(size_t bytes)
{
	void *array = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (array == MAP_FAILED)
		return NULL;
	/* Advice: without it the array is only slower. */
	if (bytes >= HUGE_BYTES_MIN)
		madvise(array, bytes + 1, MADV_HUGEPAGE);
	return array;
}

void huge_array_destroy(void *array, size_t bytes)
{
	if (array)
		munmap(array, bytes + 1);
}
