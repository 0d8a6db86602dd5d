/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frozen moment of the targets: everything that a report is made from. It is
 * filled by bpf/drain and cli/session, or from a file, and read by report/. All strings
 * belong to the snapshot and die with it; byte counts, nanoseconds and counters are
 * 64-bit. Times named `_ns` are CLOCK_MONOTONIC unless they say otherwise.
 */
#ifndef SNAPSHOT_SNAPSHOT_H
#define SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/string_table.h"
#include "util/vec.h"

/* A stack id that says "this block's stack could not be stored" (see LOSS_STACKS_FULL).
 */
#define SNAPSHOT_NO_STACK   UINT32_MAX

#define SNAPSHOT_NO_PROCESS UINT32_MAX

/* Heap blocks, mappings, events and the kernel's memory are kept apart everywhere and
 * never summed. */
enum block_class {
	BLOCK_HEAP,    /* malloc and its family */
	BLOCK_MAPPING, /* mmap and its family, with --mappings */
	BLOCK_EVENT,   /* no blocks: hits of an event, with --event or --growth
			  (snapshot.events) */
	BLOCK_KERNEL,  /* what the kernel itself has allocated, with --kernel */
	BLOCK_CLASS_COUNT,
};

/* One outstanding allocation. `size_bytes` is what the caller asked for. */
struct snapshot_block {
	uint64_t address;
	uint64_t size_bytes;
	uint64_t time_ns; /* when it was allocated */
	uint32_t stack;   /* a number of snapshot_stack_index(), or SNAPSHOT_NO_STACK */
	uint32_t tid;     /* thread that allocated it, as the kernel numbers threads */
	uint32_t process; /* index into snapshot.processes */
};

/* How often an event came at one call path since the attach. */
struct snapshot_event {
	uint64_t count;
	uint32_t stack;   /* a number of snapshot_stack_index(), or SNAPSHOT_NO_STACK */
	uint32_t process; /* index into snapshot.processes, or SNAPSHOT_NO_PROCESS when
			     that is not known */
};

/* Why a walk ended where it did. */
enum stack_end {
	STACK_END_COMPLETE,   /* the outermost frame was reached */
	STACK_END_DEPTH,      /* --stack-depth was reached */
	STACK_END_NO_FRAME,   /* no usable frame pointer to go on with */
	STACK_END_UNREADABLE, /* stack memory could not be read */
	STACK_END_CORRUPT,    /* the stack leads nowhere */
	STACK_END_UNLEARNED,  /* unwind information came too late */
	STACK_END_COUNT,
};

/* One call path: `depth` addresses from `first_frame` in snapshot.frames, leaf first.
 * Each address is a return address: the call itself ends one byte before it. Of a call
 * path that was too deep to be kept whole there are both ends; how many frames are
 * missing between them is not known. */
struct snapshot_stack {
	uint32_t first_frame;
	uint16_t depth;
	uint8_t end;       /* enum stack_end */
	uint8_t allocator; /* index into snapshot.allocators: whose function was called */
	uint32_t process;  /* index into snapshot.processes, or SNAPSHOT_NO_PROCESS when
			      that has gone and holds no block any more */
	uint32_t gap; /* of the frames, the first one after those that are missing: 1 to
			 depth - 1; 0: none are missing */
};

/* One file-backed or named executable mapping of a process. */
struct snapshot_module {
	uint64_t start, end;  /* addresses in the target, end exclusive */
	uint64_t file_offset; /* of `start`, in bytes */
	char *path;           /* as in /proc/PID/maps, unescaped; never NULL */
	char *build_id;       /* lower-case hex, or NULL when there is none */
};

/* Powers of two: bucket 0 counts 0, bucket i counts 2^(i-1) to 2^i - 1. */
#define SNAPSHOT_BUCKETS 65

/*
 * What happened to heap blocks of one call path since the attach, as traced; measured
 * where snapshot.has_traffic. Blocks count where they were allocated, whoever frees them;
 * those that went with their process are freed. A realloc frees the old block at its path
 * and allocates the new one at its own. What a block grows or shrinks by where it is
 * counts as allocated or freed bytes, and it stays one block. Blocks that were not
 * tracked (LOSS_BLOCKS_FULL) are not counted here.
 */
struct snapshot_traffic {
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes;
	uint64_t temporary; /* blocks that their thread freed as its next heap event
			       (allocation or free), or with at most
			       --temporary-threshold others between */
	uint64_t peak_bytes, peak_time_ns; /* most that was outstanding at once, and when
					      it first was */
	uint64_t peak_count;               /* blocks outstanding then */
	/* With --sample-bytes, else 0: what these are estimated to be in all. (With
	 * --sample-every they are sample_every times as much.) */
	uint64_t estimated_allocations, estimated_allocated_bytes;
	uint64_t estimated_frees, estimated_freed_bytes;
	uint64_t estimated_temporary, estimated_peak_bytes;
};

/* Of blocks that were freed: how long they had lived, in powers of two of a millisecond
 * as above; SNAPSHOT_LIFETIMES - 1 counts all longer ones. As exact as the kernel's clock
 * tick, 1 to 10 ms. Blocks that went with their process are not in it. */
#define SNAPSHOT_LIFETIMES 32
struct snapshot_lifetimes {
	uint64_t count[SNAPSHOT_LIFETIMES];
};

/* Blocks that one call path has allocated, by their size then, in powers of two of a byte
 * as above; SNAPSHOT_PATH_SIZES - 1 counts all larger ones. As traced. */
#define SNAPSHOT_PATH_SIZES 32
struct snapshot_path_sizes {
	uint64_t count[SNAPSHOT_PATH_SIZES];
};

/* What one thread did since the attach, as traced; where snapshot.has_traffic. */
struct snapshot_thread {
	uint32_t process; /* index into snapshot.processes */
	uint32_t tid;     /* as the kernel numbers threads */
	char *name;       /* /proc/PID/task/TID/comm when last seen, or NULL */
	bool exited;
	uint64_t allocations, allocated_bytes;
	uint64_t frees, freed_bytes; /* by this thread, of whoever's blocks */
	uint64_t freed_by_others, freed_by_others_bytes; /* of its blocks, by other
							    threads */
	uint64_t freed_own, freed_own_bytes; /* of its own blocks, by itself */
};

/* How what a call path holds went on from snapshot to snapshot of a run (course.h); where
 * blocks were sampled, what that is estimated to be in all. */
struct snapshot_trend {
	uint32_t intervals;       /* between snapshots, since it first held anything */
	uint32_t grew, shrank;    /* in how many of them its bytes did */
	double slope_bytes_per_s; /* of the line of least squares through its bytes */
	double determination;     /* R^2 of that line, 0..1: how well it fits; 0 before
				     there is one, 1 of what does not change */
	uint32_t stands;          /* how many of the last intervals ended without more
				     bytes than ever before */
	uint64_t rise_bytes;      /* so much more it holds than at first; 0: no more */
	uint64_t fall_bytes;      /* so far below an earlier height it was, at most */
};

/* One earlier moment of the run: the targets as a whole; where blocks were sampled, what
 * that was estimated to be. */
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
	uint64_t frees_unknown;      /* of blocks that were not: older than the attach,
					filtered, sampled out, lost, freed already or of
					functions that are not traced */
	uint64_t failures;           /* allocation calls that returned no block */
	uint64_t gone, gone_bytes;   /* blocks that went with their process's exit or
					exec: allocations - frees - gone are live */
};

/* One kind of the kernel's memory. What is live of it is allocations less frees. */
struct snapshot_kernel_class {
	char *name; /* "slab", "pages": also the label of its allocator */
	struct snapshot_totals totals;
};

/* Everything that can be lost is counted under one of these names. */
enum loss {
	LOSS_BLOCKS_FULL, /* blocks not tracked: --max-allocations reached */
	LOSS_STACKS_FULL, /* blocks whose stack was not stored: --max-stacks reached */
	LOSS_STACKS_PREEMPTED, /* blocks whose stack was not walked: too many threads were
				  preempted while theirs was */
	LOSS_PENDING_FULL, /* calls not tracked: too many threads inside calls at once */
	LOSS_CALLS_ABANDONED,   /* calls that never returned: longjmp, exception, thread
				   exit */
	LOSS_READ_FAILED,       /* a result could not be read from the target's memory */
	LOSS_BLOCKS_REPLACED,   /* address handed out again without a free seen between */
	LOSS_STACKS_UNREADABLE, /* walks ended by stack memory that could not be read */
	LOSS_STACKS_TRUNCATED,  /* walks ended by --stack-depth */
	LOSS_EVENTS_LOST,       /* mapping events that did not fit the ring buffer */
	LOSS_PROCESSES_FULL,    /* calls of processes beyond those that can be traced */
	LOSS_WALKS_LOST,        /* walks that were not ended: too many new call sites at
				   once, or code that was unloaded meanwhile */
	LOSS_WALKS_OVER_BUDGET, /* walks that were not ended, as the processor time that
				   finding unwind rules may take was used up */
	LOSS_PROBES_MISSED,     /* probe hits that the kernel did not deliver */
	LOSS_SNAPSHOTS_UNSETTLED, /* snapshots that were not of one moment (`inconsistent`
				     of the snapshot says whether it is one of them) */
	LOSS_THREADS_FULL, /* events of threads that are not told apart: --max-threads
			      reached */
	LOSS_TRAFFIC_LOST, /* events that are missing in the traffic of call paths */
	LOSS_FUNCTIONS_UNTRACED, /* functions of allocators that have no probe though they
				    may be called */
	LOSS_RULES_REFUSED,      /* unwind rules that found no room, each time they were
				    learned: each miss costs time, and may end in walks_lost */
	LOSS_PROCESSES_DROPPED,  /* processes that held something as they exited, and made
				    room for others before a report: --max-processes */
	LOSS_FILES_UNTRACED,  /* mapped files that could not be read, or whose allocator
				 could not be probed */
	LOSS_MAPPINGS_UNREAD, /* processes whose list of mappings could not be read */
	LOSS_COUNT,
};

/* Memory of a process as the kernel sees it (/proc/PID/status); 0 when unknown. */
struct snapshot_memory {
	uint64_t vm_size_bytes, vm_rss_bytes, vm_data_bytes, vm_hwm_bytes;
};

/* One traced process. */
struct snapshot_process {
	int pid;
	int namespace_pid;                   /* its number in its own pid namespace */
	char *command;                       /* /proc/PID/comm */
	char *executable;                    /* path, or NULL */
	bool exited;                         /* it had exited when this was taken */
	struct snapshot_memory memory;       /* the last values seen when it has exited */
	VEC(struct snapshot_module) modules; /* sorted by start */
};

/* One allocator whose functions were probed. */
struct snapshot_allocator {
	char *label;  /* "glibc", "jemalloc" */
	char *module; /* path of its file */
};

/* Names of one address, as they were shown. Texts are indices into snapshot.strings, or
 * STRING_NONE. */
struct snapshot_name {
	uint32_t process; /* index into snapshot.processes */
	uint64_t address; /* a return address */
	uint32_t symbol, module;
	uint64_t offset;       /* address - start of the symbol (or of the file) */
	uint32_t first_source; /* into snapshot.sources; innermost first */
	uint32_t source_count;
};

/* A place in the source: of an inlined function, or last of the one with the code. */
struct snapshot_source {
	uint32_t function, file; /* as in struct snapshot_name */
	uint32_t line, column;   /* from 1; 0: unknown */
	bool inlined;
};

/* What one call path held in the report before this one. */
struct snapshot_stack_before {
	uint64_t size_bytes, count;
	double estimated_bytes, estimated_count;
};

/* The same of a process. */
struct snapshot_process_before {
	int pid;
	uint64_t size_bytes, count;
	uint64_t estimated_bytes, estimated_count;
};

/* The report before this one, from which growth and rates are counted. */
struct snapshot_before {
	uint64_t reports; /* how many there were; 0: all else is 0 too */
	uint64_t time_ns; /* of the last of them */
	struct snapshot_totals totals[BLOCK_CLASS_COUNT];
	struct snapshot_totals estimated_totals[BLOCK_CLASS_COUNT];
	uint64_t estimated_live_bytes[BLOCK_CLASS_COUNT];
	/* By stack; behind them one for blocks without a stack. */
	VEC(struct snapshot_stack_before) stacks[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_process_before) processes[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_traffic) traffic; /* by stack, where there was any */
};

struct snapshot {
	VEC(struct snapshot_process) processes;
	VEC(struct snapshot_allocator) allocators;
	char *library; /* all processes that map this file are traced; NULL: those that
			  were asked for */

	/* Time. */
	uint64_t wall_ns;     /* CLOCK_REALTIME when this was taken */
	uint64_t time_ns;     /* when this was taken */
	uint64_t attached_ns; /* when counting began */

	/* How it was traced. */
	bool mappings_traced;     /* --mappings */
	uint64_t sample_every;    /* 1: every allocation */
	uint64_t sample_bytes;    /* mean distance of --sample-bytes, 0: not sampled so */
	uint64_t min_size_bytes;  /* blocks outside min..max were not tracked */
	uint64_t max_size_bytes;  /* UINT64_MAX: no bound */
	uint64_t max_allocations; /* sizes of the tables, for remedies */
	uint64_t max_stacks, max_threads;

	/* What is counted instead of heap blocks, as --event has it; NULL: heap blocks
	 * were traced. */
	char *event;
	uint64_t event_period; /* one hit stood for so many events */
	uint64_t event_bytes;  /* so many bytes are counted for each event: of page faults
				  with  mappings_traced; 0: its hits alone */

	/* The kernel's own memory, on behalf of the first process, or of everybody where
	 * that has the number 0. */
	bool kernel_traced;
	bool heap_untraced; /* there are no heap blocks, but those of other classes */
	bool launched;      /* memtrace started the first process and traced it from its
			      first instruction on */
	VEC(struct snapshot_kernel_class) kernel_classes;

	VEC(struct snapshot_block) blocks[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_event) events; /* with `event`, each stack once */
	VEC(struct snapshot_stack) stacks;
	VEC(uint64_t) frames;
	struct snapshot_totals totals[BLOCK_CLASS_COUNT]; /* as traced */
	/* Of heap blocks, sampled: what it is estimated to be in all (sampling.h). Only
	 * allocations, frees and their bytes are filled. */
	struct snapshot_totals estimated;

	/* On demand. Those of stacks have one element for each of `stacks` or none. */
	bool has_traffic, has_lifetimes, has_trends;
	VEC(struct snapshot_traffic) traffic;
	VEC(struct snapshot_lifetimes) lifetimes;
	VEC(struct snapshot_path_sizes) path_sizes; /* with traffic, but of older files */
	VEC(struct snapshot_trend) trends[BLOCK_CLASS_COUNT];
	VEC(struct snapshot_thread) threads; /* by process, then tid */
	/* Sizes of all heap blocks ever allocated, as traced: where has_traffic. */
	uint64_t sizes[SNAPSHOT_BUCKETS];
	/* Of all heap blocks together; a process that ends holds nothing. */
	uint64_t peak_bytes, peak_time_ns;
	uint64_t estimated_peak_bytes; /* with --sample-bytes, else 0 */

	/* Of the run so far, oldest first, this one last. A long run keeps ever fewer of
	 * its early ones. */
	VEC(struct snapshot_moment) moments;

	uint64_t losses[LOSS_COUNT];
	/* It is not of one moment: blocks that moved while it was taken may be missing or
	 * listed twice (LOSS_SNAPSHOTS_UNSETTLED counts such snapshots of the run). */
	bool inconsistent;

	/* Only in one that goes into a file (snapshot/file.h) or comes from one. */
	bool ages_unknown; /* blocks have no times: --combined-only */
	char *cause;       /* of the report that was made of it: report_cause_name() */
	VEC(struct snapshot_name) names; /* by process, then address, each once */
	VEC(struct snapshot_source) sources;
	struct string_table strings;
	struct snapshot_before before;

	/* Only in one that was made of another to be reported (merge.h); else NULL. All
	 * borrowed. */
	const struct snapshot *made_of;
	/* By the number that blocks and events have: the index into `stacks`. */
	const uint32_t *stack_numbers;
	size_t stack_number_count;
	/* By index into `stacks`: how many stacks of the run are shown as this one. */
	const uint32_t *stack_members;
	size_t stack_member_count;
};

/* An empty snapshot, or NULL when memory is out. */
struct snapshot *snapshot_create(void);
void snapshot_destroy(struct snapshot *snap);

/* The machine name of a loss ("blocks_full") and, for people, what it means and what
 * to do about it ("blocks were not tracked: raise --max-allocations"). Static strings. */
const char *loss_name(enum loss loss);
const char *loss_remedy(enum loss loss);

/* True when anything in `losses` makes the accounting incomplete. */
bool snapshot_has_losses(const struct snapshot *snap);

/* The machine name of an end ("complete", "depth", ...). Static string. */
const char *stack_end_name(enum stack_end end);

/* The module that contains `address`, or NULL. Borrowed. */
const struct snapshot_module *snapshot_find_module(const struct snapshot_process *process,
						   uint64_t address);

/* Add a process of which nothing is known but its number, or NULL when memory is out.
 * Borrowed, until the next one is added. */
struct snapshot_process *snapshot_add_process(struct snapshot *snap, int pid);

/* The process, or NULL when there is none of this index. Borrowed. */
const struct snapshot_process *snapshot_process(const struct snapshot *snap,
						uint32_t index);

/* The index into snap->stacks of the number that a block or an event has;
 * SNAPSHOT_NO_STACK when it has none, or one that is out of range. */
static inline uint32_t snapshot_stack_index(const struct snapshot *snap, uint32_t number)
{
	if (snap->stack_numbers)
		number = number < snap->stack_number_count ? snap->stack_numbers[number]
							   : SNAPSHOT_NO_STACK;
	return number < snap->stacks.len ? number : SNAPSHOT_NO_STACK;
}

#endif
