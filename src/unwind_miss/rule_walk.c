// SPDX-License-Identifier: Apache-2.0
#include "unwind_miss/rule_walk.h"

#include "unwind/frame.h"

/* Step to the caller. Also returns EVAL_MALFORMED if the CFA fails
 * unwind_cfa_usable(). */
static enum eval step(struct unwind_regs *regs, uint64_t rule,
		      const struct stack_copy *copy)
{
	const struct unwind_regs before = *regs;
	enum eval outcome = frame_step_rule(rule, copy, regs);

	if (outcome == EVAL_OK && !unwind_cfa_usable(&before, regs->sp))
		return EVAL_MALFORMED;
	return outcome;
}

bool rule_walk(const struct rule_table *table, uint32_t slot,
	       const struct unwind_regs *start, bool is_interrupted,
	       const struct stack_copy *copy, uint64_t pcs[], size_t capacity,
	       size_t enough, bool takes_guesses, size_t *count, bool *is_cut)
{
	struct unwind_regs regs = *start;
	enum eval outcome;

	*is_cut = false;
	for (size_t i = 0; i < capacity; i++) {
		uint64_t rule =
			rule_table_get(table, slot, regs.pc, is_interrupted && i == 0);

		pcs[i] = regs.pc;
		*count = i + 1;
		if (UNWIND_TYPE(rule) == UNWIND_END)
			return true;
		if (!unwind_can_step(rule))
			return false;
		/* A step by frame pointer is a guess. Where it leads, there must be a
		 * rule again. */
		if (UNWIND_TYPE(rule) == UNWIND_FP &&
		    (!takes_guesses || !unwind_fp_usable(&regs)))
			return false;
		outcome = step(&regs, rule, copy);
		*is_cut = outcome == EVAL_NO_MEMORY && *count >= enough;
		if (outcome != EVAL_OK)
			return *is_cut;
	}
	*is_cut = capacity >= enough;
	return *is_cut;
}
