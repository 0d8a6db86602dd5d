/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions with malformed code: no compiler emits it, so a file is damaged, or hostile.
 * Such a function gets no return probe, because nothing is known about its stack. Only
 * what its first instruction shows is traced.
 */
#ifndef PLAN_MALFORMED_H
#define PLAN_MALFORMED_H

#include "allocator/allocator.h"
#include "code/cfg.h"

/*
 * Is the code malformed? `why` is the reason of cfg_read() or returns_find(). Returns
 * NULL, or a static string for plan_skip.reason. Other code that is not understood is not
 * malformed.
 */
const char *malformed_code(const char *why);

/* Does another function overlap `found`, without beginning at the same address? Returns
 * as malformed_code(). */
const char *malformed_overlap(const struct allocator *allocator,
			      const struct allocator_function *found,
			      const struct cfg_source *source);

#endif
