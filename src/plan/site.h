/* SPDX-License-Identifier: Apache-2.0 */
/* One function's probes: the best place that is proven (plan/place.h). */
#ifndef PLAN_SITE_H
#define PLAN_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "target/allocator.h"
#include "target/elf.h"
#include "target/proc.h"

/* Who has the file mapped. Without, every probe sits on a function's first instruction:
 * a place inside is trusted only where the target's memory has the file's bytes. */
struct site_target {
	const struct proc *proc; /* or NULL */
	const struct proc_maps *maps;
	bool unmapped; /* nobody has: then the file is all there is */
};

/*
 * Fill in the place of the function `found` of `allocator`, whose file is `file`:
 * address, offsets, sp_delta, arg_reg and reason; function and wants_return are set
 * already. False when the kernel takes no probe there: `site->reason` says why.
 */
bool site_place(struct elf_file *file, const struct allocator *allocator,
		const struct allocator_function *found, const struct site_target *target,
		struct plan_site *site);

#endif
