// SPDX-License-Identifier: Apache-2.0
/* A target for the views. For each line it leaks some blocks, uses a cache that is full
 * after the first line, builds a pile that it frees at every fourth line, and churns. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "simple.h"

#define SITE(name)                                                                       \
	void *site_##name(size_t size);                                                  \
	__attribute__((noinline)) void *site_##name(size_t size)                         \
	{                                                                                \
		void *block = malloc(size);                                              \
                                                                                         \
		if (!block)                                                              \
			_exit(1);                                                        \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

SITE(leak)
SITE(cache)
SITE(sawtooth)
SITE(churn)

static uint32_t random_below(uint32_t n)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

static void use_cache(void)
{
	static void *entries[200];

	for (int i = 0; i < 2000; i++) {
		void **entry = &entries[random_below(200)];

		free(*entry);
		*entry = site_cache(900 + random_below(200));
	}
}

static void build_pile(void)
{
	static void *pile[20];
	static int height;

	if (height == 20)
		while (height)
			free(pile[--height]);
	for (int i = 0; i < 5; i++)
		pile[height++] = site_sawtooth(1000);
}

static void churn(void)
{
	static void *blocks[40];
	uint32_t count = 1 + random_below(40);

	for (uint32_t i = 0; i < 40; i++) {
		free(blocks[i]);
		blocks[i] = i < count ? site_churn(512) : NULL;
	}
}

static void work(void)
{
	for (int i = 0; i < 10; i++)
		site_leak(100);
	use_cache();
	build_pile();
	churn();
	/* Makes the time for a report small beside the time between two reports. */
	nanosleep(&(const struct timespec){.tv_nsec = 100000000}, NULL);
}

int main(void)
{
	return serve(work);
}
