/* SPDX-License-Identifier: Apache-2.0 */
/* What call paths and threads did: from the tables of probes/traffic.c to a snapshot. */
#ifndef BPF_DRAIN_TRAFFIC_H
#define BPF_DRAIN_TRAFFIC_H

#include "bpf/drain.h"
#include "bpf/traffic_tables.h"

/*
 * Fill traffic, lifetimes, threads, sizes and the peaks of `snap`, whose blocks and
 * stacks are there already. Each number by itself is exact. Once nothing is counted any
 * more (tracer_freeze()), and no event is late, they agree with each other and with the
 * blocks: the blocks of a stack are its allocations that were not freed. While the
 * targets run on they are as of a moment after the blocks, each of its own, microseconds
 * apart. Threads are looked up in /proc, and their names there are kept in the tables.
 */
struct error *drain_traffic(const struct traffic_tables *tables,
			    const struct drain_slots *slots,
			    const struct tick_clock *ticks, struct snapshot *snap)
	__attribute__((warn_unused_result));

#endif
