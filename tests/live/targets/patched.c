/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that is patched while it runs, so that it differs from its file. Patched
 * malloc, calloc and valloc return blocks PATCH_BYTES behind the block that was in the
 * register before. With the argument "late" only malloc is patched, after LATE_CALLS
 * calls.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simple.h"

#define ARENA_SIZE  (8 << 20)
#define PATCH_BYTES 16
#define LATE_CALLS  150

__attribute__((used)) static _Alignas(16) unsigned char arena[ARENA_SIZE];
__attribute__((used)) static unsigned char *next = arena;

/* The patch replaces a nop of the same length. */
static const unsigned char patch[4] = {0x48, 0x83, 0xc0, PATCH_BYTES}; /* add, %rax */

void malloc_patch(void);
void calloc_patch(void);
void memalign_patch(void);

/* Each block has PATCH_BYTES of room behind it. One probe at the jump sees the whole
 * call: rdi holds the size and rax the result. */
__asm__(".pushsection .text\n"
	".globl malloc\n"
	".type malloc, @function\n"
	"malloc:\n"
	"	.cfi_startproc\n"
	"	lea 47(%rdi), %rcx\n"
	"	and $-16, %rcx\n"
	"	mov next(%rip), %rdx\n"
	"	add %rdx, %rcx\n"
	"	mov %rcx, next(%rip)\n"
	"	mov %rdx, %rax\n"
	"	jmp 1f\n"
	"1:\n"
	".globl malloc_patch\n"
	"malloc_patch:\n"
	"	.byte 0x0f, 0x1f, 0x40, 0x00\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size malloc, . - malloc\n"
	".popsection\n");

/* When the result is there, no register holds the size any more. */
__asm__(".pushsection .text\n"
	".globl calloc\n"
	".type calloc, @function\n"
	"calloc:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbx, -16\n"
	"	imul %rsi, %rdi\n"
	"	call take\n"
	"	mov %rax, %rbx\n"
	"	jmp 1f\n"
	"1:\n"
	"	mov %rbx, %rax\n"
	".globl calloc_patch\n"
	"calloc_patch:\n"
	"	.byte 0x0f, 0x1f, 0x40, 0x00\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size calloc, . - calloc\n"
	".popsection\n");

/* This function jumps to another one, and they share their sites. */
__asm__(".pushsection .text\n"
	".globl memalign\n"
	".type memalign, @function\n"
	"memalign:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbx, -16\n"
	"	mov %rsi, %rdi\n"
	"	call take\n"
	"	mov %rax, %rbx\n"
	"	jmp 1f\n"
	"1:\n"
	"	mov %rbx, %rax\n"
	".globl memalign_patch\n"
	"memalign_patch:\n"
	"	.byte 0x0f, 0x1f, 0x40, 0x00\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size memalign, . - memalign\n"
	".globl valloc\n"
	".type valloc, @function\n"
	"valloc:\n"
	"	.cfi_startproc\n"
	"	test %rdi, %rdi\n"
	"	mov %rdi, %rsi\n"
	"	mov $16, %edi\n"
	"	jmp memalign\n"
	"	.cfi_endproc\n"
	".size valloc, . - valloc\n"
	".popsection\n");

__attribute__((noinline, used)) static void *take(size_t size)
{
	unsigned char *block = next;

	next += (size + 47) & ~(size_t)15;
	return block;
}

__attribute__((noinline)) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

static void write_patch(void (*at)(void))
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned char *to = (unsigned char *)(uintptr_t)at;
	unsigned char *page = to - (uintptr_t)to % page_bytes;

	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(1);
	memcpy(to, patch, sizeof(patch));
	/* The kernel puts no probe into writable code. */
	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_EXEC))
		_exit(1);
}

/* At each line one step: patch and make many calls; allocate blocks and keep them; free
 * them. */
static void work(void)
{
	static void *kept[3][200];
	static int turn;

	switch (turn++) {
	case 0:
		write_patch(malloc_patch);
		write_patch(calloc_patch);
		write_patch(memalign_patch);
		/* Calls until memtrace has noticed the patch. */
		for (int i = 0; i < 500; i++) {
			free(malloc(100));
			free(calloc(2, 50));
			free(valloc(100));
			usleep(1000);
		}
		break;
	case 1:
		for (int i = 0; i < 200; i++) {
			kept[0][i] = malloc(30);
			kept[1][i] = calloc(3, 10);
			kept[2][i] = valloc(30);
		}
		break;
	default:
		for (int i = 0; i < 200; i++) {
			free(kept[0][i]);
			free(kept[1][i]);
			free(kept[2][i]);
		}
	}
}

static void call_malloc(int count)
{
	for (int i = 0; i < count; i++) {
		free(malloc(100));
		usleep(1000);
	}
}

static void work_late(void)
{
	call_malloc(LATE_CALLS);
	write_patch(malloc_patch);
	call_malloc(500);
}

int main(int argc, char *argv[])
{
	(void)argv;
	return serve(argc > 1 ? work_late : work);
}
