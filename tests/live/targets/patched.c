/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocator that is patched while it runs, so that it does not do what its file says:
 * malloc, calloc and valloc come to return blocks that lie PATCH_BYTES behind those that
 * they have in their registers before. With "late" for an argument that is malloc alone,
 * after LATE_CALLS calls.
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

/* The patch is written over a nop of the same length. */
static const unsigned char patch[4] = {0x48, 0x83, 0xc0, PATCH_BYTES}; /* add, %rax */

void malloc_patch(void);
void calloc_patch(void);
void memalign_patch(void);

/* There is room for PATCH_BYTES behind each block. One probe at the jump can see all of a
 * call: the size is in rdi, and the result in rax. */
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

/* Here the size is gone when the result is there. */
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

/* One function leads to another, where both have the same sites. */
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
	/* The kernel puts no probes into writable code. */
	if (mprotect(page, 2 * page_bytes, PROT_READ | PROT_EXEC))
		_exit(1);
}

/* By turns: the patch and many calls; some calls of which the blocks stay; and as many
 * frees of those. */
static void work(void)
{
	static void *kept[3][200];
	static int turn;

	switch (turn++) {
	case 0:
		write_patch(malloc_patch);
		write_patch(calloc_patch);
		write_patch(memalign_patch);
		/* Until memtrace has noticed. */
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
