/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a call of a function come to one that is probed? Its code, and that of what it
 * calls directly, is read instruction by instruction. Calls by pointers are taken for
 * calls of functions that are not probed.
 */
#ifndef PLAN_REACH_H
#define PLAN_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/cfg.h"
#include "util/vec.h"

/* A function that was looked at. */
struct reach_function {
	uint64_t address;
	bool reaches;
};

struct reach {
	const struct cfg_source *source;
	/* Is the function at `address` probed? */
	bool (*is_probed)(void *arg, uint64_t address);
	void *arg;
	VEC(struct reach_function) known; /* by address */
};

/* Also true when it cannot be told, or would take too long. */
bool reach_any(struct reach *reach, uint64_t address);
void reach_deinit(struct reach *reach);

#endif
