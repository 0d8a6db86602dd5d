// SPDX-License-Identifier: Apache-2.0
/*
 * A library with an allocator whose functions run, but that no compiler emits: they jump
 * into data, overlap, end without a ret, or have 100,000 basic blocks. valloc() and
 * pvalloc() are as usual. x86-64. Free does nothing: the blocks are of one large pool.
 */
#include <malloc.h>
#include <stddef.h>

#define POOL_BYTES (64 << 20)
#define ALIGNMENT  4096

static char pool[POOL_BYTES] __attribute__((aligned(ALIGNMENT)));
static size_t used;

/* Not static: called from assembly. */
void *malformed_block(size_t size);

__attribute__((visibility("hidden"))) void *malformed_block(size_t size)
{
	size_t rounded = (size + 15) / 16 * 16;
	char *block = pool + used;

	if (rounded > sizeof(pool) - used)
		return NULL;
	used += rounded;
	return block;
}

void *valloc(size_t size)
{
	return malformed_block(size);
}

void *pvalloc(size_t size)
{
	return malformed_block(size);
}

__asm__("	.macro begin name\n"
	"	.globl \\name\n"
	"	.type \\name, @function\n"
	"	.p2align 4\n"
	"\\name:\n"
	"	.cfi_startproc\n"
	"	.endm\n"
	"	.macro end name\n"
	"	.cfi_endproc\n"
	"	.size \\name, . - \\name\n"
	"	.endm\n"
	"	.pushsection .rodata\n"
	"data:\n"
	"	.fill 64, 1, 0x06\n"
	"	.popsection\n"
	"	.pushsection .text\n"

	/* 100,000 basic blocks */
	"	begin malloc\n"
	"	.rept 100000\n"
	"	.byte 0x74, 0\n" /* je to the next instruction */
	"	.endr\n"
	"	jmp malformed_block\n"
	"	end malloc\n"

	/* It would jump into data if rsp were 0. */
	"	begin calloc\n"
	"	imul %rsi, %rdi\n"
	"	test %rsp, %rsp\n"
	"	je data\n"
	"	jmp malformed_block\n"
	"	end calloc\n"

	/* It would jump into the middle of an instruction. */
	"	begin realloc\n"
	"	mov %rsi, %rdi\n"
	"	test %rsp, %rsp\n"
	"	.byte 0x74, 0x01\n" /* je to the second byte of the next instruction */
	"	mov $0x90909090, %eax\n"
	"	jmp malformed_block\n"
	"	end realloc\n"

	/* It goes on in the code behind it, which is of no function. */
	"	begin memalign\n"
	"	mov %rsi, %rdi\n"
	"	end memalign\n"
	"	.cfi_startproc\n"
	"	jmp malformed_block\n"
	"	.cfi_endproc\n"

	/* Both have the second part. */
	"	begin aligned_alloc\n"
	"	mov %rsi, %rdi\n"
	"	.cfi_endproc\n"
	"	.globl reallocarray\n"
	"	.type reallocarray, @function\n"
	"reallocarray:\n"
	"	.cfi_startproc\n"
	"	jmp malformed_block\n"
	"	end reallocarray\n"
	"	.size aligned_alloc, . - aligned_alloc\n"

	/* As realloc. Its first instruction is enough. */
	"	begin free\n"
	"	test %rsp, %rsp\n"
	"	.byte 0x74, 0x01\n"
	"	mov $0x90909090, %eax\n"
	"	ret\n"
	"	end free\n"
	"	.popsection\n");
