/* SPDX-License-Identifier: Apache-2.0 */
/* One function's probes: the best places that are proven (plan/place.h, returns.h). */
#ifndef PLAN_SITE_H
#define PLAN_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "plan/values.h"
#include "target/allocator.h"
#include "target/elf.h"

/* What is read of an allocator's file for all of its functions. */
struct site_code;

struct site_options {
	const char
		*function; /* of those that allocate only this one is probed; NULL: all */
	bool mappings;     /* munmap inside free is to be known by the call around it */
	/* No return probes: where nothing else is proven, the return instruction itself
	 * is the site. */
	bool no_return_probes;
};

/* Read it. `file`, `allocator` and `target` must outlive it. What cannot be read makes
 * for fewer sites. Only ERROR_NO_MEMORY is returned. */
struct error *site_code_open(struct elf_file *file, const struct allocator *allocator,
			     const struct site_target *target,
			     const struct site_options *options, struct site_code **ret)
	__attribute__((warn_unused_result));
void site_code_close(struct site_code *code);

/*
 * Fill in the places of the function `found`: address, offsets, sp_delta, arg_reg, body,
 * returns and reason; function and wants_return are set already. False when the kernel
 * takes no probe there: `site->reason` says why.
 */
bool site_place(struct site_code *code, const struct allocator_function *found,
		struct plan_site *site);

/* What the result of functions with this effect is. */
enum result_width site_result_width(enum alloc_effect effect);

/* The value that is the size of the new block. RETURN_NO_SIZE: the size alone does not
 * describe a call of this function. */
enum value site_asked(const struct alloc_function *function);

#endif
