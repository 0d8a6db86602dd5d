/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that JSON and CSV have under the same names. Each list calls COLUMN with the
 * names, in order. A name is also the name of a member.
 */
#ifndef RENDER_COLUMNS_H
#define RENDER_COLUMNS_H

/* Of struct report_flow, snapshot_traffic, snapshot_totals and snapshot_thread. */
#define FLOW_COLUMNS(COLUMN)                                                             \
	COLUMN(allocations)                                                              \
	COLUMN(allocated_bytes)                                                          \
	COLUMN(frees)                                                                    \
	COLUMN(freed_bytes)

/* Of struct snapshot_unreachable: each is a struct snapshot_sum, and has the columns
 * NAME_bytes and NAME_blocks. */
#define UNREACHABLE_COLUMNS(COLUMN)                                                      \
	COLUMN(lost)                                                                     \
	COLUMN(held)                                                                     \
	COLUMN(possible)                                                                 \
	COLUMN(unverified)                                                               \
	COLUMN(lost_but_freed)                                                           \
	COLUMN(held_but_freed)

#define COLUMN_HEAD(name)       #name ","
#define COLUMN_SINCE_HEAD(name) "since_" #name ","
#define COLUMN_SUM_HEADS(name)  #name "_bytes," #name "_blocks,"

/* In a head line of CSV, with a comma after each. */
#define FLOW_HEADS        FLOW_COLUMNS(COLUMN_HEAD)
#define FLOW_SINCE_HEADS  FLOW_COLUMNS(COLUMN_SINCE_HEAD)
#define UNREACHABLE_HEADS UNREACHABLE_COLUMNS(COLUMN_SUM_HEADS)

#endif
