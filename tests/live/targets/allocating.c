// SPDX-License-Identifier: Apache-2.0
/*
 * Threads that allocate without pause, from one line on stdin to the next. Prints the
 * address of the function that they run meanwhile.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "allocate_each.h"
#include "simple.h"

#define NOINLINE  __attribute__((noinline))
#define THREADS   2
#define TIMEOUT_S 120

static volatile bool goes_on;

NOINLINE static void allocate_on(void)
{
	time_t until = time(NULL) + TIMEOUT_S;

	while (goes_on && time(NULL) < until)
		allocate_each();
}

static void *run(void *unused)
{
	allocate_on();
	return unused;
}

/* The first line starts the threads, the second one ends them. */
static void work(void)
{
	static pthread_t threads[THREADS];

	goes_on = !goes_on;
	for (int i = 0; i < THREADS; i++) {
		if (goes_on ? pthread_create(&threads[i], NULL, run, NULL)
			    : pthread_join(threads[i], NULL))
			_exit(2);
	}
}

int main(void)
{
	char line[64];

	snprintf(line, sizeof(line), "{\"ready\":\"allocating\",\"function\":%lld}\n",
		 (long long)(intptr_t)allocate_on);
	say(line);
	return serve(work);
}
