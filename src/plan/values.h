/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where values are in a function: before each instruction the places that hold what the
 * function will return, and those that hold an argument or the caller's rbp still.
 * Places are registers and words of the function's own frame. x86-64; pure.
 */
#ifndef PLAN_VALUES_H
#define PLAN_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/cfg.h"

/* A set of places: bit n < 16 is the register n (enum insn_register), bit 16 + k is
 * values.slots[k]. */
typedef uint64_t place_set;

#define PLACES_SLOT_SHIFT 16
#define VALUES_SLOTS_MAX  (63 - PLACES_SLOT_SHIFT)
#define PLACES_REGISTERS  0xffffu

/* What is followed from the function's entry on. */
enum value {
	VALUE_ARG0, /* the arguments that registers pass (psABI 3.2.3) */
	VALUE_ARG1,
	VALUE_ARG2,
	VALUE_ARG3,
	VALUE_PRODUCT, /* of the first two arguments, its low 64 bits */
	VALUE_BP,      /* the caller's rbp */
	VALUE_COUNT,
};

/* With RESULT_OUT: the block is in memory already, where the caller wants it. */
#define PLACES_STORED ((place_set)1 << 63)

/* What will be returned. */
struct result {
	place_set in;  /* places that hold it */
	bool is_known; /* it is `value`, whatever the places hold */
	bool is_any;   /* nothing will be returned: no way from here comes to a ret */
	int64_t value;
	/* With RESULT_OUT: registers that hold the block that is to be stored where the
	 * first argument points, or PLACES_STORED. */
	place_set out;
};

struct values {
	/* Frame words by how many bytes each lies below the return address. */
	int32_t slots[VALUES_SLOTS_MAX];
	size_t slot_count;
	struct result *results;         /* by index of the instruction: before it */
	place_set (*held)[VALUE_COUNT]; /* the same: what holds each value */
};

/* What the function's result is, as far as it counts. */
enum result_width {
	RESULT_WORD,  /* 64 bits: a pointer, a size */
	RESULT_MOVED, /* the same of realloc(): settled when nothing is called any more,
			 as the old block may be freed last */
	RESULT_INT,   /* 32 bits */
	RESULT_OUT,   /* 32 bits: 0, then a block is stored through the first argument; or
			 an error number */
	RESULT_VOID,  /* none: it is settled when nothing is called any more */
};

/* May a call of the function at `address` come to one that is probed? */
typedef bool values_calls_fn(void *arg, uint64_t address);

/* Find them. `calls` is asked with RESULT_MOVED; NULL: any call may. False when memory is
 * out. `ret` is to be given to values_deinit() in either case. */
bool values_find(const struct cfg *cfg, enum result_width width, values_calls_fn *calls,
		 void *arg, struct values *ret) __attribute__((warn_unused_result));
void values_deinit(struct values *values);

/* Is there a place, or a constant, for it, and with RESULT_OUT also for the block? */
static inline bool result_is_settled(const struct result *result, enum result_width width)
{
	if (result->is_any)
		return true;
	if (width == RESULT_OUT && !result->out && !(result->is_known && result->value))
		return false;
	return result->in || result->is_known;
}

#endif
