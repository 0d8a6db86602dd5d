// SPDX-License-Identifier: Apache-2.0
/*
 * A library to preload that leaks: of the calls of malloc() of a program each thousandth
 * allocates two blocks, and drops the pointer to the first one. The leak has the call
 * paths of the program.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SITE  __attribute__((noinline, used))
#define EVERY 1000u

typedef void *malloc_fn(size_t size);

/* The one of the program, or of its C library. */
static malloc_fn *next_malloc;

/* Leaves no copy of the pointer in a register, or on the part of the stack that is in
 * use. */
void drop_pointer(size_t size);
SITE void drop_pointer(size_t size)
{
	volatile char *block = next_malloc(size);

	if (block && size)
		*block = 1;
}

/* Overwrites what drop_pointer() has left below the stack pointer. */
static SITE void wash(void)
{
	volatile unsigned long used[512];

	memset((void *)used, 0, sizeof(used));
}

static void find_next(void)
{
	void *symbol = dlsym(RTLD_NEXT, "malloc");

	if (!symbol)
		abort();
	/* ISO C has no conversion of an object pointer to one of a function. */
	memcpy(&next_malloc, &symbol, sizeof(symbol));
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	static unsigned calls;

	if (!next_malloc)
		find_next();
	if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % EVERY == 0) {
		drop_pointer(size);
		wash();
	}
	return next_malloc(size);
}
