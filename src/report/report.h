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

#include "snapshot/sampling.h"
#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"

enum report_sort {
	REPORT_SORT_SIZE,
	REPORT_SORT_COUNT
};

/* Why this report is made; the last ones are final. */
enum report_cause {
	REPORT_INTERVAL, /* --interval passed */
	REPORT_DEMAND,   /* SIGUSR1 */
	REPORT_COUNT,    /* --count reports were made */
	REPORT_DURATION, /* --duration passed */
	REPORT_STOPPED,  /* Ctrl-C or SIGTERM */
	REPORT_EXITED,   /* the target exited */
};

struct report_options {
	enum report_sort sort;
	uint64_t top;       /* at most so many rows; 0: all */
	uint64_t older_ns;  /* leave out blocks younger than this */
	bool show_blocks;   /* --show-allocs: list the blocks behind each row */
	bool combined_only; /* rows over all blocks, whatever their age */
	bool short_paths;   /* source files by their last part alone */
};

/* One frame of a shown stack, leaf first. The strings belong to the frame cache
 * and the snapshot. Rows share the frames: one for each address, and before it one for
 * each function that was inlined there, innermost first. */
struct report_frame {
	uint64_t address;     /* of the last byte of the call */
	const char *symbol;   /* NULL: unknown */
	uint64_t offset;      /* address - start of symbol (or of the module's file) */
	const char *module;   /* path, NULL: unknown */
	const char *build_id; /* hex, NULL: unknown */
	const char *file;     /* source of the call, raw bytes, NULL: unknown */
	unsigned line;        /* in the file, 0: unknown */
	unsigned column;      /* 0: unknown */
	bool inlined;         /* into the next frame: `offset` has no meaning */
	size_t index;         /* 0..report.frame_count-1 */
};

/* What a number of blocks comes to; of an event count is its hits, and size too, but
 * where each stands for bytes (snapshot.event_bytes). As traced, and, where blocks were
 * sampled, what that is estimated to be in all; else both are the same. */
struct report_sum {
	uint64_t size_bytes, count;
	uint64_t estimated_bytes, estimated_count;
};

/* One call path with what it holds. */
struct report_row {
	uint32_t stack; /* snapshot stack index, or SNAPSHOT_NO_STACK */
	size_t rank;    /* its place by options.sort alone, 0 for the first */
	const struct snapshot_process *process;     /* NULL: unknown, or several */
	const struct snapshot_allocator *allocator; /* that was called; NULL: unknown */
	struct report_sum sum;
	int64_t growth_bytes, growth_count; /* since the previous report, as traced; in
					       the first of a run all of it */
	int64_t estimated_growth_bytes;
	uint64_t oldest_age_ns, newest_age_ns;
	const struct report_frame *const *frames; /* `depth` of them, leaf first */
	size_t depth;
	enum stack_end end;
	/* With show_blocks, the blocks behind this row, largest first. */
	const struct snapshot_block *const *blocks;
	size_t block_count;
};

/* What one process holds, all blocks of the section whatever their age. */
struct report_process {
	const struct snapshot_process *process;
	struct report_sum live;
	int64_t growth_bytes; /* since the previous report, as traced */
	int64_t estimated_growth_bytes;
};

/* Per second since the previous report (or since the attach). */
struct report_rates {
	double allocations, allocated_bytes, frees, freed_bytes;
};

/* Blocks of one class, or hits of an event. */
struct report_section {
	enum block_class class;
	bool is_estimate;                    /* blocks were sampled: mappings never are */
	struct report_sum live;              /* all blocks, whatever their age */
	int64_t estimated_live_growth_bytes; /* since the previous report */
	struct report_sum listed;            /* those old enough for the rows */
	uint64_t stack_count;                /* call paths before the cut to the top */
	struct report_row *rows; /* those of one process together, in the order of
				    `processes` */
	size_t row_count;
	struct report_process *processes; /* all of the snapshot's, largest first */
	size_t process_count;
	struct report_rates rates, estimated_rates;
	struct snapshot_totals totals, estimated_totals;
};

struct report {
	const struct snapshot *snapshot; /* borrowed */
	struct report_options options;
	enum report_cause cause;
	uint64_t sequence;   /* 1 for the first report of a run */
	bool has_previous;   /* growth and rates are since the previous report */
	uint64_t elapsed_ns; /* since the attach */
	uint64_t since_ns;   /* since the previous report, or the attach */
	struct sampling_weights weights; /* of heap blocks */
	struct report_section sections[BLOCK_CLASS_COUNT];
	size_t section_count;       /* heap, or an event instead of it; then
				       mappings when they are traced */
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
 * cut to the top comes before naming, so that only shown frames are symbolized. Linear in
 * blocks and stacks, but for sorting the stacks. Rows are in the order of options->sort,
 * ties by the other number and then by stack index, so that equal input gives equal
 * output. Damaged input (a stack or frames out of range) shows as a row without a stack
 * or frames. When it fails (out of memory) the history is as before.
 */
struct error *report_build(const struct snapshot *snap, struct report_history *history,
			   struct frame_cache *const frames[],
			   const struct report_options *options, enum report_cause cause,
			   struct report **ret) __attribute__((warn_unused_result));
void report_destroy(struct report *report);

/* How many blocks one of the section stands for. */
double report_weight(const struct report *report, const struct report_section *section,
		     uint64_t size_bytes);

/* An estimate as a whole number, which ends at the top. */
uint64_t report_round(double estimate);

/* The machine name of a cause ("interval", "exited", ...). Static string. */
const char *report_cause_name(enum report_cause cause);
/* True for the causes that end a run. */
bool report_cause_is_final(enum report_cause cause);

/* a - b for what both fit an int64_t in practice; saturates for damaged input. */
int64_t report_difference(uint64_t a, uint64_t b);

/* Sums of a damaged snapshot stop at the top; they never start anew. */
uint64_t report_add(uint64_t a, uint64_t b);

#endif
