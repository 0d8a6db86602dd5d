/* SPDX-License-Identifier: Apache-2.0 */
/* memtrace's access to the return addresses of stacks (`stack_pcs`,
 * probes/abi_walk.h). */
#ifndef DRAIN_STACK_PCS_H
#define DRAIN_STACK_PCS_H

#include <stdint.h>

#include "abi_walk.h"
#include "drain/record_windows.h"

struct stack_pcs {
	struct record_windows blocks;
};

/* `table`: the map `stack_pcs`; borrowed. */
static inline void stack_pcs_init(struct stack_pcs *pcs, struct part_table *table)
{
	/* 260 KiB per window, 8 MiB in all. */
	record_windows_init(&pcs->blocks, table, 4);
}

static inline void stack_pcs_deinit(struct stack_pcs *pcs)
{
	record_windows_deinit(&pcs->blocks);
}

/* The return addresses of the stack whose head has this `at`. The result has room for the
 * deepest stack and is mapped until the next call. Returns NULL if `at` is out of range
 * or mmap() failed. */
static inline uint64_t *stack_pcs_at(struct stack_pcs *pcs, uint32_t at)
{
	uint64_t *words = record_windows_at(&pcs->blocks, at / ABI_PCS_BLOCK);

	return words ? words + at % ABI_PCS_BLOCK : NULL;
}

#endif
