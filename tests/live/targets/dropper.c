// SPDX-License-Identifier: Apache-2.0
/* A library to preload that leaks: a thread takes blocks and drops the pointers to
 * them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline, used))

/* Leaves no copy of the pointer in a register, or on the part of the stack that is in
 * use. */
void drop_pointer(void);
SITE void drop_pointer(void)
{
	volatile char *block = malloc(777);

	if (block)
		*block = 1;
}

static SITE void wash(void)
{
	volatile unsigned long used[512];

	memset((void *)used, 0, sizeof(used));
}

static void *leak(void *unused)
{
	(void)unused;
	for (;;) {
		drop_pointer();
		wash();
		usleep(2000);
	}
	return NULL;
}

static __attribute__((constructor)) void start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, leak, NULL))
		abort();
}
