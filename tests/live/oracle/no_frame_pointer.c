/* SPDX-License-Identifier: Apache-2.0 */
/* A call path that is compiled without a frame pointer, as most programs are. */
#include <stdlib.h>

#include "oracle.h"

__attribute__((noinline)) void *site_no_frame_pointer(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}
