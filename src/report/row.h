/* SPDX-License-Identifier: Apache-2.0 */
/* One call path and everything that is known of it. */
#ifndef REPORT_ROW_H
#define REPORT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames/frame.h"
#include "snapshot/snapshot.h"

/* A number of blocks, as traced, and the estimate of all blocks if blocks were sampled;
 * otherwise both are equal. For an event, `count` is the number of hits. `size_bytes` is
 * the bytes that the hits stand for (snapshot.event_bytes), or also the number of
 * hits. */
struct report_sum {
	uint64_t size_bytes, count;
	uint64_t estimated_bytes, estimated_count;
};

/* The number of blocks of 2^(bucket-1) to 2^bucket - 1 bytes; bucket 0: of 0 bytes. */
struct report_bucket {
	unsigned bucket;
	uint64_t count; /* an estimate if blocks were sampled */
};

/* The live blocks of a call path that one thread allocated; an estimate if blocks were
 * sampled. */
struct report_share {
	uint32_t tid;
	uint64_t size_bytes, count;
};

/* The blocks, or hits, of a call path in one process; an estimate if blocks were sampled.
 */
struct report_holder {
	const struct snapshot_process *process; /* NULL: unknown */
	uint64_t size_bytes, count;
};

/* Allocations and frees in a period; estimates if blocks were sampled. */
struct report_flow {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	uint64_t temporary; /* as in struct snapshot_traffic */
};

/* Rates per second; 0 if no time has passed. */
struct report_rates {
	double allocations, allocated_bytes, frees, freed_bytes;
};

struct report_row {
	uint32_t stack;   /* snapshot stack index, or SNAPSHOT_NO_STACK */
	size_t rank;      /* position by report.sort alone; 0: first */
	size_t held_rank; /* the same, counting only rows that hold anything */
	/* The process that holds these blocks; NULL: unknown, or several processes. For a
	 * row without blocks: the process of the stack; NULL if several processes share
	 * the stack. */
	const struct snapshot_process *process;
	/* The process whose mappings contain the frames' addresses; NULL: unknown. It
	 * does not necessarily hold any of the blocks. */
	const struct snapshot_process *frames_of;
	const struct snapshot_allocator *allocator; /* the allocator that was called;
						       NULL: unknown */
	struct report_sum sum;                      /* what the call path holds */
	int64_t growth_bytes, growth_count; /* since the previous report, as traced; in
					       the first report of a run everything is
					       growth */
	int64_t estimated_growth_bytes, estimated_growth_count;
	uint64_t oldest_age_ns, newest_age_ns; /* of its blocks; 0: has no blocks */
	uint64_t median_age_ns;                /* half of its blocks are this old or
						  older */
	/* Histogram of its blocks: the buckets that are not empty, smallest first. */
	const struct report_bucket *sizes;
	size_t size_count;
	/* The threads that allocated its blocks: most bytes first, then by tid. */
	const struct report_share *threads;
	size_t thread_count;
	/* The processes that hold its blocks: most bytes first, then by pid. Empty in a
	 * report of one process (report_is_of_one()). */
	const struct report_holder *processes;
	size_t process_count;
	/* Other measurements, as traced; NULL: not measured. */
	const struct snapshot_traffic *traffic;
	const struct snapshot_lifetimes *lifetimes;
	const struct snapshot_path_sizes *ever_sizes;
	const struct snapshot_trend *trend;
	/* Computed from `traffic`; 0 without it. */
	struct report_flow flow, since;  /* since the attach; since the previous report */
	struct report_flow since_traced; /* `since` without estimation */
	struct report_rates rates;       /* of `since` */
	uint64_t peak_bytes, peak_count; /* estimates if blocks were sampled */
	/* Held when the whole heap was largest; estimates if blocks were sampled; 0
	 * without REPORT_DATA_AT_PEAK. */
	uint64_t at_peak_bytes, at_peak_count;
	/* Result of the search for unreachable blocks, as traced; NULL: no search was
	 * made, or the row is not of the heap. */
	const struct snapshot_unreachable *unreachable;
	const struct report_frame *const *frames; /* `depth` frames, leaf first */
	size_t depth;
	enum stack_end end;
	/* With show_blocks: the blocks of this row, largest first. */
	const struct snapshot_block *const *blocks;
	size_t block_count;
};

/* The commands of the processes that hold the blocks of a row: different ones, largest
 * holders first, at most REPORT_COMMANDS; "unknown" for an unknown one. Returns their
 * number. *more: there are further ones. Borrowed. */
#define REPORT_COMMANDS 3
size_t report_row_commands(const struct report_row *row, const char *ret[REPORT_COMMANDS],
			   bool *more);

/* Is the frame shown? False if it is hidden, unless all frames of the row are hidden. */
bool report_row_shows(const struct report_row *row, size_t frame);

/* Fewer intervals prove no leak. */
#define REPORT_SUSPECT_INTERVALS 4

/*
 * A call path that seems to leak, by the trend of its bytes over the snapshots of the run
 * (snapshot_trend; blocks of every age): docs/reading-reports.md, "Leak suspects".
 * Suspects some of whose blocks are unreachable come first, since that is proof. Then
 * they are ranked by slope times R^2.
 */
struct report_suspect {
	const struct report_row *row; /* built for the suspect; not in section->rows */
	double slope_bytes_per_s;     /* an estimate if blocks were sampled */
};

/* One block and its call path. */
struct report_single {
	const struct snapshot_block *block;
	const struct snapshot_process *process; /* the process that holds it; NULL:
						   unknown */
	const struct report_row *row; /* call path of the block; only the stack and what
					 frame_namer_fill() fills are valid */
};

/* Has a search found blocks of the row that are not reachable, or called some lost that
 * were freed later? */
bool report_row_has_verdict(const struct report_row *row);

/* The row's blocks that nothing points to, and the blocks of any row that only these
 * lead to. 0 without a search. */
struct snapshot_sum report_row_lost(const struct report_row *row);
uint64_t report_row_lost_bytes(const struct report_row *row);

#endif
