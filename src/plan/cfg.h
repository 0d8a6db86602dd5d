/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control-flow graph of a function, made from its machine code: instructions, which
 * of them follow which, where the stack pointer is, and how the function is left. Code
 * that the compiler split off (".cold") is part of it. x86-64; pure but for the reads.
 *
 * Code does not say which calls never return. A callee is assumed not to return when its
 * name says so, or when a call to it is followed by nops or by the function's end, and no
 * call to it is followed by code that nothing else leads to.
 */
#ifndef PLAN_CFG_H
#define PLAN_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/callees.h"
#include "plan/decode.h"
#include "util/vec.h"

#define CFG_INSNS_MAX  16384       /* of a function */
#define CFG_RANGES_MAX 16          /* the function, and parts that were split off */
#define CFG_RANGE_MAX  (64u << 10) /* bytes of each */
#define CFG_SUCCESSORS 2
#define CFG_NO_BP      INT32_MIN

/* How a function is left at an instruction. */
enum cfg_exit {
	CFG_GOES_ON,
	CFG_RETURNS, /* ret */
	CFG_LEAVES,  /* a tail call: the function at `callee` returns to our caller */
	CFG_ENDS,    /* control never comes back: abort(), a trap */
};

struct cfg_insn {
	uint64_t address; /* in the file's address space */
	struct insn insn;
	uint32_t next[CFG_SUCCESSORS]; /* indexes; of INSN_JCC the taken way is next[0] */
	uint8_t next_count;
	enum cfg_exit exit;
	/* Stands for the exit of a conditional jump out of the function. It is not an
	 * instruction, so no probe can be there. */
	bool is_pseudo;
	struct callee callee; /* of calls, and with CFG_LEAVES */
	/* Before the instruction: the return address is at rsp + sp_delta, bytes. */
	int32_t sp_delta;
	int32_t bp_delta; /* the same of rbp; CFG_NO_BP: not known */
	bool returns;     /* some way from here comes to CFG_RETURNS or CFG_LEAVES */
};

/* Where the code is. */
struct cfg_source {
	/* Copy up to `size` bytes of code at `address`; the number copied. */
	size_t (*read)(void *arg, uint64_t address, uint8_t *ret, size_t size);
	/* The function, or the part of one, around `address`: `end` is exclusive. False
	 * when that is unknown. May be NULL. */
	bool (*extent)(void *arg, uint64_t address, uint64_t *start, uint64_t *end);
	void *arg;
	const struct callees *callees; /* NULL: nothing is known of who is called */
};

struct cfg {
	uint64_t start;
	VEC(struct cfg_insn) insns; /* by address, pseudo ones last; [entry] is first */
	uint32_t entry;             /* index of the first that is executed */
};

/*
 * Read the function at `address`, of `size` bytes, or 0 when only source->extent knows.
 * NULL, or why it is not understood: a static string. `ret` is to be given to
 * cfg_deinit() in either case.
 */
const char *cfg_read(const struct cfg_source *source, uint64_t address, uint64_t size,
		     struct cfg *ret);
void cfg_deinit(struct cfg *cfg);

#endif
