/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions (DWARF 5 section 2.5) as call frame information has them: values on
 * a stack, made of registers, constants and memory. Branches are bounded.
 */
#ifndef UNWIND_EXPRESSION_H
#define UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/arch.h"
#include "unwind/cursor.h"
#include "unwind/state.h"

/* One operation taken from the bytes. */
struct expression_op {
	uint8_t code;
	uint64_t first, second; /* operands, 0 where there is none */
};

/*
 * Take the next operation; false when it is malformed or none that a frame needs. Plain
 * forms of the same thing become one: DW_OP_lit* and DW_OP_const* become DW_OP_constu,
 * DW_OP_breg* becomes DW_OP_bregx (register, offset), DW_OP_deref becomes
 * DW_OP_deref_size, and DW_OP_dup and DW_OP_over become DW_OP_pick.
 */
bool expression_next(struct cursor *c, struct expression_op *ret);

/* The result of `code` on two values, `b` from the top; false when it is none of those,
 * or a division by 0. Comparisons, division and DW_OP_shra are signed. */
bool expression_binary(uint8_t code, uint64_t a, uint64_t b, uint64_t *ret);

enum eval {
	EVAL_OK,
	EVAL_UNKNOWN,   /* a register is needed that is not known */
	EVAL_NO_MEMORY, /* a word is needed that is not in the copy */
	EVAL_MALFORMED,
};

/*
 * Evaluate an expression; `*initial`, if not NULL, lies on its stack first (the CFA,
 * section 6.4.2.3). The result is the value on top.
 */
enum eval expression_eval(const uint8_t *expression, size_t size_bytes,
			  const struct unwind_registers *registers,
			  const struct stack_copy *stack, const uint64_t *initial,
			  uint64_t *ret);

/* --- in general ------------------------------------------------------------------- */

/* What an expression comes to, at one pc, whatever the other registers are. */
struct expression_form {
	enum {
		FORM_OTHER,    /* none of these */
		FORM_CONSTANT, /* addend */
		FORM_REGISTER, /* reg + addend */
		FORM_DEREF,    /* *(reg + offset) + addend */
	} kind;
	uint8_t reg;
	uint64_t offset, addend;
};

/* The form of an expression without an initial value, where the pc register is `pc`.
 * DW_OP_bra and DW_OP_skip are FORM_OTHER. */
struct expression_form expression_form(const uint8_t *expression, size_t size_bytes,
				       uint64_t pc);

#endif
