/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the statistics of call paths and threads from the tables of probes/traffic.c into
 * a snapshot. */
#ifndef DRAIN_DRAIN_TRAFFIC_H
#define DRAIN_DRAIN_TRAFFIC_H

#include "drain/drain.h"
#include "drain/traffic_tables.h"

/*
 * Fill traffic, lifetimes, threads, sizes and the peaks of `snap`, which already has its
 * blocks and stacks. Each number by itself is exact. After counting has stopped
 * (tracer_freeze()) and all late events are counted, they agree with each other and with
 * the blocks. While the targets run, each is of its own moment, microseconds apart and
 * after the blocks. Threads are looked up in /proc, their names stored in the tables.
 */
struct error *drain_traffic(const struct traffic_tables *tables,
			    const struct drain_slots *slots,
			    const struct tick_clock *ticks, struct snapshot *snap)
	__attribute__((warn_unused_result));

#endif
