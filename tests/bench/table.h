/* SPDX-License-Identifier: Apache-2.0 */
/* Figures side by side: memtrace, the floor that it stands on, and its peer. */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include <stdbool.h>

/* NAN: there is no such figure. */
struct row {
	const char *name; /* with its unit */
	double memtrace, floor, peer;
	const char *floor_name; /* what the floor is; may be NULL */
};

/* A title and the names of the columns. */
void table_head(const char *title);
/* One line, with the ratios memtrace : floor and peer : memtrace. Without a
 * peer its column says "not available". */
void table_row(const struct row *row, bool has_peer);

/* One operation, by ways of tracing; NAN: not measured. */
struct comparison {
	const char *name;
	double bare;
	double empty;   /* empty probes of entry and return */
	double inside;  /* empty probes where memtrace has its own */
	double stepped; /* what single-stepped sites add to `bare` */
	double peer, before, now;
	bool has_before; /* else its columns are left out */
};

void table_comparison_head(const char *title, bool has_before);
void table_comparison(const struct comparison *row);

#endif
