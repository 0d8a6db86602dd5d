/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that every renderer reads: a snapshot after filter, aggregation by call
 * path, sort, cut to the top, and names for the frames that will be shown.
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

/* Why this report is made; the last ones are final. */
enum report_cause {
	REPORT_INTERVAL, /* --interval passed */
	REPORT_DEMAND,   /* SIGUSR1 */
	REPORT_COUNT,    /* --count reports were made */
	REPORT_DURATION, /* --duration passed */
	REPORT_STOPPED,  /* Ctrl-C or SIGTERM */
	REPORT_HANGUP,   /* SIGHUP */
	REPORT_EXITED,   /* the target exited */
};

/* What one process holds, all blocks of the section whatever their age. */
struct report_process {
	const struct snapshot_process *process;
	struct report_sum live;
	int64_t growth_bytes; /* since the previous report, as traced */
	int64_t estimated_growth_bytes;
};

/* One thread, and what it still holds: what it has allocated and nobody has freed. */
struct report_thread {
	const struct snapshot_thread *thread;
	const struct snapshot_process *process; /* NULL: unknown */
	/* Estimated, where blocks were sampled: as if those of a number were of one size.
	 */
	uint64_t live_bytes, live_count;
	uint64_t allocated_bytes;
	uint64_t freed_own_bytes;       /* its own, by itself */
	uint64_t freed_by_others_bytes; /* its own, by others */
	uint64_t freed_of_others_bytes; /* by itself, those of others */
};

/* Call paths that hold something and that rows were not made of, as it was asked for. */
struct report_left_out {
	struct report_sum sum;
	uint64_t stack_count;
};

/* Blocks of one class, or hits of an event. */
struct report_section {
	enum block_class class;
	bool is_estimate;                    /* blocks were sampled: mappings never are */
	struct report_sum live;              /* all blocks, whatever their age */
	int64_t estimated_live_growth_bytes; /* since the previous report */
	struct report_sum listed;            /* those old enough for the rows */
	uint64_t stack_count;                /* call paths before the cut to the top */
	uint64_t held_count;                 /* those of them that hold anything */
	struct report_sum ranked;            /* what they hold */
	/* By --filter and --exclude, by --suppressions, by --skip-size and -count. */
	struct report_left_out filtered, suppressed, skipped;
	/* By rank; with group_by_process those of one process together, in the order of
	 * `processes`. */
	struct report_row *rows;
	size_t row_count;
	struct report_process *processes; /* all of the snapshot's, largest first */
	size_t process_count;
	struct report_rates rates, estimated_rates; /* since the previous report */
	struct snapshot_totals totals, estimated_totals;
	/* At most options.top, worst first; none without trends. */
	const struct report_suspect *suspects;
	size_t suspect_count;
	size_t suspect_total;                /* before the cut */
	const struct report_single *singles; /* largest first */
	size_t single_count;
	/* All blocks by size, estimated where sampled: those that are live, and heap
	   blocks that ever were (all 0 without traffic). See SNAPSHOT_BUCKETS. */
	uint64_t live_sizes[SNAPSHOT_BUCKETS], ever_sizes[SNAPSHOT_BUCKETS];
	uint64_t peak_bytes; /* most at once, likewise; 0 without traffic */
};

struct report {
	const struct snapshot *snapshot; /* borrowed */
	struct report_options options;
	enum report_cause cause;
	unsigned data;         /* what the snapshot has: a set of enum report_data */
	enum report_sort sort; /* options.sort, or by size for want of data */
	uint64_t sequence;     /* 1 for the first report of a run */
	bool has_previous;     /* growth and rates are since the previous report */
	uint64_t elapsed_ns;   /* since the attach */
	uint64_t since_ns;     /* since the previous report, or the attach */
	struct sampling_weights weights; /* of heap blocks */
	struct report_section sections[BLOCK_CLASS_COUNT];
	size_t section_count; /* heap, or an event instead of it; then mappings when
				 they are traced; then the kernel, or it alone */
	const struct report_thread
		*threads; /* who hold most first; none without traffic */
	size_t thread_count;
	size_t frame_count;         /* different frames in all rows */
	struct report_arena *arena; /* storage behind the pointers above */
};

/*
 * What one report leaves for the next: bytes and blocks per stack, and the totals.
 * A history belongs to one run; report_build() reads and then updates it.
 */
struct report_history;
struct report_history *report_history_create(void); /* NULL when memory is out */
void report_history_destroy(struct report_history *history);

/*
 * Make the report of `snap`, which must outlive it, as must `frames`: a cache for each of
 * the snapshot's processes, NULL where there is none and frames stay without names. The
 * cut to the top comes before naming, so that only shown frames are symbolized; a filter
 * has to name all. Linear in blocks and stacks, but for sorting. Rows are in the order of
 * options->sort, ties by bytes, blocks and then by stack index, so that equal input gives
 * equal output. Damaged input (a stack or frames out of range) shows as a row without a
 * stack or frames. When it fails (out of memory) the history is as before.
 */
struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *const frames[],
			   const struct report_options *options, enum report_cause cause,
			   struct report **ret) __attribute__((warn_unused_result));
void report_destroy(struct report *report);

/* Does the report have one process only? Then rows need not name it. */
bool report_is_of_one(const struct report *report);

/* What the snapshot has: a set of enum report_data. */
unsigned report_data_of(const struct snapshot *snap);

/* How many blocks one of the section stands for. */
double report_weight(const struct report *report, const struct report_section *section,
		     uint64_t size_bytes);

/* What `count` blocks of a bucket of sizes, as traced, are estimated to be in all. */
uint64_t report_bucket_estimate(const struct report *report,
				const struct report_section *section, size_t bucket,
				uint64_t count);

/* An estimate as a whole number, which ends at the top. */
uint64_t report_round(double estimate);

/* The machine name of a cause ("interval", "exited", ...). Static string. */
const char *report_cause_name(enum report_cause cause);
/* True for the causes that end a run. */
bool report_cause_is_final(enum report_cause cause);

/* a - b for what both fit an int64_t in practice; saturates for damaged input. */
int64_t report_difference(uint64_t a, uint64_t b);

/* The product, which ends at the top. */
uint64_t report_times(uint64_t a, uint64_t b);

#endif
