// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the stack shape NAME: shapes NAME. The thread lets its parent process trace it,
 * stops itself before and after, and runs code between that is hard to unwind. Built
 * without frame pointers.
 */
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned sink;

/* --- what is called from everywhere ----------------------------------------------- */

NOINLINE static unsigned leaf(unsigned n)
{
	return sink += n * 2654435761u;
}

/* The size of the frame depends on `n`: the compiler needs rbp. */
NOINLINE static unsigned sized(unsigned n)
{
	unsigned *p = alloca(n * 4 + 16);

	p[n] = n;
	return leaf(p[n]) + n;
}

/* A frame with a larger alignment than the stack, and a variable size: the CFA is in
 * memory. */
NOINLINE static unsigned aligned(unsigned n, double x)
{
	_Alignas(64) volatile unsigned line[16];
	unsigned *p = alloca(n * 8 + 16);

	line[n % 16] = n;
	p[n] = leaf(line[n % 16]);
	return p[n] + sized(n) + (unsigned)x;
}

/* As code for MMX and for old callers is built. */
__attribute__((force_align_arg_pointer, noinline)) static unsigned
realigned(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
	  unsigned g)
{
	_Alignas(32) volatile unsigned line[8] = {a, b, c, d, e, f, g};

	return leaf(line[a % 8]) + sized(line[b % 8] % 16);
}

/* Saves many registers. */
NOINLINE static unsigned busy(unsigned a, unsigned b, unsigned c, unsigned d)
{
	unsigned e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d);

	return leaf(a + e) + leaf(b ^ f) + leaf(c * g) + leaf(d - h) +
	       realigned(a, b, c, d, e, f, g) + aligned(h % 8, 0.5);
}

/* --- shapes ----------------------------------------------------------------------- */

NOINLINE static unsigned recursion(unsigned depth)
{
	if (!depth)
		return busy(1, 2, 3, 4);
	return (depth % 3 ? recursion(depth - 1) : sized(depth) + recursion(depth - 1)) +
	       sink;
}

static int compare(const void *a, const void *b)
{
	leaf(3);
	return *(const int *)a - *(const int *)b;
}

static void sorting(void)
{
	int numbers[] = {5, 3, 9, 1};
	const int key = 3;

	qsort(numbers, 4, sizeof(numbers[0]), compare);
	sink += bsearch(&key, numbers, 4, sizeof(key), compare) != NULL;
}

static void on_signal(int number)
{
	busy((unsigned)number, 2, 3, 4);
}

static void handle(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	sigaction(SIGUSR1, &action, NULL);
}

NOINLINE static void signals(void)
{
	handle(0);
	raise(SIGUSR1);
	leaf(1);
}

NOINLINE static void other_stack(void)
{
	/* On this stack, so that one copy of memory contains both stacks. */
	static const size_t size = 16384;
	stack_t stack = {.ss_sp = alloca(size), .ss_size = size};

	sigaltstack(&stack, NULL);
	handle(SA_ONSTACK);
	raise(SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
}

/* The first calls of libc functions go through the dynamic linker. */
static void library(void)
{
	char text[64];
	time_t now = 0;
	struct tm tm;

	snprintf(text, sizeof(text), "%d %s", 42, "text");
	sink += (unsigned)strlen(text) + (unsigned)atoi(text);
	free(realloc(malloc(100), 300));
	gmtime_r(&now, &tm);
	sink += (unsigned)(pow(tm.tm_sec + 1.5, 2.5) + strtod("1.25", NULL));
}

static void clock_reading(void)
{
	struct timespec now;

	for (clockid_t id = CLOCK_REALTIME; id <= CLOCK_MONOTONIC; id++)
		clock_gettime(id, &now);
	sink += (unsigned)time(NULL);
}

static jmp_buf back;

static void jumps(void)
{
	if (!setjmp(back)) {
		busy(1, 2, 3, 4);
		longjmp(back, 1);
	}
	leaf(9);
}

static ucontext_t coroutine, caller;

static void coroutine_body(void)
{
	busy(4, 3, 2, 1);
	swapcontext(&coroutine, &caller);
}

NOINLINE static void coroutines(void)
{
	static const size_t size = 16384;

	getcontext(&coroutine);
	coroutine.uc_stack = (stack_t){.ss_sp = alloca(size), .ss_size = size};
	coroutine.uc_link = &caller;
	makecontext(&coroutine, coroutine_body, 0);
	swapcontext(&caller, &coroutine);
}

static void deep(void)
{
	recursion(60);
}

static const struct shape {
	const char *name;
	void (*make)(void);
} shapes[] = {
	{"recursion", deep},  {"sorting", sorting},
	{"signals", signals}, {"other_stack", other_stack},
	{"library", library}, {"clock", clock_reading},
	{"jumps", jumps},     {"coroutines", coroutines},
	{"thread", sorting},
};

static void *trace(void *argument)
{
	const struct shape *shape = argument;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	shape->make();
	raise(SIGSTOP);
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (size_t i = 0; argc == 2 && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[1], shapes[i].name))
			continue;
		if (strcmp(argv[1], "thread"))
			trace((void *)&shapes[i]);
		pthread_create(&thread, NULL, trace, (void *)&shapes[i]);
		pthread_join(thread, NULL);
	}
	return 2;
}
