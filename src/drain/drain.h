/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the maps into a snapshot while the target runs on. The tables change while they
 * are read. So the probes write each change to a journal before they make it. The tables
 * as read, with the journal applied, are the state at one moment: no block is missing or
 * listed twice.
 */
#ifndef DRAIN_DRAIN_H
#define DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "drain/drain_kept.h"
#include "bpf/families.h"
#include "bpf/fence.h"
#include "drain/journal_table.h"
#include "drain/live_table.h"
#include "drain/stack_tables.h"
#include "compile/source.h"
#include "bpf/ticks.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

struct abi_block;
struct abi_control;

/* Descriptors of the maps of probes/maps.c; -1: this run does not have the map. */
struct drain_maps {
	int control, processes, live_spill, pending, pending_spill;
	struct abi_counters *counters; /* mapped, sizes.cpu_slots of them; borrowed */
	int journal_ring;              /* -1: `journal` is used instead */
	struct journal_table *journal; /* borrowed; NULL if `live` is */
	struct stack_tables *stacks;   /* borrowed */
	struct live_table *live;       /* borrowed; NULL: all blocks are in live_spill */
	struct fence *fence;           /* borrowed */
	enum block_class class;        /* of the blocks in `live` */
};

/* The counters of all processors together. */
struct abi_counters drain_sum_counters(const struct drain_maps *maps, uint32_t cpu_slots);

/* For each slot of `processes`, the index of its process in the snapshot.
 * SNAPSHOT_NO_PROCESS: it has no process there, and its blocks are left out. */
struct drain_slots {
	const uint32_t *process; /* sizes.process_slots elements */
	/* The process for each family of stacks. NULL: all stacks are of process 0. */
	const struct families *families;
};

/* Resolves the numbers of unwind misses (abi_walk.h) to stacks. `catch_up` waits until
 * all misses so far are resolved. `stack` returns the number of the stack, or
 * ABI_NO_STACK. */
struct drain_resolver {
	void (*catch_up)(void *arg);
	uint32_t (*stack)(void *arg, uint32_t stack);
	void *arg;
};

/*
 * Add the blocks, stacks and frames to `snap`, whose time_ns and attached_ns are set.
 * Times are converted by `ticks`. `control` is mapped. If the journal overflows at each
 * reading, *settled is false and the snapshot is inconsistent: blocks that moved during
 * the reading may be missing or listed twice. `kept` (NULL: read in any case) has the
 * blocks of the last reading.
 */
struct error *
drain_blocks(const struct drain_maps *maps, const struct source_sizes *sizes,
	     struct abi_control *control, const struct drain_slots *slots,
	     const struct tick_clock *ticks, const struct drain_resolver *resolver,
	     struct drain_kept *kept, struct snapshot *snap, bool *settled)
	__attribute__((warn_unused_result));

/* A block of a snapshot. */
struct drain_known {
	uint64_t key; /* ABI_KEY() */
	uint64_t size_bytes, time_ns;
	uint32_t tid, stack;
};

/* Blocks to look for: `get` returns block `i` of `count`. */
struct drain_wanted {
	struct drain_known (*get)(const void *arg, size_t i);
	const void *arg;
	size_t count;
};

/* Set is_there[i] for each block: is it in the tables? Their processes must be stopped.
 * Blocks that a realloc() holds are not found, nor blocks whose stack is not resolved
 * yet. `attached_ns`: snapshot.attached_ns of the snapshot that they are from. */
struct error *drain_find_same(const struct drain_maps *maps,
			      const struct abi_control *control,
			      const struct tick_clock *ticks, uint64_t attached_ns,
			      const struct drain_resolver *resolver,
			      const struct drain_wanted *wanted, bool is_there[])
	__attribute__((warn_unused_result));

/* Ask the resolver for the stack of each block that has the number of a miss; for use
 * between snapshots. Blocks in the buckets get the number of their stack. A block that
 * moves during the call may be left out. */
struct error *drain_ask_stacks(const struct drain_maps *maps,
			       const struct drain_resolver *resolver)
	__attribute__((warn_unused_result));

/* Add the first `used` stacks, with their frames, to `snap`. */
struct error *drain_stacks(const struct drain_maps *maps,
			   const struct source_sizes *sizes,
			   const struct drain_slots *slots, uint32_t used,
			   struct snapshot *snap) __attribute__((warn_unused_result));

/* Add the counters, to the totals of maps->class and to the losses. Calls whose thread
 * died before they returned are counted as abandoned, unless their whole process has
 * exited. memtrace does not look for such calls again while `kept` (NULL: look in any
 * case) is quiet, or if drain_blocks() has just seen no call. */
struct error *drain_counters(const struct drain_maps *maps,
			     const struct source_sizes *sizes,
			     const struct drain_slots *slots, struct drain_kept *kept,
			     struct snapshot *snap) __attribute__((warn_unused_result));

/* Called for each block that drain_remove_gone() removes. */
struct drain_taken {
	void (*fn)(void *arg, uint32_t slot, const struct abi_block *block);
	void *arg;
};

/* Remove everything that belongs to the slots with gone[slot] set (sizes.process_slots
 * elements); their processes have ended. Adds the removed blocks and their bytes to
 * *blocks and *bytes. */
struct error *drain_remove_gone(const struct drain_maps *maps,
				const struct source_sizes *sizes,
				struct abi_control *control, const bool gone[],
				const struct drain_taken *taken, uint64_t *blocks,
				uint64_t *bytes) __attribute__((warn_unused_result));

#endif
