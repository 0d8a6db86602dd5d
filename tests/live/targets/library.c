// SPDX-License-Identifier: Apache-2.0
/* Two libraries are built from this source: their code has the same addresses, their
 * frames have different sizes. */
#include <stdlib.h>

static void *volatile last;
static volatile unsigned sink;

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

NOINLINE static void library_inner(void)
{
	volatile char pad[LIBRARY_PAD];

	pad[0] = 1;
	last = malloc(LIBRARY_SIZE);
	sink += (unsigned)pad[0];
}

void library_outer(void);

NOINLINE void library_outer(void)
{
	volatile char pad[2 * LIBRARY_PAD];

	pad[1] = 1;
	library_inner();
	sink += (unsigned)pad[1];
}
