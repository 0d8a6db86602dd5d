/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From maps to a snapshot while the target runs on. The tables change under the reader:
 * so the probes write what they are about to change into a journal meanwhile, and the
 * tables as read with the journal applied are the state at one moment, in which no block
 * is missing and none is listed twice.
 */
#ifndef BPF_DRAIN_H
#define BPF_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/families.h"
#include "bpf/fence.h"
#include "bpf/source.h"
#include "bpf/ticks.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

struct abi_block;
struct abi_control;

/* Descriptors of the maps of probes/maps.c; -1: this run has no such map. */
struct drain_maps {
	int control, processes, counters, live, live_spill, journal, pending,
		pending_spill, stacks, stack_pcs;
	struct fence *fence; /* borrowed */
};

/* Which process of the snapshot has a slot of `processes`, for each slot;
 * SNAPSHOT_NO_PROCESS: none, and its blocks are left out. */
struct drain_slots {
	const uint32_t *process; /* sizes.process_slots of them */
	/* And whose stacks are whose. NULL: all are of process 0. */
	const struct families *families;
};

/*
 * Stacks that have been handed over (abi_walk.h): `catch_up` waits until all so far are
 * walked, `stack` gives the number that one came to have, or ABI_NO_STACK.
 */
struct drain_resolver {
	void (*catch_up)(void *arg);
	uint32_t (*stack)(void *arg, uint32_t stack);
	void *arg;
};

/*
 * Add the heap blocks, stacks and frames to `snap`. Times are by `ticks`. `snap->time_ns`
 * and `snap->attached_ns` are set. `control` is the mapped control record. When the
 * journal overflows the tables are read again; when it does so each time, *settled is
 * false: blocks that moved meanwhile may be missing or listed twice.
 */
struct error *drain_blocks(const struct drain_maps *maps,
			   const struct source_sizes *sizes, struct abi_control *control,
			   const struct drain_slots *slots,
			   const struct tick_clock *ticks,
			   const struct drain_resolver *resolver, struct snapshot *snap,
			   bool *settled) __attribute__((warn_unused_result));

/*
 * Ask the resolver for the stack of each block that has the number of a walk, between
 * snapshots. Blocks in the buckets get the stack's own number. A block that moves
 * meanwhile may be left out.
 */
struct error *drain_ask_stacks(const struct drain_maps *maps,
			       const struct source_sizes *sizes,
			       const struct drain_resolver *resolver)
	__attribute__((warn_unused_result));

/* Add the first `used` stacks, with their frames, to `snap`. */
struct error *drain_stacks(const struct drain_maps *maps,
			   const struct source_sizes *sizes,
			   const struct drain_slots *slots, uint32_t used,
			   struct snapshot *snap) __attribute__((warn_unused_result));

/*
 * Add the counters. Calls on their way whose thread has died are counted as abandoned,
 * unless their process as a whole has exited.
 */
struct error *drain_counters(const struct drain_maps *maps,
			     const struct source_sizes *sizes,
			     const struct drain_slots *slots, struct snapshot *snap)
	__attribute__((warn_unused_result));

/* Called for each block that is taken out. */
struct drain_taken {
	void (*fn)(void *arg, uint32_t slot, const struct abi_block *block);
	void *arg;
};

/*
 * Take out of the tables what belongs to the slots for which `gone` is set
 * (sizes.process_slots of them), whose processes do not run any more. Adds the blocks
 * taken and their bytes to *blocks and *bytes.
 */
struct error *drain_forget(const struct drain_maps *maps,
			   const struct source_sizes *sizes, struct abi_control *control,
			   const bool gone[], const struct drain_taken *taken,
			   uint64_t *blocks, uint64_t *bytes)
	__attribute__((warn_unused_result));

#endif
