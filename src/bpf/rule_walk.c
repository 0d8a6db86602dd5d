// SPDX-License-Identifier: Apache-2.0
#include "bpf/rule_walk.h"

#include "unwind_step.h"

static bool read_word(const struct stack_copy *copy, uint64_t address, uint64_t *ret)
{
	return stack_copy_read(copy, address, sizeof(*ret), ret);
}

/* To the caller; false when it takes more than the rule. */
static bool step(struct unwind_regs *regs, uint64_t rule, const struct stack_copy *copy)
{
	uint64_t cfa = unwind_cfa_at(regs, rule), word, return_address, bp = 0;

	if (unwind_derefs(rule)) {
		if (!read_word(copy, cfa, &word))
			return false;
		cfa = unwind_cfa_from(rule, word);
	}
	if (!unwind_cfa_usable(regs, cfa) ||
	    !read_word(copy, unwind_return_address_at(cfa), &return_address) ||
	    (unwind_bp_saved(rule) &&
	     !read_word(copy, unwind_bp_at(regs, rule, cfa), &bp)))
		return false;
	/* An address of 0 is no rule's business: there is none for it. */
	unwind_step(regs, rule, cfa, return_address, bp);
	return true;
}

bool rule_walk(const struct rule_table *table, uint32_t slot,
	       const struct unwind_regs *start, bool is_interrupted,
	       const struct stack_copy *copy, uint64_t pcs[], size_t capacity,
	       size_t *count)
{
	struct unwind_regs regs = *start;

	for (size_t i = 0; i < capacity; i++) {
		uint64_t rule =
			rule_table_get(table, slot, regs.pc, is_interrupted && i == 0);

		pcs[i] = regs.pc;
		*count = i + 1;
		if (UNWIND_TYPE(rule) == UNWIND_END)
			return true;
		/* A guess is judged by what is known of code (learner.c). */
		if (!unwind_can_step(rule) || UNWIND_TYPE(rule) == UNWIND_FP ||
		    !step(&regs, rule, copy))
			return false;
	}
	return false;
}
