/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of figures: memtrace, the floor (what any tracer costs), and the peer. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>

#include "tool.h"

/* NAN: not measured. */
struct row {
	const char *name; /* what was measured, with its unit */
	double memtrace, floor, peer;
	const char *floor_name; /* may be NULL */
};

/* Print a title and the names of the columns. */
void table_head(const char *title);
/* Print one line, with the ratios memtrace : floor and peer : memtrace. Without a peer
 * its column says "not available". */
void table_row(const struct row *row, bool has_peer);

/* A figure of each tool, beside the floor; NAN: not measured. */
struct tools_row {
	const char *name;
	double of[TOOLS];
	double floor;
	const char *floor_name; /* may be NULL */
};

/* The same with all tools of others, and the ratio of each to memtrace. */
void table_tools_head(const char *title);
void table_tools_row(const struct tools_row *row, const struct peers *peers);

/* The cost of one operation with each way of tracing; NAN: not measured. */
struct comparison {
	const char *name;
	double bare;
	double empty;   /* empty probes at entry and return */
	double inside;  /* empty probes where memtrace puts its own */
	double stepped; /* what single-stepped sites add to `bare` */
	double peer, before, now;
	bool has_before; /* false: the columns of `before` are left out */
};

void table_comparison_head(const char *title, bool has_before);
void table_comparison(const struct comparison *row);

#endif
