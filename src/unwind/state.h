/* SPDX-License-Identifier: Apache-2.0 */
/* The copied state of a thread, where unwinding starts. */
#ifndef UNWIND_STATE_H
#define UNWIND_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

/* Registers by DWARF number. A register whose bit in `known` is 0 has no value. */
struct unwind_registers {
	uint64_t value[ARCH_REGISTERS];
	uint32_t known;
};

static inline void unwind_registers_set(struct unwind_registers *registers, unsigned reg,
					uint64_t value)
{
	registers->value[reg] = value;
	registers->known |= 1u << reg;
}

/*
 * A copy of a part of the target's stack. Bit i of `pages` (bit i % 64 of pages[i /
 * 64]) is set if the i-th page of 4 KiB, counted from the page of `base`, could be
 * read. NULL: all pages could be read.
 */
struct stack_copy {
	uint64_t base; /* the target's address of the first byte */
	const void *bytes;
	size_t size_bytes;
	const uint64_t *pages;
};

#define STACK_COPY_PAGE_SHIFT 12

/* Copy `size_bytes` bytes (at most 8) at `address`, zero-extended; false if some of
 * them are not in the copy. */
bool stack_copy_read(const struct stack_copy *stack, uint64_t address,
		     unsigned size_bytes, uint64_t *ret);

#endif
