// SPDX-License-Identifier: Apache-2.0
/* Leaks one block each millisecond from functions that are inlined into each other, until
 * it is killed. Prints a line when it is ready. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void *leak_inner(size_t size)
{
	return malloc(size);
}

static inline __attribute__((always_inline)) void *leak_middle(size_t size)
{
	char *bytes = leak_inner(size + 1);

	if (bytes)
		bytes[0] = 1;
	return bytes;
}

void *leak_outer(size_t size);

__attribute__((noinline)) void *leak_outer(size_t size)
{
	char *bytes = leak_middle(size * 2);

	if (bytes)
		bytes[1] = 2;
	return bytes;
}

static inline __attribute__((always_inline)) void once(size_t size)
{
	if (!leak_outer(size))
		abort();
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		once(50);
		usleep(1000);
	}
}
