/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From maps to a snapshot while the target runs on. The tables change under the reader:
 * a slot that changes while it is read is read again, and a block that was freed and
 * handed out anew at the same address meanwhile is listed once, as last seen.
 */
#ifndef BPF_DRAIN_H
#define BPF_DRAIN_H

#include <stdint.h>

#include "bpf/source.h"
#include "snapshot/snapshot.h"
#include "target/proc.h"
#include "util/error.h"

/* Descriptors of the maps of probes/maps.c. */
struct drain_maps {
	int control, counters, live, live_spill, pending, pending_spill, stacks;
};

/*
 * The time of a 32-bit tick, which wraps after 52 days: the last moment up to `now_ns`
 * that has it. All times CLOCK_MONOTONIC; ticks count from `attach_ns`.
 */
uint64_t drain_tick_ns(uint64_t attach_ns, uint64_t now_ns, uint32_t tick);

/* Add the heap blocks, stacks and frames to `snap`. Ticks count from `attach_ns`
 * (CLOCK_MONOTONIC). `snap->time_ns` and
 * `snap->attached_ns` are set. */
struct error *drain_blocks(const struct drain_maps *maps,
			   const struct source_sizes *sizes, uint64_t attach_ns,
			   struct snapshot *snap) __attribute__((warn_unused_result));

/*
 * Add the counters. Calls on their way whose thread has died are counted as abandoned,
 * unless `proc` as a whole has exited.
 */
struct error *drain_counters(const struct drain_maps *maps,
			     const struct source_sizes *sizes, const struct proc *proc,
			     struct snapshot *snap) __attribute__((warn_unused_result));

#endif
