/* SPDX-License-Identifier: Apache-2.0 */
/* One function's probes: the best proven places (code/place.h, returns.h). */
#ifndef PLAN_SITE_H
#define PLAN_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/site_text.h"
#include "code/values.h"
#include "allocator/allocator.h"
#include "elf/elf.h"

/* Data read from an allocator's file for all of its functions. */
struct site_code;

struct site_options {
	/* probe only this one of the allocating functions; NULL: all */
	const char *function;
	bool mappings; /* the call around a nested munmap must be known, as in free */
	/* No return probes: if nothing else is proven, the return instruction itself is
	 * the site. */
	bool no_return_probes;
};

/* Read the data. `file`, `allocator` and `target` must outlive it. Parts that cannot be
 * read only mean fewer sites. Returns no error but ERROR_NO_MEMORY. */
struct error *site_code_open(struct elf_file *file, const struct allocator *allocator,
			     const struct site_target *target,
			     const struct site_options *options, struct site_code **ret)
	__attribute__((warn_unused_result));
void site_code_close(struct site_code *code);

/*
 * Fill in the places of the function `found`: address, offsets, sp_delta, arg_reg,
 * body, returns and reason of `site`. Its function and wants_return are already set.
 * False: the kernel refuses a probe there; `site->reason` says why.
 */
bool site_place(struct site_code *code, const struct allocator_function *found,
		struct plan_site *site);

/* The kind of result of functions with this effect. */
enum result_width site_result_width(enum alloc_effect effect);

/* The value with the size of the new block. RETURN_NO_SIZE: the size alone does not
 * describe a call of this function. */
enum value site_asked(const struct alloc_function *function);

#endif
