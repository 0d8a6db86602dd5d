/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of single blocks from the searches of a run. A block that nothing pointed
 * to stays unreachable for good. So the verdict of the last search holds in later
 * reports, too, for blocks that are still there. If such a block is freed, the verdict
 * was wrong: these are counted.
 */
#ifndef REACH_VERDICTS_H
#define REACH_VERDICTS_H

#include <stdbool.h>
#include <stdint.h>

#include "snapshot/snapshot.h"
#include "util/vec.h"

enum reach_verdict {
	REACH_LOST,
	REACH_HELD,
	REACH_POSSIBLY_LOST,
	REACH_UNVERIFIED,
	REACH_VERDICTS,
};

struct reach_block {
	uint64_t address, size_bytes, time_ns;
	uint64_t since_ns; /* of the process, as in struct snapshot_process */
	int pid;
	uint32_t stack;     /* of the block, as in struct snapshot_block */
	uint32_t for_stack; /* that it counts for: with REACH_HELD the stack of the lost
			       block that leads to it */
	uint8_t verdict;    /* enum reach_verdict */
};

/* A process whose candidates a search has verified, as far as there was time. */
struct reach_judged {
	int pid;
	/* There was no time for all of its memory: blocks that were lost before stay so.
	 */
	bool is_late;
};

/* Blocks that a search called lost, and that were freed later. */
struct reach_freed {
	struct snapshot_sum all, held; /* `held`: the part that was called held */
};

struct reach_verdicts {
	VEC(struct reach_block) list;  /* by pid, then address */
	VEC(struct reach_freed) freed; /* by stack */
	struct reach_freed freed_without_stack;
};

void reach_verdicts_deinit(struct reach_verdicts *verdicts);

/* Drop all verdicts on these processes: a new search has been made. The verdicts must be
 * sorted. The processes are put into the order of their pids. */
void reach_verdicts_clear(struct reach_verdicts *verdicts, struct reach_judged judged[],
			  size_t count);

/* Is the block known to be lost, by one of the first `sorted` verdicts of the list? */
bool reach_verdicts_know_lost(const struct reach_verdicts *verdicts, size_t sorted,
			      int pid, uint64_t address);

/* Add a verdict. Call reach_verdicts_sort() after the last one. False: memory is out. */
bool reach_verdicts_add(struct reach_verdicts *verdicts,
			const struct reach_block *verdict)
	__attribute__((warn_unused_result));
void reach_verdicts_sort(struct reach_verdicts *verdicts);

/* Drop the blocks that are not in the snapshot any more, and count the blocks that were
 * freed although a search found them lost, except in a process that has ended or has
 * executed another program. To be
 * called before the verdicts of a new search are added. False: memory is out. */
bool reach_verdicts_audit(struct reach_verdicts *verdicts, const struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Fill snap->unreachable and snap->search.total. All verdicts must be of blocks that are
 * in the snapshot (reach_verdicts_audit()). False: memory is out. */
bool reach_verdicts_fill(const struct reach_verdicts *verdicts, struct snapshot *snap)
	__attribute__((warn_unused_result));

#endif
