/* SPDX-License-Identifier: Apache-2.0 */
/* For each line on stdin, allocates a block of 32 bytes on each of 2^LEVELS call paths.
 * With a number of threads as argument, each of that many threads does so at the same
 * time, on the same call paths. */
#include <pthread.h>
#include <stdlib.h>

#include "simple.h"

#define LEVELS      18
#define THREADS_MAX 16

static void *volatile kept;
static pthread_barrier_t begin, end;

/* Each level calls the next one at two places. */
__attribute__((noinline)) static void go(int levels)
{
	if (!levels) {
		kept = malloc(32);
		return;
	}
	go(levels - 1);
	__asm__ volatile("");
	go(levels - 1);
	__asm__ volatile("");
}

static void work(void)
{
	go(LEVELS);
}

static void *run(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		go(LEVELS);
		pthread_barrier_wait(&end);
	}
	return arg;
}

static void work_in_threads(void)
{
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
}

/* The threads exist before the target is ready: starting one allocates. */
static int start_threads(unsigned count)
{
	pthread_t thread;
	int err = pthread_barrier_init(&begin, NULL, count + 1);

	if (!err)
		err = pthread_barrier_init(&end, NULL, count + 1);
	for (unsigned i = 0; !err && i < count; i++)
		err = pthread_create(&thread, NULL, run, NULL);
	return err;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

	if (!threads)
		return serve(work);
	if (threads > THREADS_MAX || start_threads(threads))
		return 1;
	return serve(work_in_threads);
}
