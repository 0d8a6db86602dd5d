// SPDX-License-Identifier: Apache-2.0
/*
 * A process that allocates with each of the usual functions, from whichever allocator is
 * preloaded. First it prints the addresses of malloc and munmap. Then it reads commands
 * from stdin, one a line: "OPERATION N" performs the operation N times and prints the ns
 * of one operation in the fastest part (see PART), the one with the least interference.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE    __attribute__((noinline))

#define BLOCK_BYTES 32
#define GROWN_BYTES 256
#define ALIGNMENT   64

/* Operations of one part. Short: most parts are not interrupted by other work of the
 * machine. */
#define PART 1000

/* operator new(std::size_t) and operator delete(void *). */
struct operators {
	void *(*new)(size_t size);
	void (*delete)(void *block);
};

typedef void operation_fn(const struct operators *operators);

/* Make the compiler assume that the block is used. */
static inline void use(void *block)
{
	__asm__ __volatile__("" : : "r"(block) : "memory");
}

static NOINLINE void run_malloc(const struct operators *operators)
{
	void *p = malloc(BLOCK_BYTES);

	(void)operators;
	use(p);
	free(p);
}

static NOINLINE void run_calloc(const struct operators *operators)
{
	void *p = calloc(1, BLOCK_BYTES);

	(void)operators;
	use(p);
	free(p);
}

static NOINLINE void run_realloc(const struct operators *operators)
{
	void *p = malloc(BLOCK_BYTES);

	(void)operators;
	use(p);
	p = realloc(p, GROWN_BYTES);
	use(p);
	free(p);
}

static NOINLINE void run_memalign(const struct operators *operators)
{
	void *p = NULL;

	(void)operators;
	if (posix_memalign(&p, ALIGNMENT, BLOCK_BYTES))
		abort();
	use(p);
	free(p);
}

static NOINLINE void run_new(const struct operators *operators)
{
	void *p = operators->new (BLOCK_BYTES);

	use(p);
	operators->delete (p);
}

static const struct {
	const char *name;
	operation_fn *run;
} operations[] = {
	{"malloc", run_malloc},     {"calloc", run_calloc}, {"realloc", run_realloc},
	{"memalign", run_memalign}, {"new", run_new},
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

static operation_fn *find(const char *name)
{
	for (size_t i = 0; i < OPERATIONS; i++)
		if (!strcmp(operations[i].name, name))
			return operations[i].run;
	abort();
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(operation_fn *run, const struct operators *operators,
		      unsigned long count)
{
	double least_ns = INFINITY;

	for (unsigned long part = 0; part < count / PART; part++) {
		double start_ns = now_ns();

		for (unsigned i = 0; i < PART; i++)
			run(operators);
		least_ns = fmin(least_ns, (now_ns() - start_ns) / PART);
	}
	return least_ns;
}

/* The operators of the preloaded allocator, or of the C++ runtime. */
static struct operators find_operators(void)
{
	struct operators found = {NULL, NULL};

	if (!dlsym(RTLD_DEFAULT, "_Znwm") &&
	    !dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL))
		abort();
	*(void **)&found.new = dlsym(RTLD_DEFAULT, "_Znwm");
	*(void **)&found.delete = dlsym(RTLD_DEFAULT, "_ZdlPv");
	return found;
}

int main(void)
{
	const struct operators operators = find_operators();
	char line[64], name[16];
	unsigned long count;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("malloc %p munmap %p\n", dlsym(RTLD_DEFAULT, "malloc"),
	       dlsym(RTLD_DEFAULT, "munmap"));
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "%15s %lu", name, &count) == 2)
			printf("%.3f\n", measure(find(name), &operators, count));
	return 0;
}
