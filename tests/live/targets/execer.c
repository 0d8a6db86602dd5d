// SPDX-License-Identifier: Apache-2.0
/* Allocates 10 MB at the first line of input and executes its arguments at the second. */
#include <stdlib.h>

#include "simple.h"

static char *const *command;

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
	for (int i = 0; i < 100; i++) {
		if (!site_before_exec(100000))
			_exit(1);
	}
}

int main(int argc, char *argv[])
{
	command = argv + 1;
	return argc > 1 ? serve(work) : 2;
}
