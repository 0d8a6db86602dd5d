// SPDX-License-Identifier: Apache-2.0
/*
 * Calls every allocation function that counter.c interposes, in four threads and in a
 * forked child, leaves some blocks, and ends with _exit(). Prints the number of calls
 * that returned memory, their requested bytes and the number of frees of this process,
 * for comparison with the counter. The argument is the number of rounds of calls.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS  20000
#define THREADS 4

static unsigned rounds = ROUNDS;

struct sums {
	uint64_t allocations, bytes, frees;
};

static void made(struct sums *sums, const void *block, size_t size)
{
	if (!block)
		exit(3);
	sums->allocations++;
	sums->bytes += size;
}

static void drop(struct sums *sums, void *block)
{
	free(block);
	sums->frees++;
}

/* Allocates a block with each function. One round in 100 keeps the blocks. */
static void round_of_calls(struct sums *sums, unsigned round)
{
	size_t size = round % 3000 + 1;
	void *blocks[9] = {malloc(size),
			   calloc(3, size),
			   realloc(NULL, size),
			   memalign(64, size),
			   valloc(size),
			   pvalloc(size),
			   aligned_alloc(32, 32 * size)};
	unsigned n = 7;

	for (unsigned i = 0; i < n; i++)
		made(sums, blocks[i], i == 1 ? 3 * size : i == 6 ? 32 * size : size);
	blocks[n++] = reallocarray(NULL, 2, size);
	made(sums, blocks[7], 2 * size);
	if (posix_memalign(&blocks[n++], 128, size))
		exit(3);
	made(sums, blocks[8], size);

	/* Counts as a free and an allocation. */
	blocks[0] = realloc(blocks[0], 2 * size);
	made(sums, blocks[0], 2 * size);
	sums->frees++;
	/* A failing call changes nothing. */
	volatile size_t too_much = SIZE_MAX / 2;
	void *refused = realloc(blocks[1], too_much);
	if (refused || malloc(too_much))
		exit(3);
	/* Counts as a free: it returns no block. */
	refused = realloc(blocks[2], 0);
	sums->frees++;
	if (refused)
		exit(3);
	for (unsigned i = 0; round % 100 && i < n; i++) {
		if (i != 2)
			drop(sums, blocks[i]);
	}
}

static void *run(void *arg)
{
	for (unsigned round = 1; round <= rounds; round++)
		round_of_calls(arg, round);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct sums sums[THREADS], child, total;
	static char buffer[4096];
	pthread_t threads[THREADS];

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	/* stdio must not allocate a buffer. */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	for (unsigned i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run, &sums[i]))
			return 3;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pid_t pid = fork();
	if (!pid) {
		run(&child);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return 3;
	for (unsigned i = 0; i < THREADS; i++) {
		total.allocations += sums[i].allocations;
		total.bytes += sums[i].bytes;
		total.frees += sums[i].frees;
	}
	printf("%llu %llu %llu\n", (unsigned long long)total.allocations,
	       (unsigned long long)total.bytes, (unsigned long long)total.frees);
	fflush(stdout);
	_exit(0);
}
