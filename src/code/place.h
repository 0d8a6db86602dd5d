/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose the places in a function where probes cost least and still see every call: the
 * first emulated instruction that every call executes exactly once while the arguments
 * are still in registers. docs/probes.md, "The place of an entry probe", has the proof.
 * x86-64; pure: bytes in, place out.
 */
#ifndef CODE_PLACE_H
#define CODE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/emulated.h"

#define PLACE_ARGUMENTS   6    /* arguments passed in registers (System V psABI 3.2.3) */
#define PLACE_NO_REGISTER 0xff /* not in a register */

struct place_request {
	unsigned arguments; /* bit n: argument n must be readable at the entry site */
	unsigned emulated;  /* enum emulated, or-ed */
	bool wants_return;  /* a return probe too */
	bool frees;         /* free(pointer): calls with NULL may be missed */
	/* The entry site may be after the function's system call, when its effect is
	 * already visible to other threads. */
	bool past_syscall;
};

struct place {
	uint32_t entry_delta; /* bytes from the function's first byte to the entry site */
	int32_t sp_delta;     /* bytes; at the entry site the return address is at rsp +
				 sp_delta */
	/* The register with argument n at the entry site (enum insn_register), or
	 * PLACE_NO_REGISTER. */
	uint8_t arg_reg[PLACE_ARGUMENTS];
	bool emulated;

	/* With wants_return: the return probe's site, where rsp points to the return
	 * address. If it is the entry site, both probes share one breakpoint. */
	uint32_t return_delta;

	const char *reason; /* static */
};

/*
 * Choose the sites in the function with the bytes code[0] to code[size - 1]. `code`
 * must be the whole function, since branches outside of it are not seen. If nothing
 * better is proven, the site is the first instruction. False: the kernel refuses probes
 * there too; only ret->reason is set.
 */
bool place_choose(const uint8_t *code, size_t size, const struct place_request *request,
		  struct place *ret);

#endif
