// SPDX-License-Identifier: Apache-2.0
/*
 * Calls functions on another stack, as Go's runtime.asmcgocall does. test_go.c uses it if
 * Go is not installed. Functions named NAME_allocates run on the thread's stack. Their
 * callers run on a stack of a page, with an unreadable page below it. Block sizes:
 * test_go.c.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "simple.h"

#define NOINLINE    __attribute__((noinline))
#define PAGE_BYTES  4096u
#define TIMES       1000
#define PLAIN_TIMES 50000

/* As in Go, the struct begins with the bounds of the stack. */
struct g {
	uintptr_t low, high;
	uintptr_t moved_to; /* end address of the page to which the stack moves next */
};

typedef void work_fn(struct g *g);

/* Run `work` as the outermost function on the stack that ends at `sp`. */
void run_on_stack(struct g *g, work_fn *work, uintptr_t sp);
/* Run `work` on the thread's stack. */
void call_on_thread(work_fn *work, struct g *g);

uintptr_t thread_sp, caller_sp;
__thread struct g *current_g;

__asm__(".text\n"
	".globl run_on_stack\n"
	".type run_on_stack, @function\n"
	"run_on_stack:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	push %rbx\n"
	"	mov %rsp, thread_sp(%rip)\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdx, %rsp\n"
	"	call *%rsi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size run_on_stack, . - run_on_stack\n"
	/* This function has no unwind information. */
	".globl call_on_thread\n"
	".type call_on_thread, @function\n"
	"call_on_thread:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rsp, %rdx\n"
	"	mov %rsp, caller_sp(%rip)\n"
	"	mov thread_sp(%rip), %rsp\n"
	"	sub $64, %rsp\n"
	"	and $-16, %rsp\n"
	"	mov %rdi, 48(%rsp)\n"
	"	mov 8(%rdi), %rcx\n"
	"	sub %rdx, %rcx\n"
	"	mov %rcx, 40(%rsp)\n"
	"	call *%rax\n"
	"	mov 48(%rsp), %rdi\n"
	"	mov 8(%rdi), %rsi\n"
	"	sub 40(%rsp), %rsi\n"
	"	mov %rdi, %fs:current_g@tpoff\n"
	"	mov %rsi, %rsp\n"
	"	ret\n"
	".size call_on_thread, . - call_on_thread\n");

static void *volatile kept;

static NOINLINE void allocate(size_t size)
{
	kept = malloc(size);
	memset(kept, 1, 1);
}

/* --- on the thread's stack -------------------------------------------------------- */

static NOINLINE void plain_allocates(struct g *g)
{
	(void)g;
	allocate(41);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void edge_allocates(struct g *g)
{
	(void)g;
	allocate(42);
	__asm__ volatile("" ::: "memory");
}

/* Moves the other stack by a copy: nothing on it points into it. */
static NOINLINE void moved_allocates(struct g *g)
{
	uintptr_t from = g->low;

	mprotect((void *)(g->moved_to - PAGE_BYTES), PAGE_BYTES, PROT_READ | PROT_WRITE);
	memcpy((void *)(g->moved_to - PAGE_BYTES), (void *)from, PAGE_BYTES);
	g->low = g->moved_to - PAGE_BYTES;
	g->high = g->moved_to;
	g->moved_to = from + PAGE_BYTES;
	mprotect((void *)from, PAGE_BYTES, PROT_NONE);
	allocate(43);
	__asm__ volatile("" ::: "memory");
}

/* Sets bounds that do not contain the caller. */
static NOINLINE void bad_allocates(struct g *g)
{
	g->low = g->high - 8;
	allocate(44);
	g->low = g->high - PAGE_BYTES;
}

/* --- on the other stack ----------------------------------------------------------- */

#define CALL_IN_A_LOOP(name, times)                                                      \
	static NOINLINE void name##_calls(struct g *g)                                   \
	{                                                                                \
		for (int i = 0; i < (times); i++)                                        \
			call_on_thread(name##_allocates, g);                             \
	}

CALL_IN_A_LOOP(plain, PLAIN_TIMES)
CALL_IN_A_LOOP(edge, TIMES)
CALL_IN_A_LOOP(moved, TIMES)
CALL_IN_A_LOOP(bad, TIMES)

/* --- scenarios -------------------------------------------------------------------- */

/* A page between two unreadable pages. */
static uintptr_t guarded_page(void)
{
	char *at =
		mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED ||
	    mprotect(at + PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE))
		exit(1);
	return (uintptr_t)at + PAGE_BYTES;
}

static struct g *g;

static void run(work_fn *work, uintptr_t sp)
{
	run_on_stack(g, work, sp);
}

static void work(void)
{
	uintptr_t used;

	run(plain_calls, g->high - 64);
	/* Choose sp such that the caller's frame begins at the start of the page. The
	 * memory below it is unreadable. */
	used = g->high - 64 - caller_sp;
	run(edge_calls, g->low + 16 + used);
	run(moved_calls, g->high - 64);
	run(bad_calls, g->high - 64);
}

int main(void)
{
	uintptr_t page = guarded_page();

	g = (struct g *)guarded_page();
	*g = (struct g){page, page + PAGE_BYTES, guarded_page() + PAGE_BYTES};
	return serve(work);
}
