/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds the work of analysing code: a hostile file could keep it busy for hours. */
#ifndef CODE_WORK_H
#define CODE_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* The limit for one file: about a second for the worst code. It is 11 times what the
 * largest packaged library takes (jemalloc 5.2 and 5.3: 2.3 million). */
#define WORK_MAX UINT64_C(25000000)

/* Costs. The unit is one look at an instruction, 10 to 50 ns. They are counted, not
 * measured: the result is the same on every machine. */
#define WORK_FUNCTION 100 /* to find a function's bounds, and to copy its code */
#define WORK_NAME     100 /* to look up which function a call leads to */
#define WORK_DECODE   4   /* to decode an instruction only for its length and kind */
#define WORK_VALUES   4   /* to follow the values over an instruction */

struct work {
	uint64_t done;
	bool is_over; /* the limit was reached: what was found since is not complete */
};

/* False: the work would exceed the limit. NULL: no limit. */
static inline bool work_spend(struct work *work, uint64_t cost)
{
	if (!work)
		return true;
	if (work->is_over || cost > WORK_MAX - work->done) {
		work->is_over = true;
		return false;
	}
	work->done += cost;
	return true;
}

static inline bool work_is_over(const struct work *work)
{
	return work && work->is_over;
}

#endif
