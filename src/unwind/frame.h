/* SPDX-License-Identifier: Apache-2.0 */
/* One step by a row, with all registers: what the rules of the probes leave out. */
#ifndef UNWIND_FRAME_H
#define UNWIND_FRAME_H

#include "unwind/cfi_row.h"
#include "unwind/expression.h"
#include "unwind_step.h" /* of probes/ */

/*
 * The caller's registers, by the row at the frame's pc. EVAL_OK: stack pointer and pc of
 * the caller are known; each other register is known when this frame kept it and its
 * place could be read. Otherwise *ret is not to be used. `registers` and `ret` may not
 * be the same. The row's return address must not be CFI_UNDEFINED: there is no caller.
 */
enum eval frame_step(const struct cfi_row *row, const struct unwind_registers *registers,
		     const struct stack_copy *stack, struct unwind_registers *ret);

/*
 * The same by a rule for which unwind_can_step(), as the probes step. *regs is as before,
 * and the result EVAL_NO_MEMORY, when a word is not in the copy, and EVAL_MALFORMED when
 * the words lead to no other stack. The CFA, which is regs->sp then, and the return
 * address are not judged.
 */
enum eval frame_step_rule(uint64_t rule, const struct stack_copy *stack,
			  struct unwind_regs *regs);

#endif
