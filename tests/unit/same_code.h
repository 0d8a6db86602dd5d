/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the code of a library in memory with its file. */
#ifndef UNIT_SAME_CODE_H
#define UNIT_SAME_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "arch/arch.h"

/* True if `memory` has the bytes of the file, but for breakpoints of another tracer: the
 * kernel may write these into every process that maps the file. */
static inline bool is_same_code(const void *file, const void *memory, size_t size)
{
	const unsigned char *want = file, *got = memory;

	for (size_t i = 0; i < size; i++)
		if (got[i] != want[i] && got[i] != arch.breakpoint)
			return false;
	return true;
}

#endif
