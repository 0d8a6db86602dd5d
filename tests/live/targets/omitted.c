// SPDX-License-Identifier: Apache-2.0
/*
 * Built without frame pointers. Allocates on call paths that are hard to unwind, each
 * with its own block size. Each line of input is the name of a scenario; the answer is a
 * line.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define TIMES 100

extern char __executable_start;
static void *volatile last;
static volatile unsigned sink;
static const char *library_a, *library_b;

/* --- recursion -------------------------------------------------------------------- */

NOINLINE static void recurse(int depth, size_t size)
{
	volatile char pad[40];

	pad[depth % 40] = (char)depth;
	if (depth == 0)
		last = malloc(size);
	else
		recurse(depth - 1, size);
	sink += (unsigned)pad[0];
}

NOINLINE static void scenario_recursion(void)
{
	for (int i = 0; i < TIMES; i++)
		recurse(19, 1001);
	sink++;
}

NOINLINE static void scenario_deep(void)
{
	for (int i = 0; i < TIMES; i++)
		recurse(119, 1008);
	sink++;
}

/* The same recursion with another caller. */
NOINLINE static void scenario_deep_again(void)
{
	for (int i = 0; i < TIMES; i++)
		recurse(119, 1015);
	sink += 2;
}

/* --- paths that differ in one return address -------------------------------------- */

NOINLINE static void twin_allocates(size_t size)
{
	last = malloc(size);
	sink++;
}

NOINLINE static void left_allocates(void)
{
	twin_allocates(1013);
	sink++;
}

NOINLINE static void right_allocates(void)
{
	twin_allocates(1014);
	sink++;
}

NOINLINE static void scenario_twins(void)
{
	for (int i = 0; i < 2 * TIMES; i++)
		(i & 1 ? left_allocates : right_allocates)();
	sink++;
}

/* --- the same path some times, then one that differs at its outer end ------------- */

NOINLINE static void wide_allocates(int depth, size_t size)
{
	volatile char pad[6000];

	pad[depth] = (char)depth;
	recurse(depth, size);
	sink += (unsigned)pad[depth];
}

NOINLINE static void left_turn_allocates(void (*way)(int, size_t), size_t size)
{
	way(18, size);
	sink++;
}

NOINLINE static void right_turn_allocates(void (*way)(int, size_t), size_t size)
{
	way(18, size + 1);
	sink++;
}

/* The pauses let memtrace find the unwind rules. */
NOINLINE static void scenario_turns(void)
{
	for (int i = 0; i < 4 * TIMES; i++) {
		void (*way)(int, size_t) = i < 2 * TIMES ? recurse : wide_allocates;
		size_t size = i < 2 * TIMES ? 1016 : 1018;

		if (i % 40 == 0)
			usleep(5000);
		(i / 4 & 1 ? left_turn_allocates : right_turn_allocates)(way, size);
	}
	sink++;
}

/* --- a callback from libc --------------------------------------------------------- */

NOINLINE static int compare_allocates(const void *a, const void *b)
{
	last = malloc(1002);
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void scenario_qsort(void)
{
	for (int i = 0; i < TIMES; i++) {
		int two[] = {2, 1};

		qsort(two, 2, sizeof(*two), compare_allocates);
		sink += (unsigned)two[0];
	}
}

/* --- a signal handler ------------------------------------------------------------- */

NOINLINE static void handler_allocates(int signal)
{
	last = malloc(1003);
	sink += (unsigned)signal;
}

NOINLINE static void scenario_signal(void)
{
	signal(SIGUSR2, handler_allocates);
	for (int i = 0; i < TIMES; i++)
		raise(SIGUSR2);
	sink++;
}

/* --- a thread --------------------------------------------------------------------- */

NOINLINE static void thread_allocates(void)
{
	for (int i = 0; i < TIMES; i++)
		last = malloc(1004);
	sink++;
}

NOINLINE static void *thread_main(void *arg)
{
	thread_allocates();
	sink++;
	return arg;
}

NOINLINE static void scenario_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL) == 0)
		pthread_join(thread, NULL);
	sink++;
}

/* --- frames of no fixed size ------------------------------------------------------ */

NOINLINE static void alloca_allocates(size_t size)
{
	char *room = alloca(size);

	memset(room, 1, size);
	last = malloc(1005);
	sink += (unsigned)room[size / 2];
}

NOINLINE static void scenario_alloca(void)
{
	for (int i = 0; i < TIMES; i++)
		alloca_allocates(1000 + (size_t)i * 16);
	sink++;
}

NOINLINE static void realigned_allocates(void)
{
	volatile char aligned[64] __attribute__((aligned(64)));

	aligned[0] = (char)((uintptr_t)aligned % 64);
	last = malloc(1006);
	sink += (unsigned)aligned[0];
}

NOINLINE static void scenario_realigned(void)
{
	for (int i = 0; i < TIMES; i++)
		realigned_allocates();
	sink++;
}

NOINLINE static void vla_allocates(size_t size)
{
	volatile char room[size + 1];

	room[size] = 1;
	last = malloc(1009);
	sink += (unsigned)room[size];
}

NOINLINE static void scenario_vla(void)
{
	for (int i = 0; i < TIMES; i++)
		vla_allocates(100 + (size_t)i * 40);
	sink++;
}

/* --- jumps instead of calls and returns ------------------------------------------- */

NOINLINE static void tail_allocates(void)
{
	last = malloc(1010);
	sink++;
}

/* A tail call if the compiler makes one: then this function is on no stack. */
#if defined(__clang__)
NOINLINE static void tail_jumps(void)
#else
__attribute__((optimize("optimize-sibling-calls"))) NOINLINE static void tail_jumps(void)
#endif
{
	sink += 3;
	tail_allocates();
}

NOINLINE static void scenario_tail(void)
{
	for (int i = 0; i < TIMES; i++) {
		tail_jumps();
		sink++;
	}
}

static jmp_buf back;

NOINLINE static void longjmp_leaves(int depth);
static void (*volatile longjmp_deeper)(int) = longjmp_leaves;

NOINLINE static void longjmp_leaves(int depth)
{
	if (depth == 0)
		longjmp(back, 1);
	longjmp_deeper(depth - 1);
	sink++;
}

NOINLINE static void longjmp_allocates(void)
{
	if (setjmp(back))
		last = malloc(1011);
	else
		longjmp_leaves(10);
	sink++;
}

NOINLINE static void scenario_longjmp(void)
{
	for (int i = 0; i < TIMES; i++)
		longjmp_allocates();
	sink++;
}

/* --- another tool's return probe in between --------------------------------------- */

NOINLINE static void probed_allocates(void)
{
	last = malloc(1007);
	sink++;
}

NOINLINE static void probed_outer(void)
{
	probed_allocates();
	sink++;
}

/* Many return probes on one stack: the other tool probes recurse(), too. */
NOINLINE static void scenario_probed_deep(void)
{
	for (int i = 0; i < TIMES; i++)
		recurse(29, 1012);
	sink++;
}

NOINLINE static void scenario_probed(void)
{
	for (int i = 0; i < TIMES; i++)
		probed_outer();
	sink++;
}

/* --- libraries at the same addresses ---------------------------------------------- */

#ifdef WITHOUT_LIBRARIES
/* A static program does not run these scenarios. */
#define dlopen(path, how) ((void)(path), (void *)NULL)
#endif

NOINLINE static void call_library(const char *path, unsigned pause_us)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*outer)(void) = NULL;

	if (!library)
		exit(90);
	*(void **)&outer = dlsym(library, "library_outer");
	if (!outer)
		exit(91);
	usleep(pause_us);
	outer();
	usleep(pause_us);
	dlclose(library);
}

NOINLINE static void scenario_dlopen(void)
{
	for (int i = 0; i < TIMES; i++) {
		call_library(library_a, 3000);
		call_library(library_b, 3000);
	}
	sink++;
}

NOINLINE static void scenario_fast(void)
{
	for (int i = 0; i < TIMES; i++) {
		call_library(library_a, 0);
		call_library(library_b, 0);
	}
	sink++;
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenarios[] = {
		{"recursion", scenario_recursion},
		{"twins", scenario_twins},
		{"turns", scenario_turns},
		{"qsort", scenario_qsort},
		{"signal", scenario_signal},
		{"thread", scenario_thread},
		{"alloca", scenario_alloca},
		{"realigned", scenario_realigned},
		{"probed", scenario_probed},
		{"dlopen", scenario_dlopen},
		{"dlopen_fast", scenario_fast},
		{"deep", scenario_deep},
		{"deep_again", scenario_deep_again},
		{"vla", scenario_vla},
		{"tail", scenario_tail},
		{"longjmp", scenario_longjmp},
		{"probed_deep", scenario_probed_deep},
	};
	char line[64];

	if (argc != 3)
		return 2;
	library_a = argv[1];
	library_b = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":\"omitted\",\"probed_outer\":%td,\"recurse\":%td}\n",
	       (char *)(uintptr_t)probed_outer - &__executable_start,
	       (char *)(uintptr_t)recurse - &__executable_start);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
			if (!strcmp(line, scenarios[i].name))
				scenarios[i].run();
		printf("{\"done\":true}\n");
	}
	return 0;
}
