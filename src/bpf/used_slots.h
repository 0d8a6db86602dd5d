/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of `processes` (probes/abi.h) that are in use. There are thousands, each
 * in other cache lines, so that reading all of them takes longer than the rest of a
 * report of few processes. Here each is a bit. Only probes and memtrace take slots, and
 * both count it in abi_control.slots_taken after the slot has its owner. So all slots are
 * read only when that number has changed.
 */
#ifndef BPF_USED_SLOTS_H
#define BPF_USED_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

struct used_slots {
	uint64_t *bits; /* NULL: not read yet, or no memory for them */
	uint64_t taken; /* abi_control.slots_taken before they were read */
};

/*
 * Get the next slot from *cursor on that may be in use: this finds each slot in use, and
 * some that were left. *cursor is 0 at first; slots taken from then on may be left out.
 * `always`: read all slots in any case, because the count may be visible before the
 * slot's owner. Returns false at the end.
 */
bool used_slots_next(struct used_slots *used, const struct abi_control *control,
		     const struct abi_process *processes, uint32_t slot_count,
		     bool always, uint32_t *cursor, uint32_t *ret);

void used_slots_deinit(struct used_slots *used);

#endif
