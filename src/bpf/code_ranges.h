/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a process there is code that rules were learned of, in the few ranges that the
 * probes of mremap look at (struct abi_moves). */
#ifndef BPF_CODE_RANGES_H
#define BPF_CODE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

/*
 * Make sure that [start, end) lies in them. When there are too many, what lies nearest to
 * each other becomes one: they always have all that was added, and may have more. So it
 * is at each moment, for who reads them meanwhile. True when it lay there before.
 */
bool code_ranges_add(struct abi_moves *moves, uint64_t start, uint64_t end);

/* There are no rules any more. */
void code_ranges_clear(struct abi_moves *moves);

#endif
