// SPDX-License-Identifier: Apache-2.0
/*
 * Reports its blocks by USDT probes, and counts what it reported. Commands on stdin: make
 * N (at each site), drop N (at each site, the oldest), threads N (N blocks in each of
 * four threads, half of them dropped at once), fail N (failed allocations), load PATH (a
 * library that has probes, too). The answer is a line of JSON with the truth: the counts
 * of each site, the totals and the semaphores.
 */
#ifndef WITHOUT_LIBRARIES
#include <dlfcn.h>
#endif
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reporter.h"

#define SITE     __attribute__((noinline, used))
#define KEPT_MAX 20000
#define THREADS  4

struct block {
	void *address;
	uint64_t weight;
};

struct site {
	const char *name;
	struct block (*make)(size_t size);
	size_t made, dropped; /* kept[dropped] to kept[made - 1] are outstanding */
	struct block kept[KEPT_MAX];
};

static struct {
	uint64_t allocations, allocated_bytes, frees, freed_bytes, failures;
} totals;

static uint64_t (*report_in_library)(void *block, size_t size);

static void *get(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

/* Not inlined into each other, and with their own frames. */
#define DEFINE_SITE(way)                                                                 \
	struct block site_##way(size_t size);                                            \
	SITE struct block site_##way(size_t size)                                        \
	{                                                                                \
		struct block block = {get(size), 0};                                     \
                                                                                         \
		if (*(volatile unsigned short *)&otel_memory_alloc_semaphore)            \
			block.weight = report_##way(block.address, size);                \
		return block;                                                            \
	}

DEFINE_SITE(registers)
DEFINE_SITE(memory)
DEFINE_SITE(indexed)
DEFINE_SITE(narrow)
DEFINE_SITE(constant)
DEFINE_SITE(sampled)

struct block site_library(size_t size);
SITE struct block site_library(size_t size)
{
	struct block block = {get(size), 0};

	if (report_in_library)
		block.weight = report_in_library(block.address, size);
	return block;
}

struct block site_thread(size_t size);
SITE struct block site_thread(size_t size)
{
	struct block block = {get(size), 0};

	block.weight = report_registers(block.address, size);
	return block;
}

static struct site sites[] = {
	{.name = "site_registers", .make = site_registers},
	{.name = "site_memory", .make = site_memory},
	{.name = "site_indexed", .make = site_indexed},
	{.name = "site_narrow", .make = site_narrow},
	{.name = "site_constant", .make = site_constant},
	{.name = "site_sampled", .make = site_sampled},
	{.name = "site_library", .make = site_library},
	{.name = "site_thread", .make = site_thread},
};
#define MADE (sizeof(sites) / sizeof(*sites) - 1) /* the last site is for threads */

static size_t size_for(const struct site *site, size_t n)
{
	if (site->make == site_constant)
		return 4096;
	if (site->make == site_narrow)
		return 1 + n % 255;
	if (site->make == site_sampled)
		return 100;
	return 1 + n * 7919 % 5000;
}

static void note(const struct block *block)
{
	if (!block->weight)
		return;
	__atomic_fetch_add(&totals.allocations, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&totals.allocated_bytes, block->weight, __ATOMIC_RELAXED);
}

static void make(struct site *site)
{
	struct block block;

	if (site->made == KEPT_MAX)
		abort();
	block = site->make(size_for(site, site->made));
	note(&block);
	site->kept[site->made++] = block;
}

/* A block that was not reported is not reported when it is freed, either. Samplers do the
 * same. */
static void drop(struct block *block, int in_memory)
{
	if (block->weight && in_memory)
		report_free_memory(block->address);
	else if (block->weight)
		report_free(block->address);
	if (block->weight) {
		__atomic_fetch_add(&totals.frees, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&totals.freed_bytes, block->weight, __ATOMIC_RELAXED);
	}
	free(block->address);
	block->weight = 0;
}

static void *in_thread(void *arg)
{
	struct site *site = &sites[MADE];
	size_t count = (size_t)(uintptr_t)arg;

	for (size_t i = 0; i < count; i++) {
		size_t at = __atomic_fetch_add(&site->made, 1, __ATOMIC_RELAXED);

		if (at >= KEPT_MAX)
			abort();
		site->kept[at] = site_thread(size_for(site, at));
		note(&site->kept[at]);
		if (i % 2)
			drop(&site->kept[at], 0);
	}
	return NULL;
}

static void run_threads(size_t count)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, in_thread,
				   (void *)(uintptr_t)count))
			abort();
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void load(const char *path)
{
#ifdef WITHOUT_LIBRARIES
	(void)path;
	abort();
#else
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		abort();
	*(void **)&report_in_library = dlsym(library, "report_in_library");
	if (!report_in_library)
		abort();
#endif
}

static void answer(void)
{
	printf("{\"sites\":[");
	for (size_t i = 0; i <= MADE; i++) {
		const struct site *site = &sites[i];
		uint64_t bytes = 0, blocks = 0;

		for (size_t n = site->dropped; n < site->made; n++) {
			bytes += site->kept[n].weight;
			blocks += site->kept[n].weight > 0;
		}
		printf("%s{\"site\":\"%s\",\"bytes\":%" PRIu64 ",\"blocks\":%" PRIu64 "}",
		       i ? "," : "", site->name, bytes, blocks);
	}
	printf("],\"allocations\":%" PRIu64 ",\"allocated_bytes\":%" PRIu64
	       ",\"frees\":%" PRIu64 ",\"freed_bytes\":%" PRIu64 ",\"failures\":%" PRIu64
	       ",\"alloc_semaphore\":%u,\"free_semaphore\":%u}\n",
	       totals.allocations, totals.allocated_bytes, totals.frees,
	       totals.freed_bytes, totals.failures,
	       *(volatile unsigned short *)&otel_memory_alloc_semaphore,
	       *(volatile unsigned short *)&otel_memory_free_semaphore);
}

static void run(const char *what, size_t n, const char *path)
{
	if (!strcmp(what, "make")) {
		for (; n; n--)
			for (size_t i = 0; i < MADE; i++)
				make(&sites[i]);
	} else if (!strcmp(what, "drop")) {
		for (; n; n--)
			for (size_t i = 0; i < MADE; i++)
				if (sites[i].dropped < sites[i].made)
					drop(&sites[i].kept[sites[i].dropped++], n % 2);
	} else if (!strcmp(what, "threads")) {
		run_threads(n);
	} else if (!strcmp(what, "fail")) {
		for (; n; n--, totals.failures++)
			report_registers(NULL, 100);
	} else if (!strcmp(what, "load")) {
		load(path);
	} else if (strcmp(what, "ask") != 0) {
		abort();
	}
}

int main(void)
{
	char line[4096], what[32], path[4000];
	size_t n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":%d}\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		path[0] = '\0';
		if (sscanf(line, "%31s %zu", what, &n) < 2 &&
		    sscanf(line, "%31s %3999s", what, path) < 1)
			continue;
		run(what, n, path);
		answer();
	}
	return 0;
}
