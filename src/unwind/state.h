/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a thread, copied: what unwinding starts from. */
#ifndef UNWIND_STATE_H
#define UNWIND_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"

/* Registers by DWARF number; those without their bit in `known` hold nothing. */
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
 * A copy of a piece of the target's stack. Bit i of `pages` (bit i % 64 of pages[i / 64])
 * is set when the page of 4 KiB that lies i pages after that of `base` could be read;
 * NULL: all could.
 */
struct stack_copy {
	uint64_t base; /* address in the target of the first byte */
	const void *bytes;
	size_t size_bytes;
	const uint64_t *pages;
};

#define STACK_COPY_PAGE_SHIFT 12

/* Copy `size_bytes` bytes (at most 8) at `address`, zero-extended; false when some of
 * them are not in the copy. */
bool stack_copy_read(const struct stack_copy *stack, uint64_t address,
		     unsigned size_bytes, uint64_t *ret);

#endif
