// SPDX-License-Identifier: Apache-2.0
/*
 * A cache that grows without bound. Nothing is lost: every entry can still be reached,
 * so a tool that looks for unreachable blocks reports no leak. The memory grows all the
 * same, since most keys are looked up only once and no entry is ever dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE      __attribute__((noinline))

#define BUCKETS       1024
#define LOOKUPS_PER_S 500
#define FAVOURITES    100 /* keys that half of the lookups ask for */

struct entry {
	struct entry *next;
	unsigned long key;
	char *page;
};

struct cache {
	struct entry *buckets[BUCKETS];
	unsigned long entries;
};

static NOINLINE char *render_page(unsigned long key)
{
	size_t size_bytes = 500 + key % 1000;
	char *page = malloc(size_bytes);

	if (!page)
		abort();
	memset(page, 'p', size_bytes);
	return page;
}

static NOINLINE struct entry *cache_insert(struct cache *cache, unsigned long key)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		abort();
	entry->key = key;
	entry->page = render_page(key);
	entry->next = cache->buckets[key % BUCKETS];
	cache->buckets[key % BUCKETS] = entry;
	cache->entries++;
	return entry;
}

static NOINLINE const char *cache_get(struct cache *cache, unsigned long key)
{
	struct entry *entry = cache->buckets[key % BUCKETS];

	while (entry && entry->key != key)
		entry = entry->next;
	if (!entry)
		entry = cache_insert(cache, key);
	return entry->page;
}

static NOINLINE int serve_page(struct cache *cache, unsigned long number)
{
	unsigned long key = number % 2 ? number % FAVOURITES : FAVOURITES + number;

	return cache_get(cache, key)[0];
}

int main(void)
{
	struct cache cache = {0};
	const struct timespec pause = {.tv_nsec = 1000000000 / LOOKUPS_PER_S};

	printf("cache: pid %d, %d lookups a second, every other with a new key\n",
	       (int)getpid(), LOOKUPS_PER_S);
	fflush(stdout);
	for (unsigned long number = 0;; number++) {
		if (serve_page(&cache, number) != 'p')
			return 1;
		nanosleep(&pause, NULL);
	}
}
