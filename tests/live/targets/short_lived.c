// SPDX-License-Identifier: Apache-2.0
/*
 * A program that ends at once, with known allocations before main, in main and after
 * main. Arguments: the exit status, and "abort" to die of SIGABRT instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile kept[100];

__attribute__((noinline)) static void site_constructor(void)
{
	kept[0] = malloc(111);
}

__attribute__((constructor)) static void early(void)
{
	site_constructor();
}

__attribute__((noinline)) static void site_main(void)
{
	for (int i = 1; i <= 50; i++)
		kept[i] = malloc(1000);
	for (int i = 1; i <= 20; i++)
		free(kept[i]);
}

__attribute__((noinline)) static void site_at_exit(void)
{
	kept[60] = malloc(77);
}

int main(int argc, char *argv[])
{
	static char line[256];
	const char *variable = getenv("SHORT_LIVED");

	atexit(site_at_exit);
	site_main();
	snprintf(line, sizeof(line), "child %s %s %s\n", argc > 1 ? argv[1] : "-",
		 argc > 2 ? argv[2] : "-", variable ? variable : "-");
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return 99;
	if (argc > 2 && !strcmp(argv[2], "abort"))
		abort();
	return argc > 1 ? atoi(argv[1]) : 0;
}
