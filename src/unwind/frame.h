/* SPDX-License-Identifier: Apache-2.0 */
/* One step by a row, with all registers, also those that the probes' rules leave out. */
#ifndef UNWIND_FRAME_H
#define UNWIND_FRAME_H

#include "unwind/cfi_row.h"
#include "unwind/expression.h"
#include "unwind_step.h" /* of probes/ */

/*
 * Find the caller's registers by the row at the frame's pc. EVAL_OK: the caller's stack
 * pointer and pc are known; any other register is known if this frame saved it and the
 * saved value could be read. Otherwise *ret must not be used. `registers` and `ret`
 * must be different. The row's return address must not be CFI_UNDEFINED, which means no
 * caller.
 */
enum eval frame_step(const struct cfi_row *row, const struct unwind_registers *registers,
		     const struct stack_copy *stack, struct unwind_registers *ret);

/*
 * The same by a rule that satisfies unwind_can_step(), exactly as the probes step. On
 * failure *regs is unchanged: EVAL_NO_MEMORY if a word is not in the copy,
 * EVAL_MALFORMED if the words do not lead to another stack. The CFA (then regs->sp) and
 * the return address are not checked.
 */
enum eval frame_step_rule(uint64_t rule, const struct stack_copy *stack,
			  struct unwind_regs *regs);

#endif
