// SPDX-License-Identifier: Apache-2.0
#include "unwind/rules.h"

#include <stdbool.h>

#include "unwind/expression.h"

/* The parts of a rule. */
struct parts {
	unsigned type, bp_mode;
	int64_t cfa_offset, addend, bp_offset;
};

static struct expression_form form_of(const struct cfi_rule *rule, uint64_t pc)
{
	return expression_form(rule->expression, rule->size_bytes, pc);
}

/* --- signal trampolines ----------------------------------------------------------- */

/* Is the register saved at sp + offset? */
static bool is_saved_above_sp(const struct cfi_rule *rule, uint64_t pc, uint64_t offset)
{
	if (rule->how != CFI_EXPRESSION)
		return false;

	struct expression_form form = form_of(rule, pc);

	return form.kind == FORM_REGISTER && form.reg == ARCH_SP && form.addend == offset;
}

/* Is the caller's stack pointer the CFA, explicitly or by default? */
static bool is_sp_the_cfa(const struct cfi_row *row)
{
	const struct cfi_rule *sp = &row->registers[ARCH_SP];

	return sp->how == CFI_UNSPECIFIED ||
	       (sp->how == CFI_VAL_OFFSET && sp->offset == 0);
}

static bool is_signal(const struct cfi_row *row, uint64_t pc)
{
	if (!row->is_signal_frame || row->cfa.how != CFI_VAL_EXPRESSION)
		return false;

	struct expression_form cfa = form_of(&row->cfa, pc);

	return cfa.kind == FORM_DEREF && cfa.reg == ARCH_SP &&
	       cfa.offset == UNWIND_SIGNAL_SP && cfa.addend == 0 &&
	       is_saved_above_sp(&row->registers[ARCH_PC], pc, UNWIND_SIGNAL_PC) &&
	       is_saved_above_sp(&row->registers[ARCH_BP], pc, UNWIND_SIGNAL_BP) &&
	       (is_sp_the_cfa(row) ||
		is_saved_above_sp(&row->registers[ARCH_SP], pc, UNWIND_SIGNAL_SP));
}

/* --- ordinary frames -------------------------------------------------------------- */

static bool fits(int64_t value, int64_t min, int64_t max)
{
	return value >= min && value <= max;
}

static bool fits_in_words(int64_t value, int64_t min, int64_t max)
{
	return !(value & 7) && fits(value, min * 8, max * 8);
}

static bool pack_cfa(const struct cfi_rule *cfa, uint64_t pc, struct parts *parts)
{
	unsigned reg = cfa->reg, is_deref = 0;

	parts->cfa_offset = cfa->offset;
	if (cfa->how == CFI_STACK_SWITCH) {
		parts->type = UNWIND_SP_SWITCH;
		parts->addend = 8;
		return fits(parts->cfa_offset, INT32_MIN, INT32_MAX);
	}
	if (cfa->how == CFI_VAL_EXPRESSION) {
		struct expression_form form = form_of(cfa, pc);

		if (form.kind != FORM_REGISTER && form.kind != FORM_DEREF)
			return false;
		is_deref = form.kind == FORM_DEREF;
		reg = form.reg;
		parts->cfa_offset = (int64_t)(is_deref ? form.offset : form.addend);
		parts->addend = is_deref ? (int64_t)form.addend : 0;
	}
	if (reg == ARCH_SP)
		parts->type = is_deref ? UNWIND_SP_DEREF : UNWIND_SP;
	else if (reg == ARCH_BP)
		parts->type = is_deref ? UNWIND_BP_DEREF : UNWIND_BP;
	else
		return false;
	return fits(parts->cfa_offset, INT32_MIN, INT32_MAX) &&
	       fits_in_words(parts->addend, INT8_MIN, INT8_MAX);
}

static bool pack_bp(const struct cfi_rule *bp, uint64_t pc, struct parts *parts)
{
	struct expression_form form;

	switch (bp->how) {
	case CFI_UNSPECIFIED:
	case CFI_SAME:
		parts->bp_mode = UNWIND_BP_SAME;
		return true;
	case CFI_UNDEFINED:
		parts->bp_mode = UNWIND_BP_UNDEFINED;
		return true;
	case CFI_OFFSET:
		parts->bp_mode = bp->offset == -16 ? UNWIND_BP_BELOW : UNWIND_BP_AT_CFA;
		parts->bp_offset = bp->offset;
		break;
	case CFI_EXPRESSION:
		form = form_of(bp, pc);
		if (form.kind != FORM_REGISTER || form.reg != ARCH_BP)
			return false;
		parts->bp_mode = UNWIND_BP_AT_BP;
		parts->bp_offset = (int64_t)form.addend;
		break;
	default:
		return false;
	}
	return fits_in_words(parts->bp_offset, INT16_MIN, INT16_MAX);
}

uint64_t rule_from_row(const struct cfi_row *row, uint64_t pc)
{
	const struct cfi_rule *return_address = &row->registers[ARCH_PC];
	struct parts parts = {0};

	if (return_address->how == CFI_UNDEFINED)
		return UNWIND_RULE_END;
	if (is_signal(row, pc))
		return UNWIND_RULE_SIGNAL;
	/* Rules for other frames marked as signal frames are not possible: the caller
	 * was interrupted too. */
	if (row->is_signal_frame || !is_sp_the_cfa(row) ||
	    return_address->how != CFI_OFFSET ||
	    return_address->offset != ARCH_RETURN_ADDRESS_OFFSET ||
	    !pack_cfa(&row->cfa, pc, &parts) ||
	    !pack_bp(&row->registers[ARCH_BP], pc, &parts))
		return UNWIND_RULE_SLOW;
	return UNWIND_RULE(parts.type, parts.cfa_offset, parts.addend, parts.bp_mode,
			   parts.bp_offset);
}
