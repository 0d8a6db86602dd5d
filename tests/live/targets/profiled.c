// SPDX-License-Identifier: Apache-2.0
/*
 * Allocates at known sites for each line on stdin and keeps all blocks. If the heap
 * profiler of gperftools or jemalloc is loaded, makes it write its profile. argv[1] is
 * the size of a block in bytes, argv[2] the number of blocks at each site.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

#include "simple.h"

#define NOINLINE __attribute__((noinline))
/* Prevents a tail call: the call of the allocator is not the last instruction. */
#define KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")

static size_t size;
static int count;

NOINLINE static void site_malloc(void)
{
	void *block = malloc(size);

	KEEP(block);
}

NOINLINE static void site_calloc(void)
{
	void *block = calloc(size / 10, 10);

	KEEP(block);
}

NOINLINE static void site_realloc(void)
{
	void *block = realloc(malloc(10), size);

	KEEP(block);
}

NOINLINE static void site_posix_memalign(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 256, size))
		_exit(2);
	KEEP(block);
}

NOINLINE static void site_aligned_alloc(void)
{
	void *block = aligned_alloc(64, (size + 63) / 64 * 64);

	KEEP(block);
}

NOINLINE static void site_memalign(void)
{
	void *block = memalign(128, size);

	KEEP(block);
}

NOINLINE static void call_sites(int depth)
{
	volatile int below = depth;

	if (depth) {
		call_sites(depth - 1);
	} else {
		site_malloc();
		site_calloc();
		site_realloc();
		site_posix_memalign();
		site_aligned_alloc();
		site_memalign();
	}
	below = below + 1;
}

static void write_profile(void)
{
	void *of_gperftools = dlsym(RTLD_DEFAULT, "HeapProfilerDump");
	void *of_jemalloc = dlsym(RTLD_DEFAULT, "mallctl");
	void (*dump)(const char *reason);
	int (*control)(const char *name, void *old, size_t *old_size, void *new,
		       size_t new_size);

	memcpy(&dump, &of_gperftools, sizeof(dump));
	memcpy(&control, &of_jemalloc, sizeof(control));
	if (dump)
		dump("asked for");
	/* Fails if profiling is off. opt.prof_prefix names the file. */
	if (control)
		control("prof.dump", NULL, NULL, NULL, 0);
}

static void work(void)
{
	for (int i = 0; i < count; i++)
		call_sites(3);
	write_profile();
}

int main(int argc, char *argv[])
{
	if (argc != 3)
		return 2;
	size = strtoul(argv[1], NULL, 10);
	count = atoi(argv[2]);
	return serve(work);
}
