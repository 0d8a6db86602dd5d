/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of the last reading, kept for the next one: while nothing is allocated or
 * freed, a report skips reading the tables, which takes milliseconds. docs/mechanisms.md,
 * "When blocks are used again", says when the probes' counters prove that.
 */
#ifndef DRAIN_DRAIN_KEPT_H
#define DRAIN_DRAIN_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/vec.h"

struct drain;

struct drain_kept {
	bool is_known; /* `sum` was read, and every program has ended within the time of
			  fence.h */
	bool is_confirmed; /* and the blocks equal the tables' blocks at this sum */
	uint64_t sum;      /* of all counters, before the tables were read */
	unsigned repeats;  /* readings in a row that found the same sum; at most 2 */
	bool has_no_calls; /* no call was going on when the last snapshot read the tables;
			      false also if it did not read them */
	uint64_t dead;     /* calls whose thread had died, when they were last counted */
	VEC(uint64_t) keys;
	VEC(struct snapshot_block) blocks; /* their stacks are not resolved yet */
};

/* Begin a reading: read the counters. Returns true if the blocks are as kept. They have
 * been copied to the snapshot: do not read the tables. */
bool drain_kept_begin(struct drain_kept *kept, struct drain *d);

/* The tables were read. Keep the blocks if they are few, before their stacks are
 * resolved. `settled`: the reading is consistent. */
void drain_kept_end(struct drain_kept *kept, const struct drain *d, bool settled);

/* Did nothing happen since the last reading? Then every stack and block was in it. Also
 * true if there are too many blocks to keep. */
static inline bool drain_kept_is_quiet(const struct drain_kept *kept)
{
	return kept->repeats >= 2;
}

/* The tables, or the meaning of stack numbers, are changed by memtrace itself. */
void drain_kept_drop(struct drain_kept *kept);

void drain_kept_deinit(struct drain_kept *kept);

#endif
