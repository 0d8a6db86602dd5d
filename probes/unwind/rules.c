/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a walk by unwind rules knows besides the registers. */

/* How a walk ends at a call site without an unwind rule: it goes to the miss handler. */
#define WALK_MISSED    0x100
#define walk_missed(w) ((w)->end == WALK_MISSED)

/* Call before walk_begin(): find the process. Returns 0 if it has gone. Then look whether
 * its code has changed. */
ALWAYS_INLINE int walk_finds_rules(struct walk *w, const struct tracee *t)
{
	short_key slot = t->slot;

	w->process = processes.lookup(&slot);
	return w->process != NULL;
}

/* The family of the stack, as of the last look at the code of the process. */
#define walk_family(w, t) ((w)->process->family)

ALWAYS_INLINE void walk_rules_begin(struct walk *w)
{
	w->interrupted = WALK_EXACT || w->inside ? ABI_RULE_INTERRUPTED : 0;
	u64 changes = w->process->code_changes;

	w->code_changes = changes | ~unless(changes ^ w->process->code_known, ~0ull);
	walk_takes_layout(w);
}

/* ABI_RULE_INTERRUPTED if the walk is at an interrupted instruction, else 0. */
#define walk_is_at(w, what) ((w)->interrupted = launder(&(w)->words[2], (what)))

/* The walk leaves the allocator's function, which has saved the caller's bp, and uses the
 * register itself. */
#define walk_leaves(w, rule)                                                             \
	((w)->bp_counts = launder(&(w)->words[6], unwind_bp_counts(rule)))

ALWAYS_INLINE void walk_has_left(struct walk *w)
{
	/* No branch: the verifier would follow the walk both ways. */
	u64 keeps = 0 - (u64)w->is_blind;

	barrier_var(keeps);
	w->left.pc = w->regs.pc & keeps;
	w->left.sp = w->regs.sp;
	w->left.bp = w->regs.bp;
}

/* 0 if the rules were known, and if they are the same, as when a walk began. */
#define walk_rules_doubted(w, start) ((w)->process->code_known ^ (start)->code_changes)
#define walk_rules_changed(w, start) ((w)->process->code_changes ^ (start)->code_changes)
