// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the library argv[1] (malformed.c). For each line on stdin it calls each of its
 * functions 100 times, and frees half of the blocks. Then it prints where the last block
 * is, relative to the first one.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "simple.h"

#define CALLS 100

static uintptr_t first, last;
static void *library;

/* The function with this name, at `ret`. */
static void find(const char *name, void *ret)
{
	void *found = dlsym(library, name);

	if (!found)
		_exit(1);
	memcpy(ret, &found, sizeof(found));
}

static void use(void *block, void (*release)(void *block), int i)
{
	last = (uintptr_t)block;
	if (!first)
		first = last;
	if (i % 2)
		release(block);
}

static void work(void)
{
	static const char *const of_size[] = {"malloc", "valloc", "pvalloc"};
	static const char *const of_two[] = {"calloc", "memalign", "aligned_alloc"};
	void (*release)(void *block);
	void *(*resize)(void *block, size_t size);
	char line[64];

	find("free", (void *)&release);
	find("realloc", (void *)&resize);
	for (int i = 0; i < CALLS; i++) {
		for (size_t n = 0; n < 3; n++) {
			void *(*one)(size_t size), *(*two)(size_t a, size_t size);

			find(of_size[n], (void *)&one);
			find(of_two[n], (void *)&two);
			use(one(100), release, i);
			use(two(16, 32), release, i);
		}
		use(resize(NULL, 64), release, i);
	}
	snprintf(line, sizeof(line), "{\"last\": %llu}\n",
		 (unsigned long long)(last - first));
	say(line);
}

int main(int argc, char *argv[])
{
	library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	return library ? serve(work) : 1;
}
