/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over a copied stack: its call path, and for each frame the rule by which the
 * probes can take the same step. Everything here is the target's to choose.
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
	uint64_t bias;         /* what is added to the image's addresses */
	uint32_t number;       /* of the image (unwind/image_store.h); 0: without cfi */
};

/* Find the code at a pc; false when nothing executable is mapped there. */
typedef bool walk_find_fn(void *argument, uint64_t pc, struct walk_code *ret);

/* The unwind rules that the machine code after an address allows, most likely first. */
#define WALK_CODE_RULES 8
struct walk_code_rules {
	uint64_t rule[WALK_CODE_RULES]; /* probes/unwind_step.h */
	size_t count;
	/* The first of them hold if each call returns. The others also if one does not
	 * and has padding behind it, where other code follows. */
	size_t likely_count;
	bool may_return; /* some likely path returns, or leads to where nobody knows */
	bool is_end;     /* each path ends the thread: there is no caller */
	/* The rule of code that comes back from another stack (unwind/stack_switch.h): it
	 * needs no check. UNWIND_NONE: this is no such code. */
	uint64_t switching;
};

/* Read the code from `address` of the image's address space on. */
typedef void walk_code_fn(const struct cfi *cfi, uint64_t address,
			  struct walk_code_rules *ret);

struct walk_frame {
	uint64_t pc;
	uint64_t sp, bp;     /* in this frame; bp is 0 when it is not known */
	uint64_t rule;       /* probes/unwind_step.h; UNWIND_NONE: it is not known yet */
	bool is_interrupted; /* pc is where a signal came in, not a return address */
};

enum walk_end {
	WALK_COMPLETE,  /* the outermost frame: a thread's start or the program's */
	WALK_NO_CFI,    /* code without unwind information, and no usable frame pointer */
	WALK_NO_MEMORY, /* the copy has no word that is needed */
	WALK_NO_REGISTER, /* a register is needed that is not known any more */
	WALK_CORRUPT,     /* the stack does not lead upwards */
	WALK_TOO_DEEP,    /* more frames than there is room for */
};

struct walk {
	/* In and out: room for `capacity` frames, leaf first. */
	struct walk_frame *frames;
	size_t capacity, count;
	/* In: reads code that has no unwind information. NULL: it is stepped over by
	 * frame pointer alone. */
	walk_code_fn *read_code;
	enum walk_end end;
	/* Some frame was found without unwind information, by machine code or by frame
	 * pointer: that one and those above it may be wrong. */
	bool is_approximate;
};

/*
 * Walk from `registers`, of which pc and stack pointer must be known. `is_interrupted`
 * says that pc is the next instruction of the frame, as at a breakpoint or a signal;
 * otherwise it is a return address, and what holds is the row of the call before it.
 * Fills `walk`; at least one frame when there is room.
 *
 * A return probe that is pending has put the address of its trampoline in place of a
 * return address: whoever made the copy puts the true one back into it first.
 */
void walk_stack(const struct unwind_registers *registers, bool is_interrupted,
		const struct stack_copy *stack, walk_find_fn *find, void *argument,
		struct walk *walk);

/* A few words about an end, for messages. */
const char *walk_end_text(enum walk_end end);

#endif
