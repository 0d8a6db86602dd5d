// SPDX-License-Identifier: Apache-2.0
/*
 * How long the plan of a library takes: reading its symbols, and analysing the machine
 * code of its functions to find the places of the probes. Processor time of this process,
 * which makes the plans itself. "Again" is for the next process that maps the library
 * (plan/plan_cache.h).
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "library_path.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"
#include "allocator/allocator.h"
#include "util/heap.h"

#define RUNS 21

static const char *const libraries[] = {"libc.so.6", "libjemalloc.so.2",
					"libtcmalloc_minimal.so.4", "libmimalloc.so.2"};

#define LIBRARIES (sizeof(libraries) / sizeof(*libraries))

/* Processor time, ms. */
struct times {
	double names, sites;
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void require(struct error *err)
{
	if (err)
		die("analysis: %s", err->message);
}

static struct times plan_once(const char *path, struct plan_cache *cache,
			      size_t *functions)
{
	struct allocator_file file = {.module_path = path};
	const struct allocator_options how = {0};
	const struct plan_options options = {.unmapped = true, .cache = cache};
	struct allocators allocators = {0};
	double start, named;
	struct plan *plan;
	char *why = NULL;

	require(target_file_named(NULL, path, &file.file));
	start = cpu_ms();
	require(allocators_scan(&file, &how, &allocators, &why));
	named = cpu_ms();
	require(plan_build_for(&allocators, &options, &plan));

	struct times times = {named - start, cpu_ms() - named};

	*functions = plan_site_count(plan);
	plan_destroy(plan);
	target_file_release(file.file);
	free(why);
	return times;
}

static struct times measure(const char *path, struct plan_cache *cache, size_t *functions)
{
	double names[RUNS], sites[RUNS];

	for (size_t i = 0; i < RUNS; i++) {
		struct times one = plan_once(path, cache, functions);

		names[i] = one.names;
		sites[i] = one.sites;
	}
	return (struct times){median(names, RUNS), median(sites, RUNS)};
}

static void one_library(const char *name)
{
	char *path = library_path(name);
	struct times first, again;
	size_t functions;

	if (!path) {
		printf("%s is not measured: it is not installed\n", name);
		return;
	}
	first = measure(path, NULL, &functions);

	struct plan_cache *cache = plan_cache_create();

	if (!cache)
		die("out of memory");
	plan_once(path, cache, &functions);
	again = measure(path, cache, &functions);
	plan_cache_destroy(cache);
	printf("%-28s %9zu %10.2f %10.2f %10.2f %10.2f\n", name, functions, first.names,
	       first.sites, again.names, again.sites);
	fflush(stdout);
	free(path);
}

void section_analysis(void)
{
	/* As memtrace does. */
	heap_keep_some();
	printf("\nThe plan of a library, ms of processor time: finding its functions, "
	       "and "
	       "then the probes' places\n%-28s %9s %10s %10s %10s %10s\n",
	       "", "functions", "first", "places", "again", "places");
	for (size_t i = 0; i < LIBRARIES; i++)
		one_library(libraries[i]);
}
