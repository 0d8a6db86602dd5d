/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that every renderer reads: a snapshot after filtering, aggregation by call
 * path, sorting and cutting to the top, with names for the frames that are shown.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/options.h"
#include "report/row.h"
#include "snapshot/sampling.h"
#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"

/* Why the report is made. REPORT_COUNT and those after it are final. */
enum report_cause {
	REPORT_INTERVAL, /* --interval passed */
	REPORT_DEMAND,   /* SIGUSR1 */
	REPORT_COUNT,    /* --count reports were made */
	REPORT_DURATION, /* --duration passed */
	REPORT_STOPPED,  /* Ctrl-C or SIGTERM */
	REPORT_HANGUP,   /* SIGHUP: the terminal was closed */
	REPORT_EXITED,   /* the target exited */
};

/* The blocks of a section that one process holds, of any age. */
struct report_process {
	const struct snapshot_process *process;
	struct report_sum live;
	int64_t growth_bytes, growth_count; /* since the previous report, as traced */
	int64_t estimated_growth_bytes;
};

/* One thread and what it still holds: blocks that it has allocated and that were not
 * freed. */
struct report_thread {
	const struct snapshot_thread *thread;
	const struct snapshot_process *process; /* NULL: unknown */
	/* Estimates if blocks were sampled, computed from the thread's mean block
	 * size. */
	uint64_t live_bytes, live_count;
	uint64_t allocated_bytes;
	uint64_t freed_own_bytes;       /* of its own blocks, freed by itself */
	uint64_t freed_by_others_bytes; /* of its own blocks, freed by other threads */
	uint64_t freed_of_others_bytes; /* of other threads' blocks, freed by this one */
};

/* Call paths that hold something but have no row, because an option left them out. */
struct report_left_out {
	struct report_sum sum;
	uint64_t stack_count;
	uint64_t lost_bytes; /* report_row_lost_bytes() of them */
};

/* Blocks of one class, or hits of an event. */
struct report_section {
	enum block_class class;
	bool is_estimate;                    /* blocks were sampled (never for
						mappings) */
	struct report_sum live;              /* all blocks, of any age */
	int64_t estimated_live_growth_bytes; /* since the previous report */
	struct report_sum listed;            /* blocks old enough for the rows */
	uint64_t stack_count;                /* call paths before the cut to the top */
	uint64_t held_count;                 /* call paths among them that hold
						anything */
	struct report_sum ranked;            /* what all of these hold */
	/* Left out by --filter and --exclude, by --suppressions, by --skip-size and
	 * --skip-count. */
	struct report_left_out filtered, suppressed, skipped;
	/* In order of rank; with group_by_process grouped by process, in the order of
	 * `processes`. */
	struct report_row *rows;
	size_t row_count;
	/* Call paths that the filter shows, that held something at the previous report
	 * and hold nothing now. Only with options.gone. */
	const struct report_row *gone;
	size_t gone_count;
	struct report_process *processes; /* all processes of the snapshot, largest
					     first */
	size_t process_count;
	struct report_rates rates, estimated_rates; /* since the previous report */
	struct snapshot_totals totals, estimated_totals;
	/* Live blocks minus the blocks that are allocated and not freed by `totals`. The
	 * difference comes from calls during the snapshot, because blocks and totals are
	 * read one after the other. Only of the heap, as traced, and if nothing was lost.
	 */
	bool has_in_flight;
	int64_t in_flight_bytes, in_flight_count;
	/* At most options.top, strongest first; none without trends. */
	const struct report_suspect *suspects;
	size_t suspect_count;
	size_t suspect_total;                /* before the cut */
	const struct report_single *singles; /* largest first */
	size_t single_count;
	/* Histograms of all live blocks and of all heap blocks ever allocated (0 without
	 * traffic); estimates if blocks were sampled. See SNAPSHOT_BUCKETS. */
	uint64_t live_sizes[SNAPSHOT_BUCKETS], ever_sizes[SNAPSHOT_BUCKETS];
	uint64_t peak_bytes; /* most bytes at once; an estimate if sampled; 0 without
				traffic */
	/* The part of the peak that call paths held (snapshot.at_peak). The rest are
	 * blocks without a call path. */
	uint64_t at_peak_bytes;
	uint64_t missed_peak_bytes; /* as in the snapshot; an estimate if sampled */
};

struct report {
	const struct snapshot *snapshot; /* borrowed */
	struct report_options options;
	enum report_cause cause;
	unsigned data; /* data in the snapshot: a set of enum report_data */
	/* options.sort. If the snapshot lacks the data: REPORT_SORT_PEAK instead of
	 * REPORT_SORT_AT_PEAK, or else REPORT_SORT_SIZE. Rows with equal values are in
	 * the order of bytes, blocks and stack index, so that equal input gives equal
	 * output. */
	enum report_sort sort;
	uint64_t sequence; /* 1 for the first report of a run */
	bool has_previous; /* growth and rates count from the previous report */
	bool has_growth;   /* and that was long enough ago for growth to say something */
	uint64_t elapsed_ns;             /* since the attach */
	uint64_t since_ns;               /* since the previous report, or the attach */
	struct sampling_weights weights; /* of heap blocks */
	struct report_section sections[BLOCK_CLASS_COUNT];
	size_t section_count; /* the heap or an event; then mappings if traced; then the
				 kernel. Or the kernel alone. */
	/* Those that hold most first; none without traffic. */
	const struct report_thread *threads;
	size_t thread_count;
	size_t frame_count; /* number of different frames in all rows */
	/* If --filter left out every stack: the names of functions that are nearest to
	 * its patterns, separated by commas, not escaped. NULL: no such name, or stacks
	 * are shown. */
	const char *near_filter;
	struct report_arena *arena; /* owns what the pointers above point to */
};

/*
 * What a report keeps for the next one: bytes and blocks of each stack, and the totals. A
 * history belongs to one run. report_build() reads it and then updates it.
 */
struct report_history;
struct report_history *report_history_create(void); /* NULL when memory is out */
void report_history_destroy(struct report_history *history);

/*
 * Build the report of `snap`, which must outlive it, as must `frames`: a cache for each
 * process of the snapshot; NULL: its frames stay without names. Only shown frames are
 * symbolized, but a filter needs the names of all. Linear in blocks and stacks except for
 * sorting. A damaged stack or frame (out of range) is left out of its row. If it fails
 * (out of memory), the history does not change.
 */
struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *const frames[],
			   const struct report_options *options, enum report_cause cause,
			   struct report **ret) __attribute__((warn_unused_result));
void report_destroy(struct report *report);

/* Is there only one process in the report? Rows then omit its name. */
bool report_is_of_one(const struct report *report);

/* The data in the snapshot: a set of enum report_data. */
unsigned report_data_of(const struct snapshot *snap);

/* What can be measured of a class: a set of enum report_data. */
unsigned report_class_data(enum block_class class);

/* The section of this class; NULL: the report has none. */
const struct report_section *report_find_section(const struct report *report,
						 enum block_class class);

/* Does the report have every kind of data in `data` (a set of enum report_data) for the
 * section's class? */
bool report_section_has(const struct report *report, const struct report_section *section,
			unsigned data);

/* How many blocks one block of this size in the section stands for. */
double report_weight(const struct report *report, const struct report_section *section,
		     uint64_t size_bytes);

/* Estimate how many blocks `count` traced blocks in a size bucket stand for. */
uint64_t report_bucket_estimate(const struct report *report,
				const struct report_section *section, size_t bucket,
				uint64_t count);

/* Round an estimate; saturates at UINT64_MAX. */
uint64_t report_round(double estimate);

/* The name of a cause in JSON ("interval", "exited", ...). Static string. */
const char *report_cause_name(enum report_cause cause);
/* True for the causes that end a run. */
bool report_cause_is_final(enum report_cause cause);

/* a - b, saturated to the range of int64_t. */
int64_t report_difference(uint64_t a, uint64_t b);

/* a * b, saturated to UINT64_MAX. */
uint64_t report_times(uint64_t a, uint64_t b);

#endif
