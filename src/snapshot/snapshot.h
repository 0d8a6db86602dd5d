/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the targets at one moment: everything that a report is made from. It is
 * filled by drain/, trace/ and session/, or from a file, and read by report/. All strings
 * belong to the snapshot and are freed with it. Byte counts, nanoseconds and counters
 * are 64-bit. Times named `_ns` are CLOCK_MONOTONIC unless stated otherwise.
 */
#ifndef SNAPSHOT_SNAPSHOT_H
#define SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/sampling.h"
#include "util/string_table.h"
#include "util/vec.h"

/* The stack id of a block whose stack could not be stored (see LOSS_STACKS_FULL). */
#define SNAPSHOT_NO_STACK   UINT32_MAX

#define SNAPSHOT_NO_PROCESS UINT32_MAX

/* Heap blocks, mappings, events and the kernel's memory are always counted separately,
 * and never summed. */
enum block_class {
	BLOCK_HEAP,    /* malloc and its family */
	BLOCK_MAPPING, /* mmap and its family, with --mappings */
	BLOCK_EVENT,   /* hits of an event (snapshot.events), not blocks; with --event or
			  --growth */
	BLOCK_KERNEL,  /* the kernel's own allocations, with --kernel */
	BLOCK_CLASS_COUNT,
};

/* Does sampling apply to blocks of the class? It never applies to mappings and events. */
static inline bool block_class_is_sampled(enum block_class class)
{
	return class == BLOCK_HEAP || class == BLOCK_KERNEL;
}

/* One live allocation. */
struct snapshot_block {
	uint64_t address;
	uint64_t size_bytes; /* as requested by the caller */
	uint64_t time_ns;    /* of the allocation */
	uint32_t stack;   /* a number for snapshot_stack_index(), or SNAPSHOT_NO_STACK */
	uint32_t tid;     /* thread that allocated it, in the initial pid namespace */
	uint32_t process; /* index into snapshot.processes */
};

/* Hits of an event at one call path since the attach. */
struct snapshot_event {
	uint64_t count;
	uint32_t stack;   /* a number for snapshot_stack_index(), or SNAPSHOT_NO_STACK */
	uint32_t process; /* index into snapshot.processes, or SNAPSHOT_NO_PROCESS */
};

/* Why the unwinding of a stack ended. */
enum stack_end {
	STACK_END_COMPLETE,   /* the outermost frame was reached */
	STACK_END_DEPTH,      /* --stack-depth was reached */
	STACK_END_NO_FRAME,   /* no usable frame pointer */
	STACK_END_UNREADABLE, /* stack memory could not be read */
	STACK_END_CORRUPT,    /* the stack leads nowhere */
	STACK_END_NO_RULE,    /* unwind rules were not ready in time */
	STACK_END_COUNT,
};

/* One call path: `depth` addresses from `first_frame` in snapshot.frames, leaf first.
 * Each address is a return address: the call itself ends one byte before it. A call
 * path that was too deep has only its two ends; the number of missing frames between
 * them is unknown. */
struct snapshot_stack {
	uint32_t first_frame;
	uint16_t depth;
	uint8_t end;       /* enum stack_end */
	uint8_t allocator; /* index into snapshot.allocators, of the called function */
	uint32_t process;  /* index into snapshot.processes; SNAPSHOT_NO_PROCESS: it has
			      exited and holds no blocks */
	uint32_t gap; /* index of the first frame after the missing ones: 1 to depth - 1;
			 0: no frames are missing */
};

/* One file-backed or named executable mapping of a process. */
struct snapshot_module {
	uint64_t start, end;  /* addresses in the target, end exclusive */
	uint64_t file_offset; /* of `start`, in bytes */
	char *path;           /* as in /proc/PID/maps, unescaped; never NULL */
	char *build_id;       /* lower-case hex; NULL: none */
};

/* The live blocks of one call path together. */
struct snapshot_held {
	uint64_t size_bytes, count;              /* as traced */
	double estimated_bytes, estimated_count; /* of all blocks */
	uint64_t oldest_ns, newest_ns;           /* times of allocations */
};

/* Powers of two: bucket 0 counts 0, bucket i counts 2^(i-1) to 2^i - 1. */
#define SNAPSHOT_BUCKETS 65

/*
 * Allocations and frees of the heap blocks of one call path since the attach, as traced:
 * docs/reading-reports.md, "Traffic", says what counts where. Measured if
 * snapshot.has_traffic. Blocks that were not tracked (LOSS_BLOCKS_FULL) are not counted
 * here.
 */
struct snapshot_traffic {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	/* Blocks that their thread freed within --temporary-threshold other heap events
	 * (allocations or frees) of its own. */
	uint64_t temporary;
	uint64_t peak_bytes, peak_time_ns; /* most bytes live at once, and when that was
					      first so */
	uint64_t peak_count;               /* blocks live at that time */
	/* Estimates of the above for all blocks, if sampling_is_by_size(). Else 0:
	 * the estimates are the above times sampling_factor(). */
	uint64_t estimated_allocations, estimated_allocated_bytes;
	uint64_t estimated_frees, estimated_freed_bytes;
	uint64_t estimated_temporary, estimated_peak_bytes;
};

/*
 * The blocks of one call path that were live when the heap of all targets together was
 * largest (snapshot.peak_time_ns). With --sample-every as traced; with --sample-bytes
 * estimates for all blocks.
 */
struct snapshot_at_peak {
	uint64_t bytes, count;
};

/* A number of blocks. */
struct snapshot_sum {
	uint64_t bytes, count;
};

/*
 * What a search for unreachable blocks (--unreachable) knows of the blocks of one call
 * path. Each live block counts in at most one of the first four sums.
 */
struct snapshot_unreachable {
	struct snapshot_sum lost; /* nothing points to them */
	struct snapshot_sum held; /* only lost blocks do: they count for the call path of
				     the lost block that leads to them */
	struct snapshot_sum possible; /* only pointers into them were found, none to their
					 start */
	struct snapshot_sum unverified; /* no pointer was found while the process ran, and
					   there was no time to stop it and look again */
	/* Blocks that an earlier search called lost and that were freed or reallocated
	 * afterwards: so they were not lost. Since the attach. */
	struct snapshot_sum lost_but_freed;
	/* Those of them that were called held. */
	struct snapshot_sum held_but_freed;
};

/* The searches for unreachable blocks of a run. */
struct snapshot_search {
	uint64_t count; /* number of searches; 0: nothing else is set */
	/* The rest is of the last search, except `total.lost_but_freed` and
	 * `total.held_but_freed`. */
	uint64_t time_ns;    /* when it let the processes continue */
	uint64_t took_ns;    /* from its beginning to its end */
	uint64_t pause_ns;   /* the longest time that it stopped a process */
	uint64_t read_bytes; /* memory that it read */
	uint64_t threads;    /* threads that it stopped */
	uint64_t processes;  /* processes that it searched */
	uint64_t unsearched; /* processes that it could not search */
	bool has_rings;      /* requests (io_uring, AIO) may hold pointers, unseen */
	struct snapshot_unreachable total; /* of all blocks, also those without a stack */
};

/* The lifetimes of freed blocks, in powers of two of a millisecond, with buckets as
 * above; the last bucket also counts all longer ones. The resolution is the kernel's
 * clock tick, 1 to 10 ms. Blocks freed by their process's exit are left out. */
#define SNAPSHOT_LIFETIMES 32
struct snapshot_lifetimes {
	uint64_t count[SNAPSHOT_LIFETIMES];
};

/* The number of blocks that one call path has allocated, by size in powers of two of a
 * byte, with buckets as above; the last bucket also counts all larger ones. As traced. */
#define SNAPSHOT_PATH_SIZES 32
struct snapshot_path_sizes {
	uint64_t count[SNAPSHOT_PATH_SIZES];
};

/* Allocations and frees of one thread since the attach, as traced; if
 * snapshot.has_traffic. */
struct snapshot_thread {
	uint32_t process; /* index into snapshot.processes */
	uint32_t tid;     /* in the initial pid namespace */
	char *name;       /* /proc/PID/task/TID/comm when last seen, or NULL */
	bool exited;
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes; /* by this thread, of any thread's blocks */
	uint64_t freed_by_others, freed_by_others_bytes; /* its blocks, freed by other
							    threads */
	uint64_t freed_own, freed_own_bytes; /* its own blocks, freed by itself */
};

/* How the live bytes of a call path have changed from snapshot to snapshot of a run
 * (timeline.h); estimated if sampled. */
struct snapshot_trend {
	uint32_t intervals;       /* between snapshots, since it first held anything */
	uint32_t grew, shrank;    /* number of intervals when its bytes grew, shrank */
	double slope_bytes_per_s; /* of the least-squares line through its bytes */
	double determination;     /* R^2 of that line, 0..1: how well it fits; 0: no line
				     yet; 1 if the bytes are constant */
	uint32_t stands;          /* number of intervals since the last maximum */
	uint64_t rise_bytes;      /* bytes now less bytes at first; 0 if not more */
	uint64_t fall_bytes;      /* the largest fall below an earlier maximum */
};

/* Totals of all targets at an earlier snapshot of the run; estimated if sampled. */
struct snapshot_moment {
	uint64_t time_ns;
	uint64_t live_bytes[BLOCK_CLASS_COUNT], live_blocks[BLOCK_CLASS_COUNT];
	uint64_t allocations, allocated_bytes,
		frees;         /* of heap blocks since the attach */
	uint64_t vm_rss_bytes; /* of all processes together */
};

/* Events since the attach. */
struct snapshot_totals {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes; /* of blocks that were tracked */
	uint64_t frees_unknown;      /* of other blocks: older than the attach, filtered,
					sampled out, lost, already freed, or of functions
					that are not traced */
	uint64_t failures;           /* allocation calls that returned no block */
	uint64_t gone, gone_bytes;   /* blocks freed by their process's exit or exec:
					allocations - frees - gone are live */
};

/* One class of the kernel's memory. Its live blocks are allocations - frees. */
struct snapshot_kernel_class {
	char *name; /* "slab", "pages": also the label of its allocator */
	struct snapshot_totals totals;
};

/* The kinds of losses. Every event that could not be recorded is counted under one of
 * them. */
enum loss {
	LOSS_BLOCKS_FULL, /* blocks not tracked: --max-allocations reached */
	/* blocks whose stack was not stored: no room, or none in time */
	LOSS_STACKS_FULL,
	LOSS_STACKS_PREEMPTED, /* blocks whose stack was not unwound: too many threads
				  were preempted during unwinding */
	LOSS_PENDING_FULL, /* calls not tracked: too many threads inside calls at once */
	LOSS_CALLS_ABANDONED,   /* calls that never returned: longjmp, exception, thread
				   exit */
	LOSS_READ_FAILED,       /* a result could not be read from the target's memory */
	LOSS_BLOCKS_REPLACED,   /* address allocated again without a free in between */
	LOSS_STACKS_UNREADABLE, /* stacks cut at stack memory that could not be read */
	LOSS_STACKS_TRUNCATED,  /* stacks cut at --stack-depth */
	LOSS_EVENTS_LOST,       /* mapping events without room in the ring buffer */
	LOSS_PROCESSES_FULL,    /* calls of processes beyond the limit of traced ones */
	LOSS_WALKS_LOST,        /* stacks not unwound: too many new call sites at once, or
				   code that was unloaded meanwhile */
	LOSS_WALKS_OVER_BUDGET, /* stacks not unwound: the processor time for finding
				   unwind rules was used up */
	LOSS_PROBES_MISSED,     /* probe hits that the kernel did not deliver */
	LOSS_SNAPSHOTS_UNSETTLED, /* inconsistent snapshots (snapshot.inconsistent says
				     whether this one is) */
	LOSS_THREADS_FULL,        /* events without a thread: --max-threads reached */
	LOSS_TRAFFIC_LOST, /* events that are missing in the traffic of call paths */
	LOSS_FUNCTIONS_UNTRACED, /* allocation functions without a probe that may be
				    called */
	LOSS_RULES_REFUSED,      /* unwind rules without room, each time they were found:
				    each miss costs time, and may end in walks_lost */
	LOSS_PROCESSES_DROPPED, /* processes that exited with live blocks and were removed
				   before a report: --max-processes reached */
	LOSS_FILES_UNTRACED,    /* mapped files that could not be read, or whose allocator
				   could not be probed */
	LOSS_MAPPINGS_UNREAD,   /* processes whose list of mappings could not be read */
	LOSS_PROCESSES_UNCHECKED, /* processes whose code was not compared before probes
				     were set in all */
	LOSS_FUNCTIONS_MISREAD,   /* allocation functions that returned other results than
				     their probes had read */
	LOSS_COUNT,
};

/* Memory of a process as the kernel sees it (/proc/PID/status); 0 when unknown. */
struct snapshot_memory {
	uint64_t vm_size_bytes, vm_rss_bytes, vm_data_bytes, vm_hwm_bytes;
	/* The parts of vm_rss_bytes: anonymous, of files, shared (Linux 4.5). */
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes;
};

/* One traced process. */
struct snapshot_process {
	int pid;
	int namespace_pid; /* its pid in its own pid namespace */
	char *command;     /* /proc/PID/comm */
	char *executable;  /* path, or NULL */
	bool exited;       /* before this snapshot */
	uint64_t since_ns; /* when tracing of its program began, CLOCK_MONOTONIC; an exec
			      begins it anew. 0: unknown. Not saved. */
	struct snapshot_memory memory;       /* if exited, the last values seen */
	VEC(struct snapshot_module) modules; /* sorted by start */
};

/* One allocator whose functions were probed. */
struct snapshot_allocator {
	char *label;  /* "glibc", "jemalloc" */
	char *module; /* path of its file */
};

/* The names of one address as shown. Texts are indices into snapshot.strings, or
 * STRING_NONE. */
struct snapshot_name {
	uint32_t process; /* index into snapshot.processes */
	uint64_t address; /* a return address */
	uint32_t symbol, module;
	uint64_t offset;       /* address - start of the symbol (or of the file) */
	uint32_t first_source; /* index into snapshot.sources; innermost first */
	uint32_t source_count;
};

/* A source location: of inlined functions, and last of the function with the code. */
struct snapshot_source {
	uint32_t function, file; /* as in struct snapshot_name */
	uint32_t line, column;   /* from 1; 0: unknown */
	bool inlined;
};

/* The live blocks of one call path in the previous report. */
struct snapshot_stack_before {
	uint64_t size_bytes, count;
	double estimated_bytes, estimated_count;
};

/* The live blocks of one process in the previous report. */
struct snapshot_process_before {
	int pid;
	uint64_t size_bytes, count;
	uint64_t estimated_bytes, estimated_count;
};

/* The previous report, used to compute growth and rates. */
struct snapshot_before {
	uint64_t reports; /* number of previous reports; 0: all other fields are 0 too */
	uint64_t time_ns; /* of the last of them */
	struct snapshot_totals totals[BLOCK_CLASS_COUNT];
	struct snapshot_totals estimated_totals[BLOCK_CLASS_COUNT];
	uint64_t estimated_live_bytes[BLOCK_CLASS_COUNT];
	/* By stack; the last element is for blocks without a stack. */
	VEC(struct snapshot_stack_before) stacks[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_process_before) processes[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_traffic) traffic; /* by stack; empty without --traffic */
};

struct snapshot {
	VEC(struct snapshot_process) processes;
	VEC(struct snapshot_allocator) allocators;
	char *library; /* --lib: all processes that map this file are traced; else NULL */

	/* Time. */
	uint64_t wall_ns;     /* CLOCK_REALTIME when this was taken */
	uint64_t time_ns;     /* when this was taken */
	uint64_t attached_ns; /* when counting began */

	/* Options of tracing. */
	bool mappings_traced; /* --mappings */
	struct sampling sampling;
	uint64_t min_size_bytes;  /* blocks outside min..max were not tracked */
	uint64_t max_size_bytes;  /* UINT64_MAX: no bound */
	uint64_t max_allocations; /* sizes of the tables, for advice */
	uint64_t max_stacks, max_threads;

	/* The argument of --event: the event that is counted; NULL: heap blocks were
	 * traced. */
	char *event;
	uint64_t event_period; /* events for each hit */
	uint64_t event_bytes;  /* bytes counted for each event, with --growth (page
				  faults); 0: only hits are counted */

	/* The kernel's own memory, on behalf of the first process, or system-wide if
	 * the pid of that is 0. */
	bool kernel_traced;
	bool heap_untraced; /* no heap blocks, only other classes */
	bool launched;      /* memtrace started the first process and traced it from its
			       first instruction on */
	VEC(struct snapshot_kernel_class) kernel_classes;

	VEC(struct snapshot_block) blocks[BLOCK_CLASS_COUNT];
	/* Only in a snapshot for a reader that needs no single blocks (sums.h): the sums
	 * of the blocks of each stack, and in the last element of blocks without a
	 * stack. `blocks` is empty then. */
	VEC(struct snapshot_held) held[BLOCK_EVENT];
	VEC(struct snapshot_event) events; /* with `event`, each stack once */
	VEC(struct snapshot_stack) stacks;
	VEC(uint64_t) frames;
	struct snapshot_totals totals[BLOCK_CLASS_COUNT]; /* as traced */
	/* Estimates for all heap blocks, if sampled by bytes (sampling.h). Only
	 * allocations, frees and their bytes are set. */
	struct snapshot_totals estimated;

	/* Optional. Vectors by stack have one element for each of `stacks`, or none. */
	bool has_traffic, has_lifetimes, has_trends, has_at_peak;
	bool sums_only; /* set before it is taken: lifetimes and path_sizes are left out
			 */
	VEC(struct snapshot_traffic) traffic;
	VEC(struct snapshot_lifetimes) lifetimes;
	VEC(struct snapshot_path_sizes) path_sizes; /* with traffic; not in old files */
	/* With --peak. They add up to the peak (peak_bytes; with --sample-bytes
	 * estimated_peak_bytes), less the blocks without a call path. */
	VEC(struct snapshot_at_peak) at_peak;
	VEC(struct snapshot_trend) trends[BLOCK_CLASS_COUNT];
	struct snapshot_search search;                /* of heap blocks */
	VEC(struct snapshot_unreachable) unreachable; /* if search.count */
	VEC(struct snapshot_thread) threads;          /* by process, then tid */
	/* Sizes of all heap blocks ever allocated, as traced; if has_traffic. */
	uint64_t sizes[SNAPSHOT_BUCKETS];
	/* The largest sum of all heap blocks, and its time. Blocks of exited processes do
	 * not count. */
	uint64_t peak_bytes, peak_time_ns;
	uint64_t estimated_peak_bytes; /* with --sample-bytes, else 0 */
	/* With --peak: the heap was as large as this for a moment while memtrace read the
	 * tables, which is more than the peak; 0: it was not. */
	uint64_t missed_peak_bytes;

	/* The run so far, oldest first; the last one is this snapshot. In a long run
	 * the older moments are thinned out. */
	VEC(struct snapshot_moment) moments;

	uint64_t losses[LOSS_COUNT];
	/* The snapshot does not show one moment: blocks that moved while it was taken
	 * may be missing or listed twice (LOSS_SNAPSHOTS_UNSETTLED counts such
	 * snapshots). */
	bool inconsistent;
	/* A realloc() was under way: where its block is now was not known. Valid if
	 * `wants_moving` was set before the snapshot was taken. Not in files. */
	bool has_moving, wants_moving;

	/* Only in a snapshot for or from a file (snapshot/file.h). */
	bool ages_unknown; /* blocks have no times: --combined-only */
	char *cause;       /* report_cause_name() of the report made from it */
	VEC(struct snapshot_name) names; /* by process, then address, each once */
	VEC(struct snapshot_source) sources;
	struct string_table strings;
	struct snapshot_before before;

	/* Only in a view of another snapshot, made for a report (merge.h); else NULL.
	 * All borrowed. */
	const struct snapshot *made_of;
	/* By number in blocks and events: the index into `stacks`. */
	const uint32_t *stack_numbers;
	size_t stack_number_count;
	/* By index into `stacks`: how many stacks of the run are shown as this one. */
	const uint32_t *stack_members;
	size_t stack_member_count;
};

/* An empty snapshot, or NULL when out of memory. */
struct snapshot *snapshot_create(void);
void snapshot_destroy(struct snapshot *snap);

/* The lost blocks, with those that only these lead to: what all reports mean by "lost"
 * that have one number for it. */
struct snapshot_sum snapshot_unreachable_lost(const struct snapshot_unreachable *u);

/* Add all sums of `from` to `to`. */
void snapshot_unreachable_add(struct snapshot_unreachable *to,
			      const struct snapshot_unreachable *from);

/* The machine name of a loss ("blocks_full"), and an explanation with advice ("blocks
 * were not tracked: raise --max-allocations"). Static strings. */
const char *loss_name(enum loss loss);
const char *loss_remedy(enum loss loss);

/* True if anything in `losses` makes the accounting incomplete. */
bool snapshot_has_losses(const struct snapshot *snap);

/* The class that the trace mode is about: a report's first section. */
enum block_class snapshot_main_class(const struct snapshot *snap);

/* Does the snapshot have this class? Each that it has is a section of a report. */
bool snapshot_has_class(const struct snapshot *snap, enum block_class class);

/* The machine name of an end ("complete", "depth", ...). Static string. */
const char *stack_end_name(enum stack_end end);

/* The module that contains `address`, or NULL. Borrowed. */
const struct snapshot_module *snapshot_find_module(const struct snapshot_process *process,
						   uint64_t address);

/* Add a process, with only its pid set. NULL when out of memory. Borrowed until the
 * next one is added. */
struct snapshot_process *snapshot_add_process(struct snapshot *snap, int pid);

/* The process with this index, or NULL. Borrowed. */
const struct snapshot_process *snapshot_process(const struct snapshot *snap,
						uint32_t index);

/* The index into snap->stacks for the stack number of a block or an event;
 * SNAPSHOT_NO_STACK if it has none, or one that is out of range. */
static inline uint32_t snapshot_stack_index(const struct snapshot *snap, uint32_t number)
{
	if (snap->stack_numbers)
		number = number < snap->stack_number_count ? snap->stack_numbers[number]
							   : SNAPSHOT_NO_STACK;
	return number < snap->stacks.len ? number : SNAPSHOT_NO_STACK;
}

#endif
