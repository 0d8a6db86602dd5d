// SPDX-License-Identifier: Apache-2.0
/* Four threads that allocate and free as fast as they can, until the program is killed or
 * its stdin ends. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define HELD    64 /* blocks of each thread */

static void *work(void *arg)
{
	void *held[HELD] = {NULL};
	uint32_t random = (uint32_t)(uintptr_t)arg;

	for (;;) {
		uint32_t i;

		random = random * 1103515245 + 12345;
		i = (random >> 16) % HELD;
		free(held[i]);
		held[i] = malloc(16 + (random >> 20) % 2000);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char byte;

	for (uintptr_t i = 1; i <= THREADS; i++)
		if (pthread_create(&thread, NULL, work, (void *)i))
			return 1;
	puts("{\"ready\":true}");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) < 0;
}
