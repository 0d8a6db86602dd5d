/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a call of a function reach a probed one? Its code, and the code of all direct
 * callees, is read instruction by instruction. Calls through pointers are assumed to
 * reach functions that are not probed.
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
	uint64_t looked_at;               /* bytes of code, of all questions */
};

/* Also true when it cannot be told, or would take too long. */
bool reach_any(struct reach *reach, uint64_t address);
void reach_deinit(struct reach *reach);

#endif
