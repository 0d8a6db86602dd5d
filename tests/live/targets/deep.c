// SPDX-License-Identifier: Apache-2.0
/*
 * Built without frame pointers. Allocates at the end of deep recursions and below large
 * frames. Each line of input is a command and a number; the answer is a line. If there
 * are arguments, they are the commands, and the program then kills itself with a signal,
 * so that its blocks are live at the end.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define TIMES       40 /* as in test_deep.c */
#define THREADS_MAX 8
#define STACK_BYTES (64u << 20)

static void *volatile last;
static volatile unsigned sink;

/* --- recursion -------------------------------------------------------------------- */

static size_t leaf_size = 4001;
static unsigned
	leaf_pairs; /* calls of malloc and free in the leaf; 0: one block is kept */

NOINLINE static void leaf_allocates(void)
{
	for (unsigned i = 0; i < leaf_pairs; i++) {
		last = malloc(leaf_size);
		free(last);
	}
	if (!leaf_pairs)
		last = malloc(leaf_size);
	sink++;
}

static void pong(int depth);

NOINLINE static void ping(int depth)
{
	if (depth)
		pong(depth - 1);
	else
		leaf_allocates();
	sink++;
}

NOINLINE static void pong(int depth)
{
	volatile char pad[40];

	pad[depth % 40] = 1;
	if (depth)
		ping(depth - 1);
	else
		leaf_allocates();
	sink += (unsigned)pad[0];
}

/* TIMES stacks, each one frame deeper than the last. */
NOINLINE static void scenario_recursion(int depth)
{
	leaf_size = 4001;
	for (int i = 0; i < TIMES; i++)
		ping(depth + i);
	sink++;
}

/* Measures a pair of malloc and free at this depth, in ns. */
NOINLINE static void scenario_pairs(int depth)
{
	struct timespec begin, end;

	leaf_pairs = depth > 5000 ? 2000 : 20000;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ping(depth);
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%d: %.0f ns a pair\n", depth,
		((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		 (double)(end.tv_nsec - begin.tv_nsec)) /
			leaf_pairs);
	leaf_pairs = 0;
}

/* --- large frames ----------------------------------------------------------------- */

/* A function with a frame of `bytes` bytes, which calls `next` by way of a small
 * frame. */
#define WIDE(name, bytes, next)                                                          \
	NOINLINE static void name##_calls(void)                                          \
	{                                                                                \
		next();                                                                  \
		sink++;                                                                  \
	}                                                                                \
	NOINLINE static void name(void)                                                  \
	{                                                                                \
		volatile char buffer[bytes];                                             \
                                                                                         \
		buffer[0] = buffer[(bytes)-1] = 1;                                       \
		name##_calls();                                                          \
		sink += (unsigned)buffer[0];                                             \
	}

NOINLINE static void wide_allocates(void)
{
	last = malloc(4002);
	sink++;
}

WIDE(wide_64k, 64 << 10, wide_allocates)
WIDE(wide_1m, 1 << 20, wide_64k)
WIDE(wide_7m, 7 << 20, wide_1m)

/* The main thread's stack has room for all these frames except the largest one. */
NOINLINE static void scenario_wide(int times)
{
	for (int i = 0; i < times; i++)
		wide_1m();
	sink++;
}

__attribute__((used)) NOINLINE static void bare_allocates(void)
{
	last = malloc(4004);
	sink++;
}

/* Without unwind information: no unwind table has its rules. */
void bare(void);
__asm__(".text\n"
	".type bare, @function\n"
	"bare: pushq %rbp\n"
	"movq %rsp, %rbp\n"
	"call bare_allocates\n"
	"popq %rbp\n"
	"ret\n"
	".size bare, . - bare\n");

WIDE(wide_150k, 150 << 10, bare)

/* For frames that together are larger than 64 KiB, and smaller than 256. */
NOINLINE static void scenario_half_wide(int times)
{
	for (int i = 0; i < times; i++)
		wide_150k();
	sink++;
}

static void (*library_outer)(void);

NOINLINE static void library_is_called(void)
{
	library_outer();
	sink++;
}

WIDE(wide_library, 256 << 10, library_is_called)

/* Maps a library, and reaches its code deep in a stack `wait_ms` later. */
NOINLINE static void scenario_library(int wait_ms)
{
	void *library = dlopen(DEEP_LIBRARY, RTLD_NOW);
	void *outer = library ? dlsym(library, "library_outer") : NULL;

	if (!outer)
		exit(5);
	memcpy(&library_outer, &outer, sizeof(outer));
	usleep((useconds_t)wait_ms * 1000);
	wide_library();
	sink++;
}

static int thread_times, thread_depth;

static void *half_wide_main(void *arg)
{
	(void)arg;
	scenario_half_wide(thread_times);
	return NULL;
}

static void *wide_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < thread_times; i++)
		wide_7m();
	return NULL;
}

static void *recursion_main(void *arg)
{
	(void)arg;
	leaf_size = 4003;
	for (int i = 0; i < TIMES; i++)
		ping(thread_depth + i);
	return NULL;
}

static void run_threads(void *(*main)(void *arg), int count)
{
	pthread_t threads[THREADS_MAX];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, STACK_BYTES))
		exit(3);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, main, NULL))
			exit(4);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void scenario_wide_thread(int times)
{
	thread_times = times;
	run_threads(wide_main, 1);
}

static void scenario_half_wide_threads(int times)
{
	thread_times = times;
	run_threads(half_wide_main, THREADS_MAX);
}

static void scenario_wide_threads(int times)
{
	thread_times = times;
	run_threads(wide_main, THREADS_MAX);
}

static void scenario_recursion_threads(int depth)
{
	thread_depth = depth;
	run_threads(recursion_main, THREADS_MAX);
}

static void run(const char *line)
{
	static const struct {
		const char *name;
		void (*run)(int n);
	} scenarios[] = {
		{"recursion", scenario_recursion},
		{"pairs", scenario_pairs},
		{"wide", scenario_wide},
		{"half_wide", scenario_half_wide},
		{"library", scenario_library},
		{"half_wide_threads", scenario_half_wide_threads},
		{"wide_thread", scenario_wide_thread},
		{"wide_threads", scenario_wide_threads},
		{"recursion_threads", scenario_recursion_threads},
	};
	char name[32];
	int n;

	if (sscanf(line, "%31s %d", name, &n) != 2)
		exit(2);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		if (!strcmp(name, scenarios[i].name))
			scenarios[i].run(n);
}

int main(int argc, char *argv[])
{
	char line[64];

	for (int i = 1; i < argc; i++)
		run(argv[i]);
	if (argc > 1)
		kill(getpid(), SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":\"deep\"}\n");
	while (fgets(line, sizeof(line), stdin)) {
		run(line);
		printf("{\"done\":true}\n");
	}
	return 0;
}
