/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds a copied stack: finds its call path, and for each frame the unwind rule that
 * lets the probes make the same step. All input is chosen by the target.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/state.h"

/* The image whose code is mapped at some address. */
struct walk_code {
	const struct cfi *cfi; /* NULL: none, or it could not be read */
	uint64_t bias;         /* to add to the image's addresses */
	uint32_t number;       /* of the image (unwind/image_store.h); 0: none */
};

/* Find the code at a pc; false if nothing executable is mapped there. */
typedef bool walk_find_fn(void *argument, uint64_t pc, struct walk_code *ret);

/* Possible unwind rules, derived from the machine code after an address, most likely
 * first. */
#define WALK_CODE_RULES 8
struct walk_code_rules {
	uint64_t rule[WALK_CODE_RULES]; /* probes/unwind_step.h */
	size_t count;
	/* The first `likely_count` rules hold if every call returns. The others hold
	 * only if some call does not return and is followed by padding and then other
	 * code. */
	size_t likely_count;
	bool may_return; /* some likely path returns, or leads to unknown code */
	bool is_end;     /* each path ends the thread: no caller */
	/* The rule of code that returns from another stack (unwind/stack_switch.h). It
	 * needs no check. UNWIND_NONE: the code does not do so. */
	uint64_t switching;
};

/* Derive the rules from the code at `address` in the image's address space. */
typedef void walk_code_fn(const struct cfi *cfi, uint64_t address,
			  struct walk_code_rules *ret);

struct walk_frame {
	uint64_t pc;
	uint64_t sp, bp;     /* in this frame; bp 0: unknown */
	uint64_t rule;       /* probes/unwind_step.h; UNWIND_NONE: not known yet */
	bool is_interrupted; /* pc is where a signal arrived, not a return address */
};

enum walk_end {
	WALK_COMPLETE,  /* the outermost frame: the start of a thread or program */
	WALK_NO_CFI,    /* code without unwind information, and no usable frame pointer */
	WALK_NO_MEMORY, /* the copy lacks a needed word */
	WALK_NO_REGISTER, /* a needed register is not known any more */
	WALK_CORRUPT,     /* the stack does not lead upwards */
	WALK_TOO_DEEP,    /* more frames than `capacity` */
};

struct walk {
	/* In: room for `capacity` frames. Out: `count` frames, leaf first. */
	struct walk_frame *frames;
	size_t capacity, count;
	/* In: derives rules for code without unwind information. NULL: the walk uses
	 * only the frame pointer there. */
	walk_code_fn *read_code;
	enum walk_end end;
	/* Out: some frame has no unwind information, and was unwound by machine code or
	 * frame pointer. That frame's caller and all further frames may be wrong. */
	bool is_approximate;
};

/*
 * Unwind from `registers`. Its pc and stack pointer must be known. `is_interrupted`: pc
 * is the next instruction of the frame, as at a breakpoint or a signal. Otherwise pc is a
 * return address, and the row of the call before it is used. Fills `walk`, with at least
 * one frame if there is room. The copy must contain the original return addresses, not
 * trampolines of return probes.
 */
void walk_stack(const struct unwind_registers *registers, bool is_interrupted,
		const struct stack_copy *stack, walk_find_fn *find, void *argument,
		struct walk *walk);

#endif
