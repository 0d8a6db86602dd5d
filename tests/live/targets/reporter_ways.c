// SPDX-License-Identifier: Apache-2.0
#include "reporter.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define SEMAPHORE __attribute__((section(".probes")))

unsigned short otel_memory_alloc_semaphore SEMAPHORE;
unsigned short otel_memory_free_semaphore SEMAPHORE;

/* The macros of <sys/sdt.h> use this constraint for all operands of later probes. */
#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT r

uint64_t report_registers(void *block, size_t size)
{
	STAP_PROBE3(otel_memory, alloc, block, size, size);
	return size;
}

uint64_t report_narrow(void *block, size_t size)
{
	unsigned char narrow = (unsigned char)size;
	signed char weight = 0; /* 0: the block counts with its size */

	STAP_PROBE3(otel_memory, alloc, block, narrow, weight);
	return narrow;
}

void report_free(void *block)
{
	STAP_PROBE1(otel_memory, free, block);
}

#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT m

uint64_t report_memory(void *block, size_t size)
{
	void *volatile at = block;
	volatile size_t both[2] = {size, size};

	STAP_PROBE3(otel_memory, alloc, at, both[0], both[1]);
	return size;
}

void report_free_memory(void *block)
{
	void *volatile at = block;

	STAP_PROBE1(otel_memory, free, at);
}

#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT nor

uint64_t report_constant(void *block, size_t size)
{
	/* A probe without the weight. */
	STAP_PROBE2(otel_memory, alloc, block, 4096);
	return size;
}

uint64_t report_sampled(void *block, size_t size)
{
	STAP_PROBE3(otel_memory, alloc, block, size, REPORT_SAMPLED_BYTES);
	return REPORT_SAMPLED_BYTES;
}

/* An addressing mode that no macro emits: a hand-written note with a base and an index
 * register. The operands are elements 2 and 3 of the table. */
uint64_t report_indexed(void *block, size_t size)
{
	volatile uint64_t table[4] = {0, 0, (uint64_t)(uintptr_t)block, size};

	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b\n"
			 ".8byte _.stapsdt.base\n"
			 ".8byte otel_memory_alloc_semaphore\n"
			 ".asciz \"otel_memory\"\n"
			 ".asciz \"alloc\"\n"
			 ".asciz \"8@(%%rax,%%rcx,8) -4@8(%%rax,%%rcx,8) 8@$0\"\n"
			 "994: .balign 4\n"
			 ".popsection\n"
			 :
			 : "a"(table), "c"(2ul), "m"(table));
	return size;
}
