/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks values in a function: before each instruction, the places that contain the
 * later result, an argument, or the caller's rbp. Places are registers and words of the
 * function's own frame. x86-64; pure.
 */
#ifndef CODE_VALUES_H
#define CODE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/cfg.h"

/* A set of places: bit n < INSN_REGISTERS is the register n (enum insn_register), bit
 * PLACES_SLOT_SHIFT + k is values.slots[k]. */
typedef uint64_t place_set;

#define PLACES_SLOT_SHIFT INSN_REGISTERS
#define VALUES_SLOTS_MAX  (63 - PLACES_SLOT_SHIFT)
#define PLACES_REGISTERS  (((place_set)1 << INSN_REGISTERS) - 1)

/* The values tracked from the function's entry. */
enum value {
	VALUE_ARG0, /* the arguments passed in registers (psABI 3.2.3) */
	VALUE_ARG1,
	VALUE_ARG2,
	VALUE_ARG3,
	VALUE_PRODUCT, /* product of the first two arguments, low 64 bits */
	VALUE_BP,      /* the caller's rbp */
	VALUE_COUNT,
};

/* With RESULT_OUT: the block is already stored through the first argument. */
#define PLACES_STORED ((place_set)1 << 63)

/* The value that the function will return. */
struct result {
	place_set in;  /* places that contain it */
	bool is_known; /* the result is the constant `value` */
	bool is_any;   /* no path from here returns */
	int64_t value;
	/* With RESULT_OUT: registers with the block that will be stored through the
	 * first argument, or PLACES_STORED. */
	place_set out;
};

struct values {
	/* Distances of frame words below the return address, bytes. */
	int32_t slots[VALUES_SLOTS_MAX];
	size_t slot_count;
	struct result *results;         /* indexed by instruction: the state before it */
	place_set (*held)[VALUE_COUNT]; /* indexed by instruction: places of each value */
};

/* Kinds of results. */
enum result_width {
	RESULT_WORD, /* 64 bits: a pointer, a size */
	/* a pointer from realloc(): final only after the last call, since the old block
	 * may be freed last */
	RESULT_MOVED,
	RESULT_INT, /* 32 bits */
	/* 32 bits: 0, with a block stored through the first argument, or an error
	 * number */
	RESULT_OUT,
	RESULT_VOID, /* no result; counts as known after the last call */
};

/* Can a call of the function at `address` reach a probed one? */
typedef bool values_calls_fn(void *arg, uint64_t address);

/* Track the values. If the work is over (code/work.h), nothing is known of them. `calls`
 * is asked with RESULT_MOVED; NULL: every call may reach a
 * probed function. False: memory is out. Call values_deinit() in either case. */
bool values_find(const struct cfg *cfg, enum result_width width, values_calls_fn *calls,
		 void *arg, struct values *ret) __attribute__((warn_unused_result));
void values_deinit(struct values *values);

/* Is the result known to be in a place or constant, and with RESULT_OUT also the
 * block? */
static inline bool result_is_settled(const struct result *result, enum result_width width)
{
	if (result->is_any)
		return true;
	if (width == RESULT_OUT && !result->out && !(result->is_known && result->value))
		return false;
	return result->in || result->is_known;
}

#endif
