/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * One step of a stack walk, as pure functions: registers and the words that they point to
 * in, the registers of the caller out. Compiled into the probes and into memtrace. The
 * caller reads the words; the functions say where the words are and what follows from
 * them. They do not branch on a rule: the verifier would follow both sides of each
 * branch.
 */
#ifndef PROBES_UNWIND_STEP_H
#define PROBES_UNWIND_STEP_H

struct unwind_regs {
	uint64_t pc; /* a return address */
	uint64_t sp; /* stack pointer in that frame, which has nothing below it */
	uint64_t bp; /* frame pointer */
};

/* Stacks grow down, so each frame is above its callee. A larger distance than this is not
 * a frame. */
#define UNWIND_MAX_FRAME_BYTES (1u << 23)

/* --- by frame pointer ------------------------------------------------------------- */

/*
 * Returns 0 if `regs->bp` can point to a frame record: 8-aligned, at or above the stack
 * pointer, and less than UNWIND_MAX_FRAME_BYTES above it. A bp of 0 ends a chain (x86-64
 * psABI 3.4.1: %rbp is to be cleared in the outermost frame; AAPCS64 6.4.6 says the same
 * of x29).
 */
static inline uint64_t unwind_fp_fault(const struct unwind_regs *regs)
{
	return (regs->bp & 7) | (regs->bp - regs->sp) / UNWIND_MAX_FRAME_BYTES;
}

static inline int unwind_fp_usable(const struct unwind_regs *regs)
{
	return !unwind_fp_fault(regs);
}

/*
 * Step by frame pointer. `saved_bp` and `return_address` are the two words at `regs->bp`
 * (x86-64 psABI figure 3.3; AAPCS64 frame record). Returns 0 if the frame has no caller.
 */
static inline int unwind_step_fp(struct unwind_regs *regs, uint64_t saved_bp,
				 uint64_t return_address)
{
	regs->sp = regs->bp + 16;
	regs->bp = saved_bp;
	regs->pc = return_address;
	return return_address != 0;
}

/* --- by rule ---------------------------------------------------------------------- */

/*
 * A rule is the unwind information (DWARF 5 section 6.4) of one pc in one word. The
 * fields are below, each with its bits. The CFA is the caller's stack pointer. On x86-64
 * the return address is the word below it (psABI figure 3.3). Code that differs has
 * UNWIND_SLOW.
 */
#define UNWIND_TYPE(rule) ((rule)&0xf) /* [0:3] the type */

/* Types without unwind_step(): the caller is found otherwise, or not at all. */
#define UNWIND_NONE   0 /* no rule for the pc */
#define UNWIND_END    1 /* the outermost frame */
#define UNWIND_SIGNAL 2 /* a signal trampoline: unwind_step_signal() */
#define UNWIND_SLOW   3 /* the unwind information fits no rule */

/* Types for unwind_step(). Bit 0: the address is computed from bp; 0: from sp. Bit 1: a
 * word at that address gives the CFA. UNWIND_FP is a guess for code without unwind
 * information: the chain of frame pointers, valid only while unwind_fp_usable(). */
#define UNWIND_STEP     8
#define UNWIND_SP       8  /* sp + offset */
#define UNWIND_BP       9  /* bp + offset */
#define UNWIND_SP_DEREF 10 /* *(sp + offset) + addend */
#define UNWIND_BP_DEREF 11 /* *(bp + offset) + addend */
#define UNWIND_FP       13 /* bp + 16 */
/* The caller is on another stack, see unwind_switch_fault(). */
#define UNWIND_SP_SWITCH     14 /* two words, at sp + offset - 8 */

#define UNWIND_BP_MODE(rule) ((rule) >> 4 & 7) /* [4:6] where the caller's bp is */

/* Bit 1: bp is saved. Bit 2: the offset is relative to bp if bp is saved; otherwise bp is
 * lost. Bit 0: the saved bp is next to the return address. */
#define UNWIND_BP_SAME      0 /* the register still holds it */
#define UNWIND_BP_BELOW     3 /* saved at CFA - 16 */
#define UNWIND_BP_AT_CFA    2 /* saved at CFA + offset */
#define UNWIND_BP_AT_BP     6 /* saved at bp + offset, in realigned frames */
#define UNWIND_BP_UNDEFINED 4

/* [7] Set in nearly all rules: the CFA is a register plus an offset, and bp is unchanged
 * or saved at an offset from the CFA. unwind_step_plain() is sufficient for such a rule.
 */
#define UNWIND_PLAIN 0x80
#define UNWIND_IS_PLAIN(type, bp_mode)                                                   \
	(((type)&0xe) == UNWIND_SP && !((bp_mode)&UNWIND_BP_UNDEFINED))

/* The other fields, signed: [8:15] the addend, / 8, which is added to the word that gives
 * the CFA; [16:31] the offset of the saved bp, / 8; [32:63] the offset of the CFA from
 * its register. `bp_offset` and `addend` are in bytes, multiples of 8. The arguments are
 * not checked. With UNWIND_BP_BELOW `bp_offset` must be -16. */
#define UNWIND_RULE(type, cfa_offset, addend, bp_mode, bp_offset)                        \
	((uint64_t)(type) | (uint64_t)(bp_mode) << 4 |                                   \
	 (UNWIND_IS_PLAIN(type, bp_mode) ? UNWIND_PLAIN : 0) |                           \
	 (uint64_t)(uint8_t)((addend) / 8) << 8 |                                        \
	 (uint64_t)(uint16_t)((bp_offset) / 8) << 16 |                                   \
	 (uint64_t)(uint32_t)(cfa_offset) << 32)

#define UNWIND_RULE_END    UNWIND_RULE(UNWIND_END, 0, 0, UNWIND_BP_UNDEFINED, 0)
#define UNWIND_RULE_SIGNAL UNWIND_RULE(UNWIND_SIGNAL, 0, 0, UNWIND_BP_SAME, 0)
#define UNWIND_RULE_SLOW   UNWIND_RULE(UNWIND_SLOW, 0, 0, UNWIND_BP_SAME, 0)
#define UNWIND_RULE_FP     UNWIND_RULE(UNWIND_FP, 16, 0, UNWIND_BP_BELOW, -16)
/* For calls in a function that keeps a frame pointer. Not valid where a signal
 * interrupted the function, which may be in its prologue. The addend has no effect with
 * UNWIND_BP; it only makes this rule differ from the equal rule of unwind information. */
#define UNWIND_RULE_CALLED UNWIND_RULE(UNWIND_BP, 16, 8, UNWIND_BP_BELOW, -16)

/* True if unwind_step() can step by the rule. */
static inline int unwind_can_step(uint64_t rule)
{
	return (rule & UNWIND_STEP) != 0;
}

/* True if a word in memory gives the CFA. */
static inline int unwind_derefs(uint64_t rule)
{
	return (rule & 2) != 0;
}

/* The CFA. If unwind_derefs(), the address of the word for unwind_cfa_from(). */
static inline uint64_t unwind_cfa_at(const struct unwind_regs *regs, uint64_t rule)
{
	uint64_t from_bp = -(rule & 1);

	return ((regs->bp & from_bp) | (regs->sp & ~from_bp)) +
	       (uint64_t)((int64_t)rule >> 32);
}

/* True if the caller is on another stack. */
static inline int unwind_switches(uint64_t rule)
{
	return UNWIND_TYPE(rule) == UNWIND_SP_SWITCH;
}

/*
 * Go calls C on the stack of the thread: docs/unwinding.md, "Go". runtime.asmcgocall
 * keeps two words in its frame: `depth`, and behind it, at unwind_cfa_at(), the address
 * of the goroutine's struct g, which begins with the bounds of the stack, `low` and
 * `high` (src/runtime/asm_amd64.s, runtime2.go). The word for unwind_cfa_from() is `high`
 * - `depth`. Returns 0 if it is within the bounds.
 */
static inline uint64_t unwind_switch_fault(uint64_t depth, uint64_t low, uint64_t high)
{
	return (depth & 7) | (depth - 8) >> 40 | (high - low - depth) >> 40;
}

/* The CFA that `word` gives. */
static inline uint64_t unwind_cfa_from(uint64_t rule, uint64_t word)
{
	return word + 8 * (uint64_t)((int64_t)(rule << 48) >> 56);
}

/*
 * Returns 0 if the CFA is plausible: 8-aligned, at least one word above the stack
 * pointer, and less than UNWIND_MAX_FRAME_BYTES further up. Code that switches stacks
 * within a function fails this check, rightly.
 */
static inline uint64_t unwind_cfa_fault(const struct unwind_regs *regs, uint64_t cfa)
{
	return (cfa & 7) | (cfa - 8 - regs->sp) / UNWIND_MAX_FRAME_BYTES;
}

static inline int unwind_cfa_usable(const struct unwind_regs *regs, uint64_t cfa)
{
	return !unwind_cfa_fault(regs, cfa);
}

/* Address of the return address. */
static inline uint64_t unwind_return_address_at(uint64_t cfa)
{
	return cfa - 8;
}

/* True if the caller's bp has to be read, at unwind_bp_at(). */
static inline int unwind_bp_saved(uint64_t rule)
{
	return (rule & 0x20) != 0;
}

/* The offset of the saved bp. */
static inline uint64_t unwind_bp_offset(uint64_t rule)
{
	return 8 * (uint64_t)((int64_t)(rule << 32) >> 48);
}

static inline uint64_t unwind_bp_at(const struct unwind_regs *regs, uint64_t rule,
				    uint64_t cfa)
{
	uint64_t from_bp = -(rule >> 6 & 1);

	return ((regs->bp & from_bp) | (cfa & ~from_bp)) + unwind_bp_offset(rule);
}

/*
 * Step to the caller. `saved_bp` is used only if unwind_bp_saved(); it is 0 if it could
 * not be read. An undefined bp becomes 0, which is not a frame record. Returns 0 if the
 * frame has no caller.
 */
static inline int unwind_step(struct unwind_regs *regs, uint64_t rule, uint64_t cfa,
			      uint64_t return_address, uint64_t saved_bp)
{
	uint64_t saved = -(rule >> 5 & 1), kept = ~saved & ((rule >> 6 & 1) - 1);

	regs->bp = (saved_bp & saved) | (regs->bp & kept);
	regs->sp = cfa;
	regs->pc = return_address;
	return return_address != 0;
}

/* All ones; 0 if bp is lost. */
static inline uint64_t unwind_bp_kept(uint64_t rule)
{
	return (rule >> 6 & ~(rule >> 5) & 1) - 1;
}

/* All ones if the caller's registers depend on bp, by a plain rule; else 0. */
static inline uint64_t unwind_bp_counts(uint64_t rule)
{
	return -((rule | ~(rule >> 5)) & 1);
}

/* True if bp is saved, but not next to the return address. */
static inline int unwind_bp_is_apart(uint64_t rule)
{
	return (rule & 0x30) == 0x20;
}

/* All ones if bp is saved next to the return address, else 0. */
static inline uint64_t unwind_bp_beside(uint64_t rule)
{
	return -(rule >> 4 & 1);
}

/*
 * unwind_step() for a plain rule; for any other rule after unwind_bp_kept() was applied.
 * `below` is the word below the return address. If unwind_bp_is_apart(), it is the saved
 * bp, or 0 if that could not be read.
 */
static inline int unwind_step_plain(struct unwind_regs *regs, uint64_t rule, uint64_t cfa,
				    uint64_t return_address, uint64_t below)
{
	regs->bp ^= (regs->bp ^ below) & -(rule >> 5 & 1);
	regs->sp = cfa;
	regs->pc = return_address;
	return return_address != 0;
}

/* --- out of a signal handler ------------------------------------------------------ */

/* In the signal trampoline sp points to the ucontext that the kernel wrote
 * (arch/x86/include/uapi/asm/ucontext.h and sigcontext.h; part of the ABI). Offsets in
 * bytes from there to the interrupted registers. x86-64. */
#define UNWIND_SIGNAL_BP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168

/* Step to the interrupted frame, by the three words. Its pc is the next instruction, not
 * a return address. */
static inline int unwind_step_signal(struct unwind_regs *regs, uint64_t bp, uint64_t sp,
				     uint64_t pc)
{
	regs->bp = bp;
	regs->sp = sp;
	regs->pc = pc;
	return pc != 0;
}

#endif
