// SPDX-License-Identifier: Apache-2.0
/*
 * A program that executes itself as children, which keep blocks and live for a while.
 * Arguments: number of rounds, children in a round, lifetime of a child in milliseconds.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS      100
#define BLOCK_BYTES 100

void *site_of_child(void);

__attribute__((noinline)) void *site_of_child(void)
{
	void *block = malloc(BLOCK_BYTES);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void live(const char *ms)
{
	for (int i = 0; i < BLOCKS; i++)
		if (!site_of_child())
			_exit(1);
	usleep((useconds_t)atoi(ms) * 1000);
	_exit(0);
}

int main(int argc, char *argv[])
{
	int times = argc > 3 ? atoi(argv[1]) : 0, children = argc > 3 ? atoi(argv[2]) : 0;

	if (argc == 3 && !strcmp(argv[1], "child"))
		live(argv[2]);
	for (int i = 0; i < times; i++) {
		for (int k = 0; k < children; k++) {
			if (vfork())
				continue;
			execl("/proc/self/exe", "spawner", "child", argv[3],
			      (char *)NULL);
			_exit(127);
		}
		for (int k = 0; k < children; k++) {
			int status;

			if (wait(&status) < 0 || status)
				return 1;
		}
	}
	return times > 0 && children > 0 ? 0 : 2;
}
