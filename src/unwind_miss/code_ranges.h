/* SPDX-License-Identifier: Apache-2.0 */
/* The address ranges of a process's code that has unwind rules, merged into the few
 * ranges that the probes of mremap() check (struct abi_moves). */
#ifndef UNWIND_MISS_CODE_RANGES_H
#define UNWIND_MISS_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

/*
 * Make the ranges cover [start, end). If there are too many ranges, the two that are
 * closest together are merged. So the ranges always cover everything that was added, and
 * may cover more. That also holds at each moment for concurrent readers. Returns true if
 * [start, end) was already covered.
 */
bool code_ranges_add(struct abi_moves *moves, uint64_t start, uint64_t end);

/* Empty the ranges: the process has no rules any more. */
void code_ranges_clear(struct abi_moves *moves);

#endif
