/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control-flow graph of a function, made from its machine code: its instructions,
 * their successors, the position of the stack pointer, and how the function exits. Code
 * that the compiler split off (".cold") is part of it. Which callees never return is a
 * guess: docs/probes.md, "Calls that do not return". x86-64; pure except for the reads.
 */
#ifndef CODE_CFG_H
#define CODE_CFG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/callees.h"
#include "code/decode.h"
#include "code/work.h"
#include "util/vec.h"

#define CFG_INSNS_MAX  16384       /* bound per function */
#define CFG_RANGES_MAX 16          /* the function and its split-off parts */
#define CFG_RANGE_MAX  (64u << 10) /* bytes per range */
#define CFG_SUCCESSORS 2
#define CFG_NO_BP      INT32_MIN

/* The reason when the work is over (code/work.h). */
#define CFG_TOO_MUCH "following its code would take too long"

/* Reasons that no compiler's output gives: the code is damaged, or hostile. */
#define CFG_TOO_LONG      "it is too long"
#define CFG_OVERLAP       "instructions overlap"
#define CFG_PARTS_OVERLAP "its parts overlap"
#define CFG_NO_INSN       "it leads to bytes that are no instruction"
#define CFG_NO_CODE       "it jumps to where the file has no code"
#define CFG_NO_END        "it goes on behind its end"

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
	uint32_t
		next[CFG_SUCCESSORS]; /* indexes; INSN_JCC: next[0] is the taken branch */
	uint8_t next_count;
	enum cfg_exit exit;
	/* Stands for the exit of a conditional jump out of the function. It is not an
	 * instruction, so no probe can be there. */
	bool is_pseudo;
	struct callee callee; /* for calls and CFG_LEAVES */
	/* Before the instruction the return address is at rsp + sp_delta, bytes. */
	int32_t sp_delta;
	int32_t bp_delta; /* the same for rbp; CFG_NO_BP: unknown */
	bool returns;     /* some path from here reaches CFG_RETURNS or CFG_LEAVES */
};

/* Provides the code. */
struct cfg_source {
	/* Copy up to `size` bytes of code at `address`. Returns the number copied. */
	size_t (*read)(void *arg, uint64_t address, uint8_t *ret, size_t size);
	/* Get the bounds of the function, or split-off part, that contains `address`;
	 * `end` is exclusive. False: unknown. May be NULL. */
	bool (*extent)(void *arg, uint64_t address, uint64_t *start, uint64_t *end);
	void *arg;
	const struct callees *callees; /* NULL: all callees are unknown */
	struct work *work;             /* counts the work here; NULL: no limit */
};

struct cfg {
	uint64_t start;
	VEC(struct cfg_insn)
	insns;             /* ordered by address, pseudo ones last; [entry] is first */
	uint32_t entry;    /* index of the first executed instruction */
	struct work *work; /* of the source */
};

/*
 * Read the function at `address`. `size` is its size in bytes; 0: ask source->extent.
 * Returns NULL, or why the function is not understood: a static string. Call
 * cfg_deinit() in either case.
 */
const char *cfg_read(const struct cfg_source *source, uint64_t address, uint64_t size,
		     struct cfg *ret);
void cfg_deinit(struct cfg *cfg);

#endif
