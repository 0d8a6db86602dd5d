/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Map keys and values that the BPF probes share with memtrace. Both sides include this
 * header. All members have fixed-width types and natural alignment; the sizes are
 * asserted.
 */
#ifndef PROBES_ABI_H
#define PROBES_ABI_H

/* In the text of the probes it comes before this file. */
#ifndef PROBES_ABI_SITES_H
#include "abi_sites.h"
#endif

/* --- values of a run --------------------------------------------------------------- */

/* Numbers that memtrace patches into the instructions when it loads a program. In
 * compiled code each number is ABI_RUN_MAGIC plus its index in this enum. */
enum abi_run_value {
	ABI_RUN_START,      /* start of tick 0, in jiffies or CLOCK_MONOTONIC ns */
	ABI_RUN_OWN_PID,    /* pid of memtrace */
	ABI_RUN_KERNEL_PID, /* --kernel: pid whose allocations are counted */
	ABI_RUN_APART,      /* 1: each process is a family of its own (ABI_FAMILY) */
	ABI_RUN_STACK_SEED, /* of the hashes of stacks, random (abi_walk.h) */
	ABI_RUN_MIN_SIZE,   /* bounds of the sizes that are recorded, bytes */
	ABI_RUN_MAX_SIZE,
	/* An allocation is recorded if a random 32-bit number is below it; 0: record all,
	 * or sample them by their size. */
	ABI_RUN_SAMPLE_THRESHOLD,
	ABI_RUN_VALUES,
};

#define ABI_RUN_MAGIC 0x6d74726100000000

/* --- control ---------------------------------------------------------------------- */

/* The only element of `control`. memtrace writes it, except for the counts. */
struct abi_control {
	uint64_t enabled;         /* 0: every probe returns at once */
	uint64_t spilled_blocks;  /* entries in live_spill */
	uint64_t spilled_pending; /* entries in pending_spill */
	uint64_t stacks_used;     /* next free index of `stacks` */
	uint64_t stack_pcs_used;  /* next free word of `stack_pcs` (abi_walk.h) */
	/* Not 0: memtrace is reading the tables, and the probes log changes to the
	 * journal half ABI_JOURNAL_HALF(draining). 0: memtrace is not reading. */
	uint64_t draining;
	uint64_t journal_used[2]; /* next free index of each half; may exceed its size */
	uint64_t journal_half;    /* half that was used last; for memtrace only */
	/* Changes that are in no journal: they began before a reading and were made
	 * during it. */
	uint64_t late_changes;
	uint64_t misses; /* number of the next walk that goes to the miss handler */
	/* numbered walks, also whole ones, that never came into the ring */
	uint64_t misses_lost;
	/* 1: --unwind-cpu is used up, or was used up while the ring filled. Walks that
	 * find no room now are counted as over the budget. */
	uint64_t misses_over_budget;
	uint64_t spilled_rules; /* entries in rule_spill */
	uint64_t only_slot;     /* slot of the traced process, if there is only one */
	/* How often a slot of `processes` was taken; counted when it has its owner. */
	uint64_t slots_taken;
	uint64_t keeps_tids;     /* 1: the probes see threads end (abi_last_free) */
	uint64_t checks_running; /* running checks; not 0: sites record results */
	uint64_t checks_begun;   /* number of checks that were ever started */
	uint64_t sites_retired;  /* 1: some sites are in `check_retired` */
	uint64_t unwind_epoch;   /* number of evictions of unwind tables */
	/* Generation of `live` that blocks are put into; only memtrace changes it. */
	uint64_t live_newest;
	/* Generation that the probes have asked for; not more than live_newest + 1. */
	uint64_t live_wanted;
};

/* --- processes --------------------------------------------------------------------- */

/* Executable code of an allocator in a process: [start, end); 0..0: unused. */
struct abi_range {
	uint64_t start, end;
};
#define ABI_MAX_ALLOCATORS 16
_Static_assert((ABI_MAX_ALLOCATORS & (ABI_MAX_ALLOCATORS - 1)) == 0, "a power of two");

/*
 * The traced processes. The number of slots is a power of two. A process is in one of the
 * ABI_PROCESS_WAYS slots that abi_process_slot() returns for it. The slot is part of the
 * key of each of its blocks and of the identity of its stacks. An exec retires the slot:
 * the blocks have gone with the address space. memtrace removes them from the tables
 * before it frees the slot.
 */
#define ABI_PROCESS_WAYS    8
#define ABI_PROCESS_RETIRED (1ull << 32)

/*
 * The i-th possible slot of a process. Consecutive pids are spread far apart: a child
 * that executes a program takes two slots, and would otherwise displace the next child
 * each time.
 */
static inline uint32_t abi_process_slot(uint64_t tgid, uint32_t i, uint32_t slots)
{
	uint64_t hash = (uint32_t)tgid * 0x9e3779b1u;

	return ((uint32_t)(hash * slots >> 32) + i) & (slots - 1);
}

/* Values of `exec_awaited` (probes/scope/execs.c), for a process that is not traced:
 * which programs will be traced. */
enum abi_exec_awaited {
	/* those that the process and its descendants execute */
	ABI_AWAITED_ANY = 1,
	/* those that its descendants execute */
	ABI_AWAITED_CHILDREN,
};

/* Keys of `claims` (probes/claim.c). ABI_CLAIM_PROCESS: the tgid word of a slot, on
 * kernels without BPF atomics. ABI_CLAIM_SLOT_OF: a process that is getting a slot;
 * prevents a second slot for it. */
#define ABI_CLAIM_PROCESS(slot) ((uint64_t)(slot) << 3 | 1)
#define ABI_CLAIM_SLOT_OF(tgid) ((uint64_t)(tgid) << 3 | 2)

struct abi_process {
	/* 0: free slot. With ABI_PROCESS_RETIRED: the process has gone */
	uint64_t tgid;
	uint64_t has_ranges; /* 1: `allocators` is filled */
	/* code_changes counts the changes of the code that can make unwind rules wrong.
	 * code_known is the value up to which memtrace has removed the rules that no
	 * longer hold. No rule is used while the two differ. Changes that the kernel
	 * reports as well, such as those by the dynamic linker, are counted from bit 32
	 * on (ABI_CODE_USDT). */
	uint64_t code_changes, code_known;
	uint64_t code_pages; /* executable pages when the probes last looked */
	uint64_t looked_at;  /* jiffies when the probes last looked */
	uint64_t layout;     /* key in `layouts`, as of code_known; 0: none */
	uint64_t code_went;  /* 1: code has been unmapped at some time */
	uint64_t since_ns;   /* CLOCK_MONOTONIC ns when the slot was taken */
	/* `family`: the processes that share stacks with this one (ABI_FAMILY).
	 * `parting`: the family that this process joins when its code changes; equal to
	 * `family` if no other process is in that. */
	uint64_t family, parting;
	/* tgid of the process whose memory this one uses until it executes a program, as
	 * a child of vfork(2) does; 0: it has its own memory. */
	uint64_t lender;
	char command[16];
	struct abi_range allocators[ABI_MAX_ALLOCATORS];
};
_Static_assert(sizeof(struct abi_process) == 368, "no holes");

#define ABI_CODE_USDT (1ull << 32)

/*
 * A family is a process with the children that it forked, and their children, as long as
 * all have the same code at the same addresses (docs/unwinding.md, "Stacks of forked
 * processes"). Three numbers identify it: the time when its first process took its slot
 * (36 bits, in units of 1,024 ns; no slot is given to two processes within one unit),
 * that slot, and how often that process has left a family.
 */
#define ABI_FAMILY_PARTING_BITS 12
#define ABI_FAMILY(since_ns, slot)                                                       \
	((since_ns) >> 10 << 28 | (uint64_t)(slot) << ABI_FAMILY_PARTING_BITS)
#define ABI_FAMILY_SLOT(family) ((uint32_t)((family) >> ABI_FAMILY_PARTING_BITS & 0xffff))
/* True if the process cannot leave a family any more. It then shares its family with no
 * child. */
#define ABI_FAMILY_IS_LAST(family)                                                       \
	(!(~(family) & ((1ull << ABI_FAMILY_PARTING_BITS) - 1)))

/*
 * Code that mremap(2) moves, one record for each slot: the kernel does not report such
 * moves. A call counts if it touches one of the ranges. They contain every pc that has an
 * unwind rule; [start, end); 0..0: unused. A move is under way from before the system
 * call until after it. Its begin and its end each add to code_changes. `onto` and
 * `version`: docs/unwinding.md, "When code changes".
 */
#define ABI_CODE_RANGES     22
#define ABI_MOVERS          1024 /* threads that move code at the same time */
#define ABI_UNTRACED_MOVERS 1024 /* untraced processes that have moved something */

struct abi_moves {
	uint64_t under_way;
	uint64_t count;     /* moves that have begun, or were found at their end */
	uint64_t last_ns;   /* CLOCK_MONOTONIC ns when the last move began */
	uint64_t linker_ns; /* CLOCK_MONOTONIC ns of the dynamic linker's last report */
	/* Calls with MREMAP_FIXED that have begun, wherever they move something, plus
	 * such calls outside the ranges that have ended. */
	uint64_t onto;
	uint64_t version; /* incremented when memtrace extends `range` */
	struct abi_range range[ABI_CODE_RANGES];
};
_Static_assert(sizeof(struct abi_moves) == 400, "no holes");

/* Added to code_changes for a move that was found only at its end. With it, the code
 * changes are twice as many as the moves only if each change was the begin or the end of
 * a move. */
#define ABI_CODE_MOVED_SOMEWHEN 3

/* A call of mremap() that has begun, for the probe at its end. */
struct abi_mover {
	uint64_t version; /* abi_moves.version when the call began */
	uint32_t slot;
	/* 1: counted in abi_moves.under_way, for this call or for an earlier one of the
	 * thread that never returned */
	uint32_t is_under_way;
};

/* Identifies a block: the address (48 bits; bit 47 of user addresses is clear) and the
 * slot of the process. */
#define ABI_ADDRESS_BITS     48
#define ABI_KEY_ADDRESS(key) ((key) & ((1ull << ABI_ADDRESS_BITS) - 1))
#define ABI_KEY_SLOT(key)    ((uint32_t)((key) >> ABI_ADDRESS_BITS))
#define ABI_KEY(slot, address)                                                           \
	((uint64_t)(slot) << ABI_ADDRESS_BITS | ABI_KEY_ADDRESS(address))

/* --- counters --------------------------------------------------------------------- */

/* One record for each processor. The reader sums them. */
enum abi_counter {
	ABI_ALLOCATIONS,
	ABI_ALLOCATED_BYTES,
	ABI_FREES,
	ABI_FREED_BYTES,
	ABI_FREES_UNKNOWN,
	ABI_FAILURES,
	ABI_BLOCKS_FULL,
	ABI_STACKS_FULL,
	ABI_PENDING_FULL,
	ABI_CALLS_ABANDONED,
	ABI_READ_FAILED,
	ABI_BLOCKS_REPLACED,
	ABI_STACKS_UNREADABLE,
	ABI_STACKS_TRUNCATED,
	ABI_EVENTS_LOST,
	ABI_NESTED_CALLS,   /* calls inside other calls; only the outer one is counted */
	ABI_PROCESSES_FULL, /* processes that found no room in `processes` */
	ABI_SCRATCH_FULL,   /* stacks that found no free abi_scratch */
	ABI_WALKS_LOST,     /* walks that found no room on the way to the miss handler */
	/* The same, while the miss handler had used up its processor time. */
	ABI_WALKS_OVER_BUDGET,
	/* With sampling by bytes: blocks in units of 1/65536, and bytes. */
	ABI_ESTIMATED_ALLOCATIONS,
	ABI_ESTIMATED_ALLOCATED_BYTES,
	ABI_ESTIMATED_FREES,
	ABI_ESTIMATED_FREED_BYTES,
	ABI_COUNTER_COUNT,
};

struct abi_counters {
	uint64_t value[ABI_COUNTER_COUNT];
};

/* --- the kernel's own allocations ------------------------------------------------- */

/*
 * With --kernel a class of allocations takes the place of a process. It is the slot in
 * the keys of blocks, and both the slot and the allocator in stacks.
 * kernel_heap/kernel_points.h describes the classes.
 */
enum abi_kernel_class {
	ABI_KERNEL_SLAB,
	ABI_KERNEL_PAGES,
	ABI_KERNEL_PERCPU,
	ABI_KERNEL_VMALLOC,
	ABI_KERNEL_CLASS_COUNT,
};

/* Counts of recorded blocks only: allocations minus frees are live. */
enum abi_kernel_counter {
	ABI_KERNEL_ALLOCATIONS,
	ABI_KERNEL_ALLOCATED_BYTES,
	ABI_KERNEL_FREES,
	ABI_KERNEL_FREED_BYTES,
	ABI_KERNEL_FREES_UNKNOWN,
	ABI_KERNEL_FAILURES,
	ABI_KERNEL_COUNTER_COUNT,
};

/* One record for each processor. The reader sums them. */
struct abi_kernel_counters {
	uint64_t value[ABI_KERNEL_CLASS_COUNT][ABI_KERNEL_COUNTER_COUNT];
};

/* --- sampling --------------------------------------------------------------------- */

/*
 * Sampling by bytes. There are eight size classes for each power of two. A block is
 * sampled if a 32-bit random number is below the threshold of its class
 * (ABI_SAMPLE_ALWAYS: always). `weight` is the number of blocks that a sampled block
 * represents, in units of 1/65536.
 */
#define ABI_SAMPLE_CLASSES      512
#define ABI_SAMPLE_WEIGHT_SHIFT 16
#define ABI_SAMPLE_ALWAYS       0xffffffffu

struct abi_sample {
	uint64_t weight;
	uint32_t threshold;
	uint32_t reserved;
};
_Static_assert(sizeof(struct abi_sample) == 16, "no holes");

static inline uint32_t abi_sample_class(uint64_t size_bytes)
{
	uint64_t rest = size_bytes;
	uint32_t exponent = 0;

	if (size_bytes < 8)
		return (uint32_t)size_bytes;
	for (uint32_t step = 32; step; step /= 2) {
		if (rest >> step) {
			rest >>= step;
			exponent += step;
		}
	}
	return (exponent - 2) * 8 + (uint32_t)(size_bytes >> (exponent - 3) & 7);
}

/* --- live blocks ------------------------------------------------------------------ */

/*
 * An open-addressing table of live blocks, in buckets of eight slots. abi_live_hash()
 * gives two buckets for a block; it goes to the one with fewer blocks at insertion. A
 * slot's key is 0 (empty), ABI_LIVE_CLAIMED (being written or removed) or the block's key
 * / 8. docs/mechanisms.md, "Tables", says how it grows by generations while the probes
 * use it, and which blocks go to the hash `live_spill`.
 */
#define ABI_LIVE_WAYS    8
#define ABI_LIVE_CLAIMED 1
_Static_assert((ABI_LIVE_WAYS & (ABI_LIVE_WAYS - 1)) == 0, "a power of two");

/* Blocks in the two buckets of a block that make a program ask for a generation. In a
 * generation of 16,384 buckets that is when about half of the slots are used; blocks
 * overflow into `live_spill` when 70 % are. */
#define ABI_LIVE_FILLED 12

/* The most generations, the buckets in generation `g`, and those in all before it. */
#define ABI_LIVE_GENERATIONS       16
#define ABI_LIVE_BUCKETS(first, g) ((uint32_t)(first) << (g))
#define ABI_LIVE_BEFORE(first, g)  ((uint32_t)(first) * ((1u << (g)) - 1))

/* BPF_F_INNER_MAP (Linux 5.10; some versions of libbcc lack the name): the kernel lets
 * the maps in an array of maps differ in their number of elements. */
#define ABI_PART_FLAG (1u << 12)

/* Times are in ticks since the attach (bpf/ticks.h). A tick is a jiffy, or 2^20 ns (about
 * 1 ms) on kernels without bpf_jiffies64(). */
#define ABI_TICK_SHIFT 20

/*
 * A tick number has 42 bits: 139 years at 1,000 ticks a second. The lower 32 bits are in
 * a member `tick`. The upper 10 bits are in a member `thread`, above the thread id, which
 * is below 2^22 (PID_MAX_LIMIT, include/linux/threads.h).
 */
#define ABI_TID_BITS           22
#define ABI_THREAD(tid, ticks) ((uint32_t)((tid) | (ticks) >> 32 << ABI_TID_BITS))
#define ABI_TID(thread)        ((thread) & ((1u << ABI_TID_BITS) - 1))
#define ABI_TICKS(thread, tick)                                                          \
	((uint64_t)((thread) >> ABI_TID_BITS) << 32 | (uint32_t)(tick))

struct abi_live_entry {
	uint32_t size_bytes;
	uint32_t stack;
	uint32_t thread; /* ABI_THREAD() */
	uint32_t tick;
};

struct abi_live_bucket {
	uint64_t key[ABI_LIVE_WAYS];
	struct abi_live_entry entry[ABI_LIVE_WAYS];
};
_Static_assert(sizeof(struct abi_live_bucket) == 192, "24 bytes a slot, 3 cache lines");

struct abi_block {
	uint64_t size_bytes;
	uint32_t stack;
	uint32_t thread; /* ABI_THREAD() */
	uint32_t tick;
	uint32_t reserved;
};
_Static_assert(sizeof(struct abi_block) == 24, "no holes");

/* A hash of `key`, from which abi_live_hash() computes the bucket in a generation. A key
 * has two buckets, and `second` asks for the other one. There is no branch, because the
 * verifier would follow both of its sides. */
static inline uint32_t abi_live_mix(uint64_t key, int second)
{
	uint64_t one = 0x9e3779b97f4a7c15ull, other = 0xd6e8feb86659fd93ull;
	uint64_t h = key * (one ^ ((one ^ other) & -(uint64_t) !!second));

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

/* The bucket of `key` in a generation of `buckets`. */
static inline uint32_t abi_live_hash(uint64_t key, uint32_t buckets, int second)
{
	return (uint32_t)((uint64_t)abi_live_mix(key, second) * buckets >> 32);
}

/*
 * The journal has the changes of blocks, in order, while memtrace reads the tables. Each
 * entry is written before the table changes. The table as read, plus the journal up to an
 * entry, is the state at that entry. docs/mechanisms.md, "The journal", covers programs
 * that begin before a reading or end after it. `journal` is an array of two maps, the
 * halves, which readings use in turn.
 */
/* In each half, at most. A half has only as many entries as recent readings needed:
 * memtrace can replace it by a larger one between two readings. */
#define ABI_JOURNAL_ENTRIES        131072
#define ABI_JOURNAL_HALF(draining) (((draining)-1) & 1)

/* With the ring buffer that takes the place of the table (probes/hashes/live.c): added to
 * journal_used for each entry that found no room. More than the number of entries can
 * be. */
#define ABI_JOURNAL_LOST       (1ull << 32)
#define ABI_JOURNAL_RING_BYTES (8u << 20) /* 170,000 entries */

/*
 * While a realloc runs, its old block is held: it stays live, but another thread may
 * already get its address. The end of the realloc removes the held block, and not the
 * other thread's.
 */
#define ABI_JOURNAL_HELD (~0ull)

enum abi_journal_kind {
	/* Block at `key`. It replaces the held block at `old_key`; with ABI_JOURNAL_HELD
	 * it is itself held from here on. */
	ABI_JOURNAL_PUT = 1,
	ABI_JOURNAL_TAKEN, /* no block at `key` any more, and none held at `old_key` */
};

struct abi_journal {
	uint64_t key;     /* 0: none */
	uint64_t old_key; /* 0: none */
	uint64_t size_bytes;
	uint32_t stack;
	uint32_t thread; /* ABI_THREAD() */
	uint32_t tick;
	uint32_t kind; /* written last; 0: the entry is not written yet */
};
_Static_assert(sizeof(struct abi_journal) == 40, "no holes");

/* --- pending calls ---------------------------------------------------------------- */

#define ABI_PENDING_BITS        14 /* log2 of the table's size; indexed by thread */
#define ABI_PENDING_SLOTS       (1 << ABI_PENDING_BITS)
#define ABI_PENDING_SPILL       16384 /* threads whose slot is taken by another thread */
#define ABI_PENDING_ALL         32768 /* without slots: threads with a pending call */

#define ABI_PENDING_SKIP        1  /* filtered or not sampled: not recorded */
#define ABI_PENDING_HAS_OLD     2  /* `old` was removed from the live table at entry */
#define ABI_PENDING_WANTS_STACK 4  /* the return records a stack */
#define ABI_PENDING_TEMPORARY   8  /* `old` came from the thread's last heap events */
#define ABI_PENDING_INSIDE      16 /* a site inside the function sees the result */
#define ABI_PENDING_ALONE       32 /* the function calls no function that is probed */
#define ABI_PENDING_CHANGES     64 /* its block is entering or leaving the live table */

/*
 * Identifies a thread by its kernel stack: the distance of that stack from a fixed place,
 * in pages, above room for the thread id. The id is below 2^22 (PID_MAX_LIMIT,
 * include/linux/threads.h). A kernel stack takes at least a page.
 */
#define ABI_CALLER_TID_BITS    24
#define ABI_CALLER_KEY(offset) ((uint64_t)(offset) >> 12 << ABI_CALLER_TID_BITS)
#define ABI_CALLER_TID(word)   ((uint32_t)((word) & ((1u << ABI_CALLER_TID_BITS) - 1)))

/* The index of a thread in a table of 2^bits elements. */
#define ABI_CALLER_AT(key, bits)                                                         \
	((uint32_t)((key)*0x9e3779b97f4a7c15ull >> (64 - (bits))))

/* A call between its entry and its return. */
struct abi_pending {
	uint64_t owner;      /* ABI_CALLER_KEY() | thread id; 0: free */
	uint64_t sp;         /* address of the return address */
	uint64_t size_bytes; /* size that was asked for */
	uint64_t address; /* out pointer, start of a range, or the key of an old block */
	uint32_t site;    /* lower half of ABI_SITE() */
	uint16_t flags;
	uint16_t process; /* slot */
	struct abi_block old;
	/* With ABI_PENDING_INSIDE: the return address, and the number of the site. */
	uint64_t caller;
	uint32_t number;
	uint32_t atomic; /* target of atomic operations that only order other accesses */
};
_Static_assert(sizeof(struct abi_pending) == 80, "no holes");

/*
 * The last free that a thread began. A free function may call another one; both are one
 * free. The record also caches the thread id until the thread ends.
 */
#define ABI_LAST_FREE_BITS  14 /* log2 of the table's size; indexed by thread */
#define ABI_LAST_FREE_SLOTS (1 << ABI_LAST_FREE_BITS)

struct abi_last_free {
	uint64_t owner;    /* ABI_CALLER_KEY() | thread id (0: unknown); 0: free */
	uint64_t key;      /* key of the block; 0: the thread has allocated since */
	uint64_t sp;       /* address of the return address */
	uint64_t function; /* address of the function that frees */
};
_Static_assert(sizeof(struct abi_last_free) == 32, "no holes");

/* --- mapping events --------------------------------------------------------------- */

/*
 * Mappings can be split, so memtrace itself keeps track of them, and each call is an
 * event. The old range is removed at entry, because its addresses may be reused before
 * the call returns. It is restored if the call fails.
 */
enum abi_event_kind {
	ABI_EVENT_MAP = 1,  /* address, size_bytes, stack */
	ABI_EVENT_UNMAP,    /* entry of munmap: address, size_bytes */
	ABI_EVENT_REMAP,    /* entry of mremap: address, size_bytes; flags in `extra` */
	ABI_EVENT_DONE,     /* return of the thread's munmap: it succeeded */
	ABI_EVENT_FAILED,   /* return of the thread's mmap, munmap or mremap: it failed */
	ABI_EVENT_REMAPPED, /* return of mremap: new address, new size, stack */
};

struct abi_event {
	uint16_t kind;
	uint16_t process; /* slot */
	uint32_t thread;  /* ABI_THREAD() */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t extra;
	uint32_t stack;
	uint32_t tick;
};
_Static_assert(sizeof(struct abi_event) == 40, "no holes");

#endif
