/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a function the probes cost least and still see every call. The kernel emulates
 * a few instructions and steps through a copy of all others, at about twenty times the
 * price, so the best site is the first emulated instruction that every call executes
 * exactly once, with the arguments still in registers. x86-64; pure: bytes in, place out.
 *
 * What is proven: the site lies on an instruction boundary of the straight line from the
 * first byte; nothing on that line is unknown, leaves it or goes on behind a jump; no
 * branch within `code` comes back into it. What cannot be seen are jumps from outside
 * `code`, as from a .cold part, and the targets of indirect jumps; compilers make neither
 * end in the straight line before a function's first branch.
 */
#ifndef PLAN_PLACE_H
#define PLAN_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/decode.h"

#define PLACE_ARGUMENTS   6    /* those in registers (System V psABI 3.2.3) */
#define PLACE_NO_REGISTER 0xff /* in no register */

/* What the kernel emulates at a uprobe (arch/x86/kernel/uprobes.c). */
enum place_emulated {
	PLACE_BRANCH = 1, /* jmp, jcc and the nop of one byte */
	PLACE_PUSH = 2,   /* push of a register */
	PLACE_NOPS = 4,   /* nops of two to eight bytes, in the kernel's own forms */
	/* call rel32, since Linux 3.16. Left out of place_kernel_emulates(): most
	 * kernels do not tell a shadow stack (CET) of the return address then. */
	PLACE_CALL = 8,
};

/* What the kernel of this version emulates, without PLACE_CALL. */
unsigned place_kernel_emulates(unsigned major, unsigned minor);

/* Why the instruction `insn`, `offset` bytes from the first of `function`, is a good
 * site; NULL: it is not among those that the kernel emulates (enum place_emulated,
 * or-ed). A static string. */
const char *place_emulated(const uint8_t *function, size_t offset,
			   const struct insn *insn, unsigned kernel);

struct place_request {
	unsigned arguments; /* bit n: argument n must be readable at the entry site */
	unsigned emulated;  /* enum place_emulated, or-ed */
	bool wants_return;  /* a return probe too */
	bool frees;         /* free(pointer): calls with NULL may be missed */
	bool past_syscall;  /* the entry site may be behind the function's system call,
			       when its effect is visible to other threads already */
};

struct place {
	uint32_t entry_delta; /* bytes from the function's first byte to the entry site */
	int32_t sp_delta;     /* bytes; there the return address is at rsp + sp_delta */
	/* The register in which argument n is found there, by the numbers of
	 * enum insn_register, or PLACE_NO_REGISTER. */
	uint8_t arg_reg[PLACE_ARGUMENTS];
	bool emulated;

	/* With wants_return: the return probe's site, where rsp points at the return
	 * address. At the same offset as the entry both share one breakpoint. */
	uint32_t return_delta;
	bool return_emulated;

	const char *reason; /* static */
};

/*
 * Choose the sites in the function whose bytes are code[0] to code[size - 1]: all of
 * them, as a branch in what is left out goes unseen. When nothing better is proven, it is
 * the first instruction. False when the kernel takes no probe there either: *ret then has
 * the reason only.
 */
bool place_choose(const uint8_t *code, size_t size, const struct place_request *request,
		  struct place *ret);

#endif
