// SPDX-License-Identifier: Apache-2.0
/*
 * leak_check BYTES BLOCKS LOST_EACH: allocate BLOCKS blocks that fill BYTES, each with a
 * pointer to another one, lose one in LOST_EACH, and let LeakSanitizer, with which this
 * program is built, search for them. Prints how long that takes, ns.
 */
#include <sanitizer/lsan_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A pointer to each block that is not lost. LeakSanitizer searches global variables. */
static char **volatile table;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 20;
	size_t blocks = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	size_t lost_each = argc > 3 ? strtoull(argv[3], NULL, 10) : 100;
	size_t size = bytes / blocks / 16 * 16;
	uint64_t state = 88172645463325252u, begin_ns;

	table = malloc(blocks * sizeof(*table));
	if (!table || size < sizeof(char *))
		return 1;
	for (size_t i = 0; i < blocks; i++) {
		table[i] = malloc(size);
		if (!table[i])
			return 1;
		memset(table[i], 1, size);
	}
	for (size_t i = 0; i < blocks; i++) {
		size_t other;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		other = state % blocks;
		if (other % lost_each)
			memcpy(table[i], &table[other], sizeof(char *));
	}
	for (size_t i = 0; i < blocks; i += lost_each)
		table[i] = NULL;
	begin_ns = now_ns();
	if (!__lsan_do_recoverable_leak_check())
		return 1;
	printf("%llu\n", (unsigned long long)(now_ns() - begin_ns));
	fflush(stdout);
	/* Without another search. */
	_exit(0);
}
