/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a call of a function reach a probed function? The code of the function and of all
 * direct callees is read instruction by instruction. Calls through pointers are assumed
 * to reach only functions that are not probed.
 */
#ifndef CODE_REACH_H
#define CODE_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "code/cfg.h"
#include "util/vec.h"

/* The answer for a function. */
struct reach_function {
	uint64_t address;
	bool reaches;
};

struct reach {
	const struct cfg_source *source;
	/* Is the function at `address` probed? */
	bool (*is_probed)(void *arg, uint64_t address);
	void *arg;
	VEC(struct reach_function) known; /* ordered by address */
	uint64_t looked_at;               /* bytes of code read for all questions */
};

/* Can a call of the function at `address` reach a probed one? Also true if this is
 * unknown or would take too long to find out. */
bool reach_any(struct reach *reach, uint64_t address);
void reach_deinit(struct reach *reach);

#endif
