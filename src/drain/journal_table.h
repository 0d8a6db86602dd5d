/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of the journal (probes/abi.h). Each is an mmapable BPF array in an array
 * of maps. A half that was too small is replaced by a larger one before it is used again,
 * when no program writes to it.
 */
#ifndef DRAIN_JOURNAL_TABLE_H
#define DRAIN_JOURNAL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

struct journal_table {
	int outer; /* the array of maps; borrowed */
	pid_t owner;
	int half[2];
	uint32_t room[2]; /* entries in each half */
	bool is_own[2];   /* else borrowed */
};

/* `outer` is the map `journal` and `first` the map `journal_part`, which has `entries`
 * entries and becomes the first half. */
struct error *journal_table_open(struct journal_table *j, int outer, int first,
				 uint32_t entries) __attribute__((warn_unused_result));
/* Can be called on an all-zero struct. */
void journal_table_close(struct journal_table *j);

/* Let the probes use a half. Waits until all running programs have ended. */
struct error *journal_table_put(const struct journal_table *j, uint32_t half)
	__attribute__((warn_unused_result));

/* Replace the half, which no program uses, if it has fewer than `entries` entries or as
 * many as there can be. *is_new: it was replaced, and is empty. Does nothing in a process
 * that was forked later: its parent, and other children of its parent, would continue
 * with the old half, which no program writes to any more. */
struct error *journal_table_grow(struct journal_table *j, uint32_t half, uint64_t entries,
				 bool *is_new) __attribute__((warn_unused_result));

#endif
