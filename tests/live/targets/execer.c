// SPDX-License-Identifier: Apache-2.0
/* At the first line of input it allocates 100 blocks of 100,000 bytes, and drops the
 * pointers to half of them. At the second line it executes its arguments. */
#include <stdlib.h>

#include "simple.h"

static char *const *command;
static void *volatile kept[50];
/* A static program has no free() unless it refers to it, and is then not traced. */
void (*volatile release)(void *) = free;

void *site_before_exec(size_t size);

__attribute__((noinline)) void *site_before_exec(size_t size)
{
	void *block = malloc(size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void work(void)
{
	static int lines;

	if (lines++) {
		execv(command[0], command);
		_exit(127);
	}
	/* The allocator points to the last block, so that one is kept. */
	for (int i = 0; i < 100; i++) {
		void *block = site_before_exec(100000);

		if (!block)
			_exit(1);
		if (i % 2)
			kept[i / 2] = block;
	}
}

int main(int argc, char *argv[])
{
	command = argv + 1;
	return argc > 1 ? serve(work) : 2;
}
