// SPDX-License-Identifier: Apache-2.0
#include "unwind/frame.h"

struct step {
	const struct unwind_registers *registers;
	const struct stack_copy *stack;
	uint64_t cfa;
};

static enum eval same(const struct step *s, unsigned reg, uint64_t offset, uint64_t *ret)
{
	if (!(s->registers->known >> reg & 1))
		return EVAL_UNKNOWN;
	*ret = s->registers->value[reg] + offset;
	return EVAL_OK;
}

static enum eval saved_at(const struct step *s, uint64_t address, uint64_t *ret)
{
	return stack_copy_read(s->stack, address, 8, ret) ? EVAL_OK : EVAL_NO_MEMORY;
}

/* Find where a goroutine was left. `at` is the stack address of the pointer to its
 * struct g, and *word is that pointer; on success *word is the address on the
 * goroutine's stack. */
static enum eval switch_stack(const struct stack_copy *stack, uint64_t at, uint64_t *word)
{
	uint64_t depth, low, high;

	if (!stack_copy_read(stack, at - 8, 8, &depth) ||
	    !stack_copy_read(stack, *word, 8, &low) ||
	    !stack_copy_read(stack, *word + 8, 8, &high))
		return EVAL_NO_MEMORY;
	if (unwind_switch_fault(depth, low, high))
		return EVAL_MALFORMED;
	*word = high - depth;
	return EVAL_OK;
}

static enum eval find_switched_cfa(const struct cfi_rule *cfa, struct step *s)
{
	uint64_t at, word;
	enum eval outcome = same(s, ARCH_SP, (uint64_t)cfa->offset, &at);

	if (outcome == EVAL_OK)
		outcome = saved_at(s, at, &word);
	if (outcome == EVAL_OK)
		outcome = switch_stack(s->stack, at, &word);
	if (outcome == EVAL_OK)
		s->cfa = word + 8;
	return outcome;
}

static enum eval find_cfa(const struct cfi_rule *cfa, struct step *s)
{
	if (cfa->how == CFI_REGISTER)
		return same(s, cfa->reg, (uint64_t)cfa->offset, &s->cfa);
	if (cfa->how == CFI_STACK_SWITCH)
		return find_switched_cfa(cfa, s);
	return expression_eval(cfa->expression, cfa->size_bytes, s->registers, s->stack,
			       NULL, &s->cfa);
}

/* A register without a rule: the stack pointer is the CFA, and callee-saved registers
 * are unchanged (psABI figure 3.4). */
static enum eval unspecified(const struct step *s, unsigned reg, uint64_t *ret)
{
	if (reg == ARCH_SP) {
		*ret = s->cfa;
		return EVAL_OK;
	}
	return ARCH_CALLEE_SAVED >> reg & 1 ? same(s, reg, 0, ret) : EVAL_UNKNOWN;
}

static enum eval find_register(const struct cfi_rule *rule, const struct step *s,
			       unsigned reg, uint64_t *ret)
{
	enum eval outcome;

	switch ((enum cfi_how)rule->how) {
	case CFI_UNSPECIFIED:
		return unspecified(s, reg, ret);
	case CFI_UNDEFINED:
		return EVAL_UNKNOWN;
	case CFI_SAME:
		return same(s, reg, 0, ret);
	case CFI_REGISTER:
		return same(s, rule->reg, (uint64_t)rule->offset, ret);
	case CFI_OFFSET:
		return saved_at(s, s->cfa + (uint64_t)rule->offset, ret);
	case CFI_VAL_OFFSET:
		*ret = s->cfa + (uint64_t)rule->offset;
		return EVAL_OK;
	case CFI_STACK_SWITCH:
		break;
	case CFI_EXPRESSION:
	case CFI_VAL_EXPRESSION:
		outcome = expression_eval(rule->expression, rule->size_bytes,
					  s->registers, s->stack, &s->cfa, ret);
		if (outcome == EVAL_OK && rule->how == CFI_EXPRESSION)
			outcome = saved_at(s, *ret, ret);
		return outcome;
	}
	return EVAL_MALFORMED;
}

enum eval frame_step(const struct cfi_row *row, const struct unwind_registers *registers,
		     const struct stack_copy *stack, struct unwind_registers *ret)
{
	struct step s = {.registers = registers, .stack = stack};
	enum eval outcome = find_cfa(&row->cfa, &s);

	if (outcome != EVAL_OK)
		return outcome;
	ret->known = 0;
	for (unsigned reg = 0; reg < ARCH_REGISTERS; reg++) {
		ret->value[reg] = 0;
		outcome = find_register(&row->registers[reg], &s, reg, &ret->value[reg]);
		if (outcome == EVAL_OK)
			ret->known |= 1u << reg;
		else if (reg == ARCH_SP || reg == ARCH_PC)
			return outcome;
	}
	return EVAL_OK;
}

enum eval frame_step_rule(uint64_t rule, const struct stack_copy *stack,
			  struct unwind_regs *regs)
{
	uint64_t cfa = unwind_cfa_at(regs, rule), word, return_address, bp = 0;

	if (unwind_derefs(rule)) {
		if (!stack_copy_read(stack, cfa, 8, &word))
			return EVAL_NO_MEMORY;
		if (unwind_switches(rule)) {
			enum eval outcome = switch_stack(stack, cfa, &word);

			if (outcome != EVAL_OK)
				return outcome;
		}
		cfa = unwind_cfa_from(rule, word);
	}
	if (!stack_copy_read(stack, unwind_return_address_at(cfa), 8, &return_address) ||
	    (unwind_bp_saved(rule) &&
	     !stack_copy_read(stack, unwind_bp_at(regs, rule, cfa), 8, &bp)))
		return EVAL_NO_MEMORY;
	/* The caller handles a return address of 0. */
	(void)unwind_step(regs, rule, cfa, return_address, bp);
	return EVAL_OK;
}
