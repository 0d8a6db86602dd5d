/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a stack walk, pure: registers and the words they point to in, the
 * caller's registers out. Compiled into the probes and, for the tests, on the host.
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

/*
 * True when `regs->bp` can be a frame record: 8-aligned, at or above the stack pointer
 * and not absurdly far. 0 ends a chain (x86-64 psABI 3.4.1: %rbp is to be cleared in
 * the outermost frame; AAPCS64 6.4.6 says the same of x29).
 */
static inline int unwind_fp_usable(const struct unwind_regs *regs)
{
	return !((regs->bp & 7) | (regs->bp - regs->sp) / UNWIND_MAX_FRAME_BYTES);
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

#endif
