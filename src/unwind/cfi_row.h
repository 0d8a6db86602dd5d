/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of the unwind table (DWARF 5 section 6.4) at one pc: it says how to find the
 * caller's registers. Found by running the programs of CIE and FDE up to that pc.
 */
#ifndef UNWIND_CFI_ROW_H
#define UNWIND_CFI_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"
#include "unwind/cfi_entry.h"

enum cfi_how {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,         /* saved at CFA + offset */
	CFI_VAL_OFFSET,     /* the value is CFA + offset */
	CFI_REGISTER,       /* the value is register `reg` + offset */
	CFI_EXPRESSION,     /* saved at the address that the expression gives */
	CFI_VAL_EXPRESSION, /* the value is the result of the expression */
	/* A CFA on another stack (unwind/stack_switch.h): the word at stack pointer +
	 * offset points to the bounds of that stack. Not part of DWARF. */
	CFI_STACK_SWITCH,
};

/* How to find one value. */
struct cfi_rule {
	uint8_t how;         /* enum cfi_how */
	uint8_t reg;         /* < ARCH_REGISTERS */
	uint32_t size_bytes; /* of `expression` */
	union {
		int64_t offset;
		const uint8_t *expression; /* in the section */
	};
};

struct cfi_row {
	struct cfi_rule cfa; /* CFI_REGISTER, _VAL_EXPRESSION or _STACK_SWITCH */
	struct cfi_rule registers[ARCH_REGISTERS];
	bool is_signal_frame; /* a signal trampoline: the caller was interrupted */
};

/* Find the row at `pc`, which lies within the FDE. False if a program is malformed, has
 * no CFA, or is longer or deeper than any real one. Expressions point into the
 * section's memory. */
bool cfi_row_find(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t pc, struct cfi_row *ret);

/* One row of the table, valid for the addresses [start, end). */
typedef void cfi_row_fn(void *arg, uint64_t start, uint64_t end,
			const struct cfi_row *row);

/*
 * Call `each` for the rows of the FDE that begin before `end`, in ascending order; the
 * last one is cut at `end`. If two rows have the same pc, the later one counts. Returns
 * false if cfi_row_find() would fail at the last address: rows before the fault are
 * given, rows at and after it are not. *ret_steps is the number of instructions run.
 */
bool cfi_row_each(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t end, cfi_row_fn *each, void *arg, unsigned *ret_steps);

#endif
