/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5 section 2.5) in call frame information: they compute
 * values on a stack from registers, constants and memory. The number of operations is
 * bounded.
 */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"
#include "unwind/cursor.h"
#include "unwind/state.h"

/* One decoded operation. */
struct expression_op {
	uint8_t code;
	uint64_t first, second; /* operands; 0: none */
};

/*
 * Decode the next operation; false if it is malformed or not one that call frame
 * information uses. Equivalent forms become one: DW_OP_lit* and DW_OP_const* become
 * DW_OP_constu, DW_OP_breg* becomes DW_OP_bregx (register, offset), DW_OP_deref becomes
 * DW_OP_deref_size, and DW_OP_dup and DW_OP_over become DW_OP_pick.
 */
bool expression_next(struct cursor *c, struct expression_op *ret);

/* Compute `code` of two values, where `b` is the topmost. False if it is not a binary
 * operation, or a division by 0. Comparisons, division and DW_OP_shra are signed. */
bool expression_binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *ret);

enum eval {
	EVAL_OK,
	EVAL_UNKNOWN,   /* a needed register is not known */
	EVAL_NO_MEMORY, /* a needed word is not in the copy */
	EVAL_MALFORMED,
};

/*
 * Evaluate an expression. `*initial`, if not NULL, is pushed first (the CFA, section
 * 6.4.2.3). The result is the topmost value.
 */
enum eval expression_eval(const uint8_t *expression, size_t size_bytes,
			  const struct unwind_registers *registers,
			  const struct stack_copy *stack, const uint64_t *initial,
			  uint64_t *ret);

/* --- symbolic evaluation ------------------------------------------------------------ */

/* The result of an expression at one pc, in terms of at most one other register. */
struct expression_form {
	enum {
		FORM_OTHER,    /* none of the following */
		FORM_CONSTANT, /* addend */
		FORM_REGISTER, /* reg + addend */
		FORM_DEREF,    /* *(reg + offset) + addend */
	} kind;
	uint8_t reg;
	uint64_t offset, addend;
};

/* The form of an expression without an initial value, with the value `pc` in the pc
 * register. Expressions with DW_OP_bra or DW_OP_skip are FORM_OTHER. */
struct expression_form expression_form(const uint8_t *expression, size_t size_bytes,
				       uint64_t pc);

#endif
