// SPDX-License-Identifier: Apache-2.0
/*
 * The process that the bench traces. First it prints the addresses of malloc and munmap.
 * Then it reads commands from stdin, one a line:
 *   pairs N DEPTH   N pairs of malloc and free, DEPTH calls below main; prints the ns of
 *                   one pair in the fastest part (the one with the least interference)
 *   walks N DEPTH   the same, alternating between two call sites: no stack equals the
 *                   previous one
 *   bursts N DEPTH  N times 11 pairs, DEPTH calls below main, once in a millisecond;
 *                   prints the median ns of one pair
 *   fill N STACKS   leak N blocks from STACKS call paths; prints "full"
 *   churn N         N blocks, each in place of an older one; every 512th older one leaks;
 *                   prints the processor time of one, ns
 *   load PATH       map a library; prints "loaded"
 *   call NAME       call a function of it; prints "called"
 *   exec            execute this program again
 *   touch N         touch N new pages; prints the processor time of one, ns
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline))

#define BLOCK_BYTES 32
#define FILL_LEVELS 14 /* 2^14 call paths */
#define MANY_LEVELS 17 /* for more: 2^17 */

/* Written by each function below, to make them differ: the compiler would merge functions
 * with equal code. */
static volatile unsigned mark;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Short: most parts are not interrupted by other work of the machine. */
#define PART_PAIRS 1000

static NOINLINE double run_pairs(unsigned long count)
{
	double least_ns = INFINITY;

	for (unsigned long part = 0; part < count / PART_PAIRS; part++) {
		double start_ns = now_ns();

		for (unsigned i = 0; i < PART_PAIRS; i++) {
			void *p = malloc(BLOCK_BYTES);

			/* Make the compiler assume that the block is used. */
			__asm__ __volatile__("" : : "r"(p) : "memory");
			free(p);
		}
		least_ns = fmin(least_ns, (now_ns() - start_ns) / PART_PAIRS);
	}
	return least_ns;
}

static NOINLINE double run_walks(unsigned long count)
{
	double least_ns = INFINITY;

	for (unsigned long part = 0; part < count / PART_PAIRS; part++) {
		double start_ns = now_ns();

		for (unsigned i = 0; i < PART_PAIRS; i += 2) {
			void *p = malloc(BLOCK_BYTES);

			__asm__ __volatile__("" : : "r"(p) : "memory");
			free(p);
			p = malloc(BLOCK_BYTES);
			__asm__ __volatile__("" : : "r"(p) : "memory");
			free(p);
		}
		least_ns = fmin(least_ns, (now_ns() - start_ns) / PART_PAIRS);
	}
	return least_ns;
}

#define BURST_PAIRS 11
#define BURST_NS    1000000
#define BURSTS_MAX  10000

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static NOINLINE double run_bursts(unsigned long count)
{
	static double ns[BURSTS_MAX];
	struct timespec next;

	if (!count || count > BURSTS_MAX)
		abort();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned long burst = 0; burst < count; burst++) {
		next.tv_nsec += BURST_NS;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);

		double start_ns = now_ns();

		for (unsigned i = 0; i < BURST_PAIRS; i++) {
			void *p = malloc(BLOCK_BYTES);

			__asm__ __volatile__("" : : "r"(p) : "memory");
			free(p);
		}
		ns[burst] = (now_ns() - start_ns) / BURST_PAIRS;
	}
	qsort(ns, count, sizeof(*ns), compare);
	return ns[count / 2];
}

static NOINLINE double run_below(double (*run)(unsigned long count), unsigned depth,
				 unsigned long count)
{
	double ns = depth ? run_below(run, depth - 1, count) : run(count);

	mark = depth;
	return ns;
}

#define CHURN_BLOCKS 2000
#define CHURN_LEAK   512 /* one block in this many leaks */

/* Processor time of the process: not disturbed by others that want the processor. */
static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static NOINLINE double run_churn(unsigned long count)
{
	static char *held[CHURN_BLOCKS];
	static unsigned random = 1;
	double start_ns = cpu_ns();

	for (unsigned long i = 0; i < count; i++) {
		random = random * 1664525 + 1013904223;

		char **at = &held[(random >> 8) % CHURN_BLOCKS];
		size_t size = 16 + (random >> 12) % 2000;

		if (i % CHURN_LEAK)
			free(*at);
		*at = malloc(size);
		if (!*at)
			abort();
		(*at)[0] = (*at)[size - 1] = 1;
	}
	return (cpu_ns() - start_ns) / (double)count;
}

static NOINLINE double run_touch(unsigned long count)
{
	char *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double start_ns = cpu_ns();

	if (pages == MAP_FAILED || madvise(pages, count * 4096, MADV_NOHUGEPAGE))
		abort();
	for (unsigned long i = 0; i < count; i++)
		((volatile char *)pages)[i * 4096] = 1;
	start_ns = cpu_ns() - start_ns;
	munmap(pages, count * 4096);
	return start_ns / (double)count;
}

static NOINLINE void left(unsigned path, unsigned levels);
static NOINLINE void right(unsigned path, unsigned levels);

/* Branch by the next bit of `path`. The innermost call leaks a block. */
static inline void descend(unsigned path, unsigned levels)
{
	if (!levels) {
		if (!malloc(BLOCK_BYTES))
			abort();
	} else if (path & 1) {
		right(path >> 1, levels - 1);
	} else {
		left(path >> 1, levels - 1);
	}
}

static NOINLINE void left(unsigned path, unsigned levels)
{
	descend(path, levels);
	mark = 1;
}

static NOINLINE void right(unsigned path, unsigned levels)
{
	descend(path, levels);
	mark = 2;
}

/* Call a function of a loaded library. Returns the answer to print. */
static const char *call(const char *name)
{
	void (*function)(void) = NULL;

	*(void **)&function = dlsym(RTLD_DEFAULT, name);
	if (!function)
		return "not found";
	function();
	return "called";
}

int main(void)
{
	char line[512], text[512];
	unsigned long count;
	unsigned n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("malloc %p munmap %p\n", (void *)malloc, (void *)munmap);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "pairs %lu %u", &count, &n) == 2) {
			printf("%.3f\n", run_below(run_pairs, n, count));
		} else if (sscanf(line, "walks %lu %u", &count, &n) == 2) {
			printf("%.3f\n", run_below(run_walks, n, count));
		} else if (sscanf(line, "bursts %lu %u", &count, &n) == 2) {
			printf("%.3f\n", run_below(run_bursts, n, count));
		} else if (sscanf(line, "churn %lu", &count) == 1) {
			printf("%.3f\n", run_churn(count));
		} else if (sscanf(line, "touch %lu", &count) == 1) {
			printf("%.3f\n", run_touch(count));
		} else if (sscanf(line, "fill %lu %u", &count, &n) == 2) {
			for (unsigned long i = 0; i < count; i++)
				descend((unsigned)(i % n), n > 1u << FILL_LEVELS
								   ? MANY_LEVELS
								   : FILL_LEVELS);
			printf("full\n");
		} else if (sscanf(line, "load %511s", text) == 1) {
			printf("%s\n", dlopen(text, RTLD_NOW | RTLD_GLOBAL) ? "loaded"
									    : dlerror());
		} else if (sscanf(line, "call %511s", text) == 1) {
			printf("%s\n", call(text));
		} else if (!strcmp(line, "exec\n")) {
			execl("/proc/self/exe", "bench_target", (char *)NULL);
			return 1;
		}
	}
	return 0;
}
