// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk.h"

#include <string.h>

#include "arch/insn.h"
#include "unwind/frame.h"
#include "arch/kept_bp.h"
#include "unwind/rules.h"

/* The start code of a program, at its entry point, often has no unwind information
 * (musl's _start, ld.so's _dl_start_user). It is shorter than this. */
#define START_CODE_BYTES 128u

/* How often the stack pointer may go down or far up from a frame to its caller: to
 * another stack, such as a signal stack or a coroutine's. More is a circle. */
#define SWITCHES_MAX 16u

/* The return address into the start code of the thread or program is at most this far
 * above the frame of a function that never returns. */
#define START_SEARCH_BYTES 512u

struct walker {
	walk_find_fn *find;
	void *argument;
	const struct stack_copy *stack;
	struct walk *walk;
	struct unwind_registers registers;
	bool is_interrupted;
	unsigned switches;
	struct cfi_row row; /* of the frame; valid if has_row */
	bool has_row;
};

static struct unwind_regs to_step(const struct unwind_registers *r)
{
	return (struct unwind_regs){
		.pc = r->value[ARCH_PC],
		.sp = r->value[ARCH_SP],
		.bp = r->known >> ARCH_BP & 1 ? r->value[ARCH_BP] : 0,
	};
}

/* --- the rule of a frame ---------------------------------------------------------- */

static bool is_sigreturn(const struct walk_code *code, uint64_t pc)
{
	static const uint8_t expected[] = ARCH_SIGRETURN_CODE;
	uint8_t bytes[sizeof(expected)];

	return cfi_read_code(code->cfi, pc - code->bias, bytes, sizeof(bytes)) &&
	       !memcmp(bytes, expected, sizeof(bytes));
}

static bool is_start_code(const struct walk_code *code, uint64_t pc)
{
	uint64_t entry = cfi_entry_point(code->cfi);

	return entry && pc - code->bias - entry < START_CODE_BYTES;
}

static enum eval read_word(const struct walker *w, uint64_t address, uint64_t *ret)
{
	return stack_copy_read(w->stack, address, 8, ret) ? EVAL_OK : EVAL_NO_MEMORY;
}

/* Does a call instruction end right before `pc`? */
static bool follows_call(const struct walk_code *code, uint64_t pc)
{
	uint8_t bytes[INSN_CALL_MAX];

	return cfi_read_code(code->cfi, pc - code->bias - sizeof(bytes), bytes,
			     sizeof(bytes)) &&
	       insn_ends_call(bytes);
}

static void read_code(const struct walker *w, const struct walk_code *code, uint64_t pc,
		      struct walk_code_rules *ret)
{
	*ret = (struct walk_code_rules){0};
	if (w->walk->read_code)
		w->walk->read_code(code->cfi, pc - code->bias, ret);
}

/* Is `pc` in start code, where a thread or the program ends when its first function
 * returns? */
static bool is_outermost(const struct walker *w, const struct walk_code *code,
			 uint64_t pc)
{
	struct walk_code_rules rules;

	if (is_start_code(code, pc))
		return true;
	read_code(w, code, pc, &rules);
	return rules.is_end;
}

/* Is the word `pc` a return address? The first return address of a coroutine may have
 * been written by code, not by a call; then it leads to the coroutine's end. */
static bool is_return_address(const struct walker *w, uint64_t pc)
{
	struct walk_code code;

	if (!w->find(w->argument, pc - 1, &code))
		return false;
	return !code.cfi || follows_call(&code, pc) || is_outermost(w, &code, pc);
}

/* Does the rule lead from the frame to a return address? EVAL_NO_MEMORY: the word is
 * not in the copy. */
static enum eval leads_to_caller(const struct walker *w, uint64_t rule)
{
	const struct unwind_regs regs = to_step(&w->registers);
	uint64_t cfa = unwind_cfa_at(&regs, rule), return_address;

	if ((rule & 1 && !(w->registers.known >> ARCH_BP & 1)) ||
	    !unwind_cfa_usable(&regs, cfa))
		return EVAL_UNKNOWN;
	if (read_word(w, unwind_return_address_at(cfa), &return_address) != EVAL_OK)
		return EVAL_NO_MEMORY;
	return is_return_address(w, return_address) ? EVAL_OK : EVAL_UNKNOWN;
}

/* The first rule of [from, to) that leads to a return address. UNWIND_NONE if none
 * does; sets `is_unread` if a word is not in the copy. */
static uint64_t choose_rule(const struct walker *w, const struct walk_code_rules *rules,
			    size_t from, size_t to, bool *is_unread)
{
	for (size_t i = from; i < to; i++) {
		enum eval leads = leads_to_caller(w, rules->rule[i]);

		if (leads == EVAL_OK)
			return rules->rule[i];
		*is_unread |= leads == EVAL_NO_MEMORY;
	}
	return UNWIND_NONE;
}

/* A rule that steps over the frame of a function that never returns, called by the
 * start code of a thread or program. UNWIND_NONE: not such a frame. */
static uint64_t find_start(const struct walker *w)
{
	uint64_t sp = w->registers.value[ARCH_SP], word;
	struct walk_code code;

	for (uint64_t up = 0; up < START_SEARCH_BYTES; up += 8) {
		if (read_word(w, sp + up, &word) != EVAL_OK)
			return UNWIND_NONE;
		if (w->find(w->argument, word - 1, &code) && code.cfi &&
		    follows_call(&code, word) && is_outermost(w, &code, word))
			return UNWIND_RULE(UNWIND_SP, up + 8, 0, UNWIND_BP_UNDEFINED, 0);
	}
	return UNWIND_NONE;
}

/* How far before a call the start of its function is searched. */
#define KEPT_BYTES 2048

/* Is the call before `pc` in a function that keeps a frame pointer, and does the stack
 * agree? This is the usual case for code without unwind information, and the fastest
 * check. */
static bool keeps_bp(const struct walker *w, const struct walk_code *code, uint64_t pc)
{
	uint64_t address = pc - code->bias;
	uint8_t bytes[KEPT_BYTES];
	size_t size = sizeof(bytes);

	while (size > 64 && !cfi_read_code(code->cfi, address - size, bytes, size))
		size /= 2;
	return size > 64 && kept_bp_calls(bytes, size, address - size) &&
	       leads_to_caller(w, UNWIND_RULE_CALLED) == EVAL_OK;
}

/* A rule for code without unwind information. UNWIND_NONE: the copy lacks a word that
 * is needed to choose one. */
static uint64_t rule_from_code(const struct walker *w, const struct walk_code *code,
			       uint64_t pc)
{
	struct walk_code_rules rules;
	bool is_unread = false;
	uint64_t rule;

	if (!w->walk->read_code)
		return UNWIND_RULE_FP;
	if (!w->is_interrupted && keeps_bp(w, code, pc))
		return UNWIND_RULE_CALLED;
	read_code(w, code, pc, &rules);
	if (rules.is_end)
		return UNWIND_RULE_END;
	if (rules.switching != UNWIND_NONE)
		return rules.switching;
	rule = choose_rule(w, &rules, 0, rules.likely_count, &is_unread);
	if (rule == UNWIND_NONE && !rules.may_return)
		rule = find_start(w);
	if (rule == UNWIND_NONE)
		rule = choose_rule(w, &rules, rules.likely_count, rules.count,
				   &is_unread);
	return rule == UNWIND_NONE && !is_unread ? UNWIND_RULE_FP : rule;
}

/* Find the rule for a pc. The lookup uses the byte before a return address: if a call
 * is the last instruction of its function, the return address is already outside. */
static uint64_t find_rule(struct walker *w, uint64_t pc)
{
	struct walk_code code;
	uint64_t at = w->is_interrupted ? pc : pc - 1;

	w->has_row = false;
	if (!w->find(w->argument, at, &code) || !code.cfi)
		return UNWIND_RULE_FP;

	enum cfi_result result = cfi_find_row(code.cfi, at - code.bias, &w->row);

	if (result == CFI_FOUND) {
		w->has_row = true;
		return rule_from_row(&w->row, pc);
	}
	if (result == CFI_NONE && is_sigreturn(&code, pc))
		return UNWIND_RULE_SIGNAL;
	if (result == CFI_NONE && is_start_code(&code, pc))
		return UNWIND_RULE_END;
	return rule_from_code(w, &code, pc);
}

/* --- steps ------------------------------------------------------------------------ */

static void from_step(const struct unwind_regs *step, struct unwind_registers *ret)
{
	/* The frame may have saved other registers at unknown places. */
	ret->known = 0;
	unwind_registers_set(ret, ARCH_PC, step->pc);
	unwind_registers_set(ret, ARCH_SP, step->sp);
	unwind_registers_set(ret, ARCH_BP, step->bp);
}

static enum eval step_signal(struct walker *w)
{
	struct unwind_regs step = to_step(&w->registers);
	uint64_t bp, sp, pc;

	if (read_word(w, step.sp + UNWIND_SIGNAL_BP, &bp) != EVAL_OK ||
	    read_word(w, step.sp + UNWIND_SIGNAL_SP, &sp) != EVAL_OK ||
	    read_word(w, step.sp + UNWIND_SIGNAL_PC, &pc) != EVAL_OK)
		return EVAL_NO_MEMORY;
	unwind_step_signal(&step, bp, sp, pc);
	from_step(&step, &w->registers);
	return EVAL_OK;
}

static enum eval step_fp(struct walker *w)
{
	struct unwind_regs step = to_step(&w->registers);
	uint64_t saved_bp, return_address;

	if (!unwind_fp_usable(&step))
		return EVAL_UNKNOWN;
	if (read_word(w, step.bp, &saved_bp) != EVAL_OK ||
	    read_word(w, step.bp + 8, &return_address) != EVAL_OK)
		return EVAL_NO_MEMORY;
	unwind_step_fp(&step, saved_bp, return_address);
	from_step(&step, &w->registers);
	return EVAL_OK;
}

/* Step by a rule that was derived from machine code. */
static enum eval step_code(struct walker *w, uint64_t rule)
{
	struct unwind_regs step = to_step(&w->registers);
	enum eval outcome = frame_step_rule(rule, w->stack, &step);

	if (outcome == EVAL_OK)
		from_step(&step, &w->registers);
	return outcome;
}

static enum eval step_row(struct walker *w)
{
	struct unwind_registers caller;
	enum eval outcome = frame_step(&w->row, &w->registers, w->stack, &caller);

	if (outcome == EVAL_OK)
		w->registers = caller;
	return outcome;
}

/* --- the walk --------------------------------------------------------------------- */

static enum walk_end end_of(enum eval outcome, uint64_t rule)
{
	if (outcome == EVAL_NO_MEMORY)
		return WALK_NO_MEMORY;
	if (outcome == EVAL_MALFORMED)
		return WALK_CORRUPT;
	return UNWIND_TYPE(rule) == UNWIND_FP ? WALK_NO_CFI : WALK_NO_REGISTER;
}

/* Step to the caller. False if the walk ends; the reason is in walk->end. */
static bool step(struct walker *w, const struct walk_frame *frame)
{
	struct walk *walk = w->walk;
	enum eval outcome;
	bool is_signal = w->has_row ? w->row.is_signal_frame
				    : UNWIND_TYPE(frame->rule) == UNWIND_SIGNAL;

	if (UNWIND_TYPE(frame->rule) == UNWIND_END) {
		walk->end = WALK_COMPLETE;
		return false;
	}
	if (frame->rule == UNWIND_NONE) {
		walk->end = WALK_NO_MEMORY;
		return false;
	}
	if (w->has_row) {
		outcome = step_row(w);
	} else if (is_signal) {
		outcome = step_signal(w);
	} else if (unwind_can_step(frame->rule) &&
		   UNWIND_TYPE(frame->rule) != UNWIND_FP) {
		walk->is_approximate = true;
		outcome = step_code(w, frame->rule);
	} else {
		walk->is_approximate = true;
		/* Start code of threads and programs sets bp to 0. */
		if (w->registers.known >> ARCH_BP & 1 && !w->registers.value[ARCH_BP]) {
			walk->end = WALK_COMPLETE;
			return false;
		}
		outcome = step_fp(w);
	}
	if (outcome != EVAL_OK) {
		walk->end = end_of(outcome, frame->rule);
		return false;
	}
	if (!w->registers.value[ARCH_PC]) {
		/* With a signal frame pc 0 is a call of address 0, not the end. */
		walk->end = is_signal ? WALK_NO_CFI : WALK_COMPLETE;
		return false;
	}

	uint64_t up = w->registers.value[ARCH_SP] - frame->sp;

	if ((!up || up > UNWIND_MAX_FRAME_BYTES) && ++w->switches > SWITCHES_MAX) {
		walk->end = WALK_CORRUPT;
		return false;
	}
	w->is_interrupted = is_signal;
	return true;
}

void walk_stack(const struct unwind_registers *registers, bool is_interrupted,
		const struct stack_copy *stack, walk_find_fn *find, void *argument,
		struct walk *walk)
{
	struct walker w;
	struct walk_frame *frame;

	w.find = find;
	w.argument = argument;
	w.stack = stack;
	w.walk = walk;
	w.registers = *registers;
	w.is_interrupted = is_interrupted;
	w.switches = 0;
	walk->count = 0;
	walk->is_approximate = false;
	do {
		if (walk->count == walk->capacity) {
			walk->end = WALK_TOO_DEEP;
			return;
		}

		struct unwind_regs r = to_step(&w.registers);

		frame = &walk->frames[walk->count++];
		*frame = (struct walk_frame){
			.pc = r.pc,
			.sp = r.sp,
			.bp = r.bp,
			.rule = find_rule(&w, r.pc),
			.is_interrupted = w.is_interrupted,
		};
	} while (step(&w, frame));
}
