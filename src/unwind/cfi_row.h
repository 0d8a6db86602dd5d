/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The row of the unwind table (DWARF 5 section 6.4) at one pc: how to find the caller's
 * registers there. Found by running the programs of CIE and FDE up to that pc.
 */
#ifndef UNWIND_CFI_ROW_H
#define UNWIND_CFI_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/cfi_entry.h"

enum cfi_how {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,         /* saved at CFA + offset */
	CFI_VAL_OFFSET,     /* is CFA + offset */
	CFI_REGISTER,       /* of a register: is reg + offset */
	CFI_EXPRESSION,     /* saved at the address that the expression gives */
	CFI_VAL_EXPRESSION, /* is what the expression gives */
	/* A CFA on another stack (unwind/stack_switch.h): the address of the word that
	 * points to that stack's bounds is the stack pointer + offset. Not of DWARF. */
	CFI_STACK_SWITCH,
};

/* Where one value is. */
struct cfi_rule {
	uint8_t how; /* enum cfi_how */
	uint8_t reg; /* < ARCH_REGISTERS */
	uint32_t size_bytes;
	union {
		int64_t offset;
		const uint8_t *expression; /* `size_bytes` of the section */
	};
};

struct cfi_row {
	struct cfi_rule cfa; /* CFI_REGISTER, _VAL_EXPRESSION or _STACK_SWITCH */
	struct cfi_rule registers[ARCH_REGISTERS];
	bool is_signal_frame; /* a signal trampoline: the caller was interrupted */
};

/* Find the row at `pc`, which lies within the FDE. False when a program is malformed,
 * has no CFA, or is longer or deeper than any real one. Expressions stay in the
 * section's memory. */
bool cfi_row_find(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t pc, struct cfi_row *ret);

/* One row of the table: it holds from `start` up to `end`, which is exclusive. */
typedef void cfi_row_fn(void *arg, uint64_t start, uint64_t end,
			const struct cfi_row *row);

/*
 * Call `each` for the rows of the FDE that begin before `end`, in ascending order; the
 * last one is cut at `end`. A pc with two rows has the later one. Returns false when
 * cfi_row_find() would fail at the last address: a pc before the fault has a row, and the
 * fault's own rows are not given. *ret_steps is the number of instructions that were run.
 */
bool cfi_row_each(const struct cfi_section *section, const struct cfi_fde *fde,
		  uint64_t end, cfi_row_fn *each, void *arg, unsigned *ret_steps);

#endif
