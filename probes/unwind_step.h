/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a stack walk, pure: registers and the words they point to in, the
 * caller's registers out. Compiled into the probes and on the host, where the unwinder
 * of memtrace itself makes the rules and the tests hold both against each other.
 *
 * Whoever steps reads the words; here is only where they lie and what follows from
 * them. Nothing here branches on a rule, since a verifier follows each way of a branch.
 */
#ifndef PROBES_UNWIND_STEP_H
#define PROBES_UNWIND_STEP_H

struct unwind_regs {
	uint64_t pc; /* a return address */
	uint64_t sp; /* stack pointer in that frame: nothing of it lies below */
	uint64_t bp; /* frame pointer */
};

/* Frames lie upwards, each above the last; a jump of more than this is not a frame. */
#define UNWIND_MAX_FRAME_BYTES (1u << 23)

/* --- by frame pointer ------------------------------------------------------------- */

/*
 * 0 when `regs->bp` can be a frame record: 8-aligned, at or above the stack pointer
 * and not absurdly far. 0 ends a chain (x86-64 psABI 3.4.1: %rbp is to be cleared in
 * the outermost frame; AAPCS64 6.4.6 says the same of x29).
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
 * Step by frame pointer: `saved_bp` and `return_address` are the two words at
 * `regs->bp` (x86-64 psABI figure 3.3; AAPCS64 frame record). False when there is no
 * caller.
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
 * A rule is the unwind information (DWARF 5 section 6.4) of one pc in one word:
 *
 *   [0:3]    type, UNWIND_...
 *   [4:6]    where the caller's bp is, UNWIND_BP_...
 *   [7]      UNWIND_PLAIN
 *   [8:15]   what is added to a word that was read for the CFA, / 8, signed
 *   [16:31]  offset of the saved bp, / 8, signed
 *   [32:63]  offset of the CFA from its register, signed
 *
 * The CFA is the caller's stack pointer. On x86-64 the return address is the word below
 * it (psABI figure 3.3); code where it is not has UNWIND_SLOW.
 */
#define UNWIND_TYPE(rule) ((rule)&0xf)

/* Types of which the caller is found otherwise, or not at all. */
#define UNWIND_NONE   0 /* nothing is known of the pc */
#define UNWIND_END    1 /* the outermost frame */
#define UNWIND_SIGNAL 2 /* a signal trampoline: unwind_step_signal() */
#define UNWIND_SLOW   3 /* its unwind information fits no rule */

/* Types to step by. Bit 0: from bp, else from sp; bit 1: the address is of a word that
 * the CFA is made from. UNWIND_FP guesses, where there is no unwind information: the
 * chain of frame pointers, to be followed only while unwind_fp_usable(). */
#define UNWIND_STEP     8
#define UNWIND_SP       8  /* sp + offset */
#define UNWIND_BP       9  /* bp + offset */
#define UNWIND_SP_DEREF 10 /* *(sp + offset) + addend */
#define UNWIND_BP_DEREF 11 /* *(bp + offset) + addend */
#define UNWIND_FP       13 /* bp + 16 */
/* The caller is on another stack: unwind_switch_fault(). */
#define UNWIND_SP_SWITCH     14 /* address of two words: sp + offset - 8 */

#define UNWIND_BP_MODE(rule) ((rule) >> 4 & 7)

/* Bit 1: it is saved. Bit 2: the offset counts from bp, or nothing is saved and bp is
 * lost. With bit 0 the saved bp and the return address are neighbours. */
#define UNWIND_BP_SAME      0 /* the register still holds it */
#define UNWIND_BP_BELOW     3 /* saved at CFA - 16 */
#define UNWIND_BP_AT_CFA    2 /* saved at CFA + offset */
#define UNWIND_BP_AT_BP     6 /* saved at bp + offset: realigned frames */
#define UNWIND_BP_UNDEFINED 4

/* Nearly all rules there are: the CFA is a register's value and an offset, and bp is the
 * same or saved at an offset from the CFA. unwind_step_plain() is all that they need. */
#define UNWIND_PLAIN 0x80
#define UNWIND_IS_PLAIN(type, bp_mode)                                                   \
	(((type)&0xe) == UNWIND_SP && !((bp_mode)&UNWIND_BP_UNDEFINED))

/* `bp_offset` and `addend` in bytes, multiples of 8; no argument is checked. With
 * UNWIND_BP_BELOW the offset is -16. */
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
/* Of calls in a function that keeps a frame pointer: it does not hold where the function
 * was interrupted, which may be in its prologue. Nothing is added to the CFA: it is no
 * word. */
#define UNWIND_RULE_CALLED UNWIND_RULE(UNWIND_BP, 16, 8, UNWIND_BP_BELOW, -16)

/* True when unwind_step() serves for the rule. */
static inline int unwind_can_step(uint64_t rule)
{
	return (rule & UNWIND_STEP) != 0;
}

/* True when the CFA is made from a word of memory. */
static inline int unwind_derefs(uint64_t rule)
{
	return (rule & 2) != 0;
}

/* The CFA; when unwind_derefs(), the address of the word for unwind_cfa_from(). */
static inline uint64_t unwind_cfa_at(const struct unwind_regs *regs, uint64_t rule)
{
	uint64_t from_bp = -(rule & 1);

	return ((regs->bp & from_bp) | (regs->sp & ~from_bp)) +
	       (uint64_t)((int64_t)rule >> 32);
}

/* True when the caller is on another stack. */
static inline int unwind_switches(uint64_t rule)
{
	return UNWIND_TYPE(rule) == UNWIND_SP_SWITCH;
}

/*
 * Go calls C on the stack of a thread, as goroutines have small ones. Since a goroutine's
 * stack may move during the call, runtime.asmcgocall keeps two words in its frame: the
 * distance of the stack pointer from the end of the goroutine's stack, `depth`, and
 * behind it, at unwind_cfa_at(), the address of its struct g. That begins with the bounds
 * of the stack, `low` and `high` (src/runtime/asm_amd64.s, runtime2.go). The word for
 * unwind_cfa_from() is `high` - `depth`. 0 when it lies within the bounds.
 */
static inline uint64_t unwind_switch_fault(uint64_t depth, uint64_t low, uint64_t high)
{
	return (depth & 7) | (depth - 8) >> 40 | (high - low - depth) >> 40;
}

/* The CFA that is made from `word`. */
static inline uint64_t unwind_cfa_from(uint64_t rule, uint64_t word)
{
	return word + 8 * (uint64_t)((int64_t)(rule << 48) >> 56);
}

/*
 * 0 when the CFA can be one: 8-aligned, a word or more above the stack pointer and
 * not absurdly far. Code that switches stacks within a function breaks this rightly.
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

/* True when the caller's bp is to be read, at unwind_bp_at(). */
static inline int unwind_bp_saved(uint64_t rule)
{
	return (rule & 0x20) != 0;
}

/* The offset of where it is saved. */
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
 * Step to the caller. `saved_bp` is used only when unwind_bp_saved(); it is 0 when it
 * could not be read. An undefined bp becomes 0, which is no frame record. False when
 * there is no caller.
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

/* 0 when bp is lost, else all ones. */
static inline uint64_t unwind_bp_kept(uint64_t rule)
{
	return (rule >> 6 & ~(rule >> 5) & 1) - 1;
}

/* 0 when the caller's frame is found by a plain rule without what bp holds, else all
 * ones. */
static inline uint64_t unwind_bp_counts(uint64_t rule)
{
	return -((rule | ~(rule >> 5)) & 1);
}

/* True when bp is saved, and not beside the return address. */
static inline int unwind_bp_is_apart(uint64_t rule)
{
	return (rule & 0x30) == 0x20;
}

/* All ones when bp is saved beside the return address, else 0. */
static inline uint64_t unwind_bp_beside(uint64_t rule)
{
	return -(rule >> 4 & 1);
}

/*
 * unwind_step() by a plain rule, and by any other after unwind_bp_kept(). `below` is the
 * word below the return address; where unwind_bp_is_apart() it is the saved bp, or 0 when
 * that could not be read.
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

/* In the signal trampoline sp points at the ucontext that the kernel wrote (arch/x86/
 * include/uapi/asm/ucontext.h and sigcontext.h; part of the ABI): the bytes from there
 * to the interrupted registers. x86-64. */
#define UNWIND_SIGNAL_BP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168

/* Step to the interrupted frame, by the three words. Its pc is where it goes on, not a
 * return address. */
static inline int unwind_step_signal(struct unwind_regs *regs, uint64_t bp, uint64_t sp,
				     uint64_t pc)
{
	regs->bp = bp;
	regs->sp = sp;
	regs->pc = pc;
	return pc != 0;
}

#endif
