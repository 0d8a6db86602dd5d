/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a report. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* What rows are ranked by, most first. */
enum report_sort {
	REPORT_SORT_SIZE,      /* bytes held */
	REPORT_SORT_COUNT,     /* blocks held */
	REPORT_SORT_TRAFFIC,   /* bytes allocated since the attach */
	REPORT_SORT_GROWTH,    /* bytes more than at the previous report */
	REPORT_SORT_AGE,       /* age of the oldest block */
	REPORT_SORT_PEAK,      /* most bytes held at once */
	REPORT_SORT_TEMPORARY, /* temporary blocks */
	REPORT_SORTS,
};

/* What a snapshot may lack, for want of which a sort or a view has nothing to show. */
enum report_data {
	REPORT_DATA_TRAFFIC = 1 << 0,   /* snapshot.has_traffic */
	REPORT_DATA_LIFETIMES = 1 << 1, /* snapshot.has_lifetimes */
	REPORT_DATA_TRENDS = 1 << 2,    /* snapshot.has_trends */
};

/* Says what is going on when that takes long. `say` may be NULL. */
struct report_progress {
	void (*say)(void *arg, const char *phase);
	void *arg;
};

struct report_filter;

struct report_options {
	enum report_sort sort;
	uint64_t top;       /* at most so many rows; 0: all */
	uint64_t older_ns;  /* leave out blocks younger than this */
	bool show_blocks;   /* --show-allocs: list the blocks behind each row */
	bool combined_only; /* rows over all blocks, whatever their age */
	/* Rows of one process together, in the order of the processes; else all rows are
	 * in one order. Whether a call path is one row is the snapshot's matter
	 * (snapshot/merge.h). */
	bool group_by_process;
	bool short_paths; /* source files by their last part alone */
	/* Rows also for call paths that hold nothing any more, but have allocated: there
	   are none without traffic. */
	bool past;
	/* Leave out call paths that hold less than either, or with `skip_by_traffic` have
	   allocated less, where that is measured. Estimates, where blocks were sampled.
	 */
	uint64_t skip_bytes, skip_count;
	bool skip_by_traffic;
	uint64_t singles; /* list so many of the largest single blocks; 0: none */
	const struct report_filter *filter; /* report/filter.h; borrowed; NULL: none */
	struct report_progress progress;
	/* For the text report alone. */
	const char *view; /* which one of render/views.h; NULL: leaks */
	bool color;       /* as terminals show them (ECMA-48) */
	bool utf8;        /* it may have characters that are not ASCII */
};

/* The name of a sort as in --sort NAME. Static string. */
const char *report_sort_name(enum report_sort sort);

/* What a sort needs: a set of enum report_data. */
unsigned report_sort_needs(enum report_sort sort);

#endif
