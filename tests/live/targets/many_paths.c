/* SPDX-License-Identifier: Apache-2.0 */
/* For each line on stdin, allocates a block of 32 bytes on each of 2^LEVELS call paths.
 */
#include <stdlib.h>

#include "simple.h"

#define LEVELS 18

static void *volatile kept;

/* Each level calls the next one at two places. */
__attribute__((noinline)) static void go(int levels)
{
	if (!levels) {
		kept = malloc(32);
		return;
	}
	go(levels - 1);
	__asm__ volatile("");
	go(levels - 1);
	__asm__ volatile("");
}

static void work(void)
{
	go(LEVELS);
}

int main(void)
{
	return serve(work);
}
