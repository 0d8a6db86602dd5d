// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of malloc that fail, or are interrupted between their first instruction and their
 * result. For each line on stdin the program does the work named by argv[1] and prints
 * what it counted as a line of JSON.
 *
 * A seccomp filter replaces the mmap() for a large block by a signal: the signal handler
 * runs in the middle of malloc.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "simple.h"
#include "trap_mmap.h"

#define NOINLINE __attribute__((noinline))
#define JUMPS    10
#define CALLS    100
#define REFUSED  1000

static struct {
	unsigned long allocations, frees, failures, jumps;
} truth;

static sigjmp_buf before_call;
static char *in_handler[2 * JUMPS];
static size_t in_handler_count;

static void counted_free(void *block)
{
	if (!block)
		return;
	free(block);
	truth.frees++;
}

static void *counted(void *block)
{
	if (block)
		truth.allocations++;
	else
		truth.failures++;
	return block;
}

static void jump_out(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info, (void)context;
	siglongjmp(before_call, 1);
}

static void allocate(int signal, siginfo_t *info, void *context)
{
	ucontext_t *ucontext = context;

	(void)signal, (void)info;
	in_handler[in_handler_count++] = counted(strdup("by libc, in the handler"));
	in_handler[in_handler_count++] = counted(malloc(77));
	/* malloc then tries other memory. */
#if defined(__aarch64__)
	ucontext->uc_mcontext.regs[0] = (unsigned long)-ENOMEM;
#else
	ucontext->uc_mcontext.gregs[REG_RAX] = -ENOMEM;
#endif
}

/* Calls malloc from libc and from here, deeper in the stack than the malloc that was
 * left: its remains are in the callers' frames. */
NOINLINE static void call_deep(int depth)
{
	volatile char stack[256];

	stack[0] = (char)depth;
	if (depth) {
		call_deep(depth - 1);
	} else {
		for (int i = 0; i < CALLS; i++) {
			counted_free(counted(strdup("0123456789")));
			counted_free(counted(malloc(10)));
		}
	}
	stack[1] = stack[0];
}

static void large_blocks(void)
{
	for (volatile int i = 0; i < JUMPS; i++) {
		if (!sigsetjmp(before_call, 1))
			counted_free(counted(malloc(LARGE)));
		else
			truth.jumps++;
		call_deep(20);
	}
	for (size_t i = 0; i < in_handler_count; i++)
		counted_free(in_handler[i]);
}

/* Let `handler` run in the middle of each call of malloc for a large block. */
static void trap(void (*handler)(int, siginfo_t *, void *))
{
	const struct sigaction action = {.sa_sigaction = handler,
					 .sa_flags = SA_SIGINFO | SA_NODEFER};

	trap_large_blocks(&action);
}

static void jumps(void)
{
	trap(jump_out);
	large_blocks();
}

static void handler(void)
{
	trap(allocate);
	large_blocks();
}

/* As many calls of each kind: refused at once, refused late, small, larger. */
static void refused(void)
{
	static const volatile size_t sizes[] = {SIZE_MAX, (size_t)1 << 62, 50, 500};

	for (int i = 0; i < REFUSED; i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
			counted_free(counted(malloc(sizes[k])));
	}
}

/* The product of the arguments is 2^64: its low 64 bits are 0. */
static void overflows(void)
{
	volatile size_t count = (size_t)1 << 33, size = (size_t)1 << 31;

	for (int i = 0; i < REFUSED; i++)
		counted_free(counted(calloc(count, size)));
}

/* Makes glibc's list of freed blocks continue at an unaligned address: glibc notices and
 * aborts. */
static void corrupt(void)
{
	char *volatile one = counted(malloc(100)), *volatile other = counted(malloc(100));

	counted_free(one);
	counted_free(other);
	*(uintptr_t *)other = ((uintptr_t)other >> 12) ^ ((uintptr_t)one + 1);
	one = counted(malloc(100));
	other = counted(malloc(100));
}

int main(int argc, char *argv[])
{
	static const struct {
		const char *name;
		void (*work)(void);
	} works[] = {{"jumps", jumps},
		     {"handler", handler},
		     {"refused", refused},
		     {"overflows", overflows},
		     {"corrupt", corrupt}};
	char line[200], c;

	say("{\"ready\":\"inside\"}\n");
	while (read(STDIN_FILENO, &c, 1) == 1) {
		if (c != '\n')
			continue;
		for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
			if (argc == 2 && !strcmp(argv[1], works[i].name))
				works[i].work();
		}
		snprintf(line, sizeof(line),
			 "{\"allocations\":%lu,\"frees\":%lu,\"failures\":%lu,"
			 "\"jumps\":%lu}\n",
			 truth.allocations, truth.frees, truth.failures, truth.jumps);
		say(line);
	}
	return 0;
}
