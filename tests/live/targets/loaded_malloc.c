// SPDX-License-Identifier: Apache-2.0
/* A library with its own allocator, to be loaded and called by name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE (1 << 20)

static _Alignas(16) unsigned char arena[ARENA_SIZE];
static size_t used;

#ifdef PROBES_APART
/* The best place for the entry's probe is where the stack pointer is not at the return
 * address. The best place for the result's probe is where no register holds the argument
 * any more. Functions of usual allocators have neither. */
__asm__(".pushsection .text\n"
	".globl malloc\n"
	".type malloc, @function\n"
	"malloc:\n"
	"	sub $8, %rsp\n"
	"	nop\n"
	"	mov %rdi, (%rsp)\n"
	"	xor %edi, %edi\n"
	"	add $8, %rsp\n"
	"	nop\n"
	"	mov -8(%rsp), %rdi\n"
	"	jmp take\n"
	".size malloc, . - malloc\n"
	".popsection\n");

#define malloc take
__attribute__((used)) static void *take(size_t size);
#endif

__attribute__((noinline)) void *malloc(size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;

	if (size > ARENA_SIZE || need > ARENA_SIZE - used)
		return NULL;

	unsigned char *block = arena + used;

	used += need;
	return block;
}

__attribute__((noinline)) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}
