/* SPDX-License-Identifier: Apache-2.0 */
/* One call path with everything that is known of it. */
#ifndef REPORT_ROW_H
#define REPORT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/snapshot.h"

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
	bool is_gap;  /* no frame: in its place frames are missing. Only `symbol` and
			 `index` have a meaning */
	bool hidden;  /* noise by --hide-frames: see report_row_shows() */
	size_t index; /* 0..report.frame_count-1 */
};

/* The symbol of a frame that stands for missing ones. */
#define REPORT_GAP_NAME "[frames left out: deep recursion]"

/* What a number of blocks comes to; of an event count is its hits, and size too, but
 * where each stands for bytes (snapshot.event_bytes). As traced, and, where blocks were
 * sampled, what that is estimated to be in all; else both are the same. */
struct report_sum {
	uint64_t size_bytes, count;
	uint64_t estimated_bytes, estimated_count;
};

/* How many blocks are of 2^(bucket-1) to 2^bucket - 1 bytes; of none in bucket 0. */
struct report_bucket {
	unsigned bucket;
	uint64_t count; /* estimated, where blocks were sampled */
};

/* What one thread allocated of the blocks that a call path holds; estimated, where blocks
 * were sampled. */
struct report_share {
	uint32_t tid;
	uint64_t size_bytes, count;
};

/* What one process holds of the blocks (or had of the hits) of a call path; estimated,
 * where blocks were sampled. */
struct report_holder {
	const struct snapshot_process *process; /* NULL: unknown */
	uint64_t size_bytes, count;
};

/* What went on in a time; estimated, where blocks were sampled. */
struct report_flow {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	uint64_t temporary; /* as in struct snapshot_traffic */
};

/* Per second; 0 when no time has passed. */
struct report_rates {
	double allocations, allocated_bytes, frees, freed_bytes;
};

struct report_row {
	uint32_t stack;   /* snapshot stack index, or SNAPSHOT_NO_STACK */
	size_t rank;      /* its place by report.sort alone, 0 for the first */
	size_t held_rank; /* the same among rows that hold anything */
	/* Whose blocks these are; NULL: unknown, or several. Of a row without blocks the
	 * process of its stack, unless that stands for others too. */
	const struct snapshot_process *process;
	/* In whose mappings the addresses of its frames lie; NULL: unknown. It need not
	 * hold any of the blocks. */
	const struct snapshot_process *frames_of;
	const struct snapshot_allocator *allocator; /* that was called; NULL: unknown */
	struct report_sum sum;                      /* what it holds */
	int64_t growth_bytes, growth_count; /* since the previous report, as traced; in
					       the first of a run all of it */
	int64_t estimated_growth_bytes, estimated_growth_count;
	uint64_t oldest_age_ns, newest_age_ns; /* of its blocks; 0 without any */
	uint64_t median_age_ns;                /* half of them are as old, or older */
	/* Its blocks by size: the buckets that are not empty, smallest first. */
	const struct report_bucket *sizes;
	size_t size_count;
	/* Who allocated its blocks: most bytes first, then by number. */
	const struct report_share *threads;
	size_t thread_count;
	/* Who holds its blocks: most bytes first, then by number. None in a report of one
	 * process (report_is_of_one()). */
	const struct report_holder *processes;
	size_t process_count;
	/* What was measured beside the blocks, as traced; NULL: it was not. */
	const struct snapshot_traffic *traffic;
	const struct snapshot_lifetimes *lifetimes;
	const struct snapshot_path_sizes *ever_sizes;
	const struct snapshot_trend *trend;
	/* From `traffic`; 0 without. */
	struct report_flow flow, since;  /* since the attach, since the previous report */
	struct report_flow since_traced; /* the latter as it was traced */
	struct report_rates rates;       /* of `since` */
	uint64_t peak_bytes, peak_count; /* estimated, where sampled */
	const struct report_frame *const *frames; /* `depth` of them, leaf first */
	size_t depth;
	enum stack_end end;
	/* With show_blocks, the blocks behind this row, largest first. */
	const struct snapshot_block *const *blocks;
	size_t block_count;
};

/* The commands of the processes that hold the blocks of a row: the different ones of
 * those that hold most, at most REPORT_COMMANDS, "unknown" where it is not known. Returns
 * their number; *more says whether there are others. Borrowed. */
#define REPORT_COMMANDS 3
size_t report_row_commands(const struct report_row *row, const char *ret[REPORT_COMMANDS],
			   bool *more);

/* False for a frame that is hidden, unless all frames of the row are. */
bool report_row_shows(const struct report_row *row, size_t frame);

/*
 * A call path that seems to leak. What it holds has a trend over the snapshots of the run
 * (snapshot_trend; blocks of every age), and all of this holds:
 *  - there are at least 4 intervals: fewer prove nothing;
 *  - the line through its bytes rises and fits, R^2 >= 0.8: noise around a level (churn)
 *    and a cache that was full early do not fit one;
 *  - it does not give back: its bytes shrank in at most one interval of ten. Of ten and
 *    more intervals with R^2 >= 0.95 it may be any number: such a call path leaks beside
 *    what is in use for a while;
 *  - it outlasts what it gives back: it has grown, since it was first seen, by at least
 *    twice as much as it was ever below an earlier height. A sawtooth never has, however
 *    long its teeth are, once the first of them has ended;
 *  - it still goes on: the last new height is no longer ago than twice the mean distance
 *    between the intervals in which it grew. A cache that is full stands still;
 *  - it is no trifle: the line rises by at least a twentieth of what the call path holds
 *    in the time that was traced.
 * They are ranked by slope times R^2. A cache that is still filling, and the first tooth
 * of a sawtooth, cannot be told from a leak and are listed until that is over.
 */
struct report_suspect {
	const struct report_row *row; /* made for this; in no list of rows */
	double slope_bytes_per_s;     /* estimated, where blocks were sampled */
};

/* One block and where it came from. */
struct report_single {
	const struct snapshot_block *block;
	const struct snapshot_process *process; /* whose it is; NULL: unknown */
	const struct report_row *row; /* of the block's call path; only the stack,
					 allocator and frames are filled */
};

#endif
