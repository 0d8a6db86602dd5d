/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what was live when the heap was largest (probes/peak_record.h) into a
 * snapshot. */
#ifndef DRAIN_DRAIN_PEAK_H
#define DRAIN_DRAIN_PEAK_H

#include "drain/drain.h"
#include "drain/traffic_tables.h"

/*
 * Fill at_peak, the peak and its time in `snap`, which already has its blocks and stacks.
 * The peak must be frozen (traffic_tables_freeze_peak()), the programs that ran before
 * must have ended, and all late events must be counted. The numbers are then exact: only
 * blocks without a call path in the snapshot are missing from their sum.
 */
struct error *drain_peak(const struct traffic_tables *tables,
			 const struct drain_slots *slots, const struct tick_clock *ticks,
			 struct snapshot *snap) __attribute__((warn_unused_result));

#endif
