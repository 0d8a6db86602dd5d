// SPDX-License-Identifier: Apache-2.0
/*
 * A program that leaves children behind, which wait for a signal. One child keeps blocks.
 * For each argument, another child loads that library and calls its library_outer().
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS      10
#define BLOCK_BYTES 40

void *site_heir(void);

__attribute__((noinline)) void *site_heir(void)
{
	void *block = malloc(BLOCK_BYTES);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void live(const char *path, int ready)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void (*outer)(void) =
		library ? (void (*)(void))dlsym(library, "library_outer") : NULL;

	if (path && !outer)
		_exit(1);
	if (outer)
		outer();
	for (int i = 0; !path && i < BLOCKS; i++)
		site_heir();
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char *argv[])
{
	int ready[2];
	char c;

	if (pipe(ready))
		return 1;
	for (int i = 0; i < argc; i++)
		if (!fork())
			live(i ? argv[i] : NULL, ready[1]);
	for (int i = 0; i < argc; i++)
		if (read(ready[0], &c, 1) != 1)
			return 1;
	return 0;
}
