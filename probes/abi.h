/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probes and memtrace say to each other: map keys and values. Included on
 * both sides; fixed-width types, natural alignment, sizes asserted.
 */
#ifndef PROBES_ABI_H
#define PROBES_ABI_H

/* --- values of a run --------------------------------------------------------------- */

/* Numbers that memtrace puts into the instructions as it loads them. In compiled code
 * each stands as ABI_RUN_MAGIC and its own place in this list. */
enum abi_run_value {
	ABI_RUN_START,      /* when tick 0 began: in jiffies, or in ns without those */
	ABI_RUN_OWN_PID,    /* of memtrace */
	ABI_RUN_KERNEL_PID, /* the process whose allocations by the kernel are wanted */
	ABI_RUN_APART,      /* 1: each process is a family of its own (ABI_FAMILY) */
	ABI_RUN_VALUES,
};

#define ABI_RUN_MAGIC 0x6d74726100000000

/* --- sites ------------------------------------------------------------------------ */

/*
 * What a call means to the accounting, packed into the attach cookie of its probe:
 * effect [0:3], then the registers that hold the size, its factor, the old block and the
 * out pointer, four bits each (ABI_ARG_NONE: no such argument), then one bit that says
 * that a new block is not to be recorded; one that says that sites inside the function
 * see the result; one that says that the call has come to its end for good, by a failed
 * check; from bit 24 on the number of the allocator, 8 bits; from bit 32 on how many
 * bytes the return address lies above the stack pointer, 16 bits, signed; from bit 48 on
 * the number of the site. target/allocator.h has the words, and plan/decode.h the numbers
 * of the registers (enum insn_register).
 */
#define ABI_EFFECT_ALLOC      1
#define ABI_EFFECT_ALLOC_OUT  2
#define ABI_EFFECT_REALLOC    3
#define ABI_EFFECT_FREE       4
#define ABI_EFFECT_MAP        5
#define ABI_EFFECT_UNMAP      6
#define ABI_EFFECT_REMAP      7
#define ABI_EFFECT_RESIZE     8
#define ABI_EFFECT_ALLOC_TOLD 9 /* of static probes: ABI_TOLD below has the arguments */
#define ABI_EFFECT_FREE_TOLD  10
#define ABI_EFFECT_RESULT     11 /* of sites inside functions: ABI_RESULT below */
#define ABI_EFFECT_WHOLE      12
#define ABI_EFFECT_CHECK      13 /* ABI_CHECK below */

#define ABI_ARG_NONE          4 /* the stack pointer's number: never an argument */

#define ABI_SITE(effect, size_arg, count_arg, old_arg, out_arg)                          \
	((uint64_t)(effect) | (uint64_t)(size_arg) << 4 | (uint64_t)(count_arg) << 8 |   \
	 (uint64_t)(old_arg) << 12 | (uint64_t)(out_arg) << 16)
#define ABI_SITE_UNRECORDED       (1u << 20)

#define ABI_SITE_INSIDE           (1u << 21)
#define ABI_SITE_STOPS            (1u << 22)
#define ABI_SITE_ALONE            (1u << 23)

#define ABI_SITE_EFFECT(site)     ((site)&0xf)
#define ABI_SITE_SIZE_ARG(site)   ((site) >> 4 & 0xf)
#define ABI_SITE_COUNT_ARG(site)  ((site) >> 8 & 0xf)
#define ABI_SITE_OLD_ARG(site)    ((site) >> 12 & 0xf)
#define ABI_SITE_OUT_ARG(site)    ((site) >> 16 & 0xf)

#define ABI_MAX_ALLOCATOR_NUMBERS 255 /* the last stands for all further ones */
#define ABI_SITE_ALLOCATOR_SHIFT  24
#define ABI_SITE_ALLOCATOR(site)  ((site) >> ABI_SITE_ALLOCATOR_SHIFT & 0xff)

#define ABI_SITE_SP_SHIFT         32
#define ABI_SITE_SP(delta)        ((uint64_t)(uint16_t)(delta) << ABI_SITE_SP_SHIFT)
#define ABI_SITE_SP_DELTA(site)   ((int64_t)(int16_t)((site) >> ABI_SITE_SP_SHIFT))

#define ABI_MAX_SITES             4096 /* that are told apart; the last stands for more */
#define ABI_SITE_NUMBER_SHIFT     48
#define ABI_SITE_NUMBER(site)     ((uint32_t)((site) >> ABI_SITE_NUMBER_SHIFT))

/*
 * A site inside a function where the result is settled: effect [0:3]; what the result is
 * [4:19]; how many words below the return address the caller's rbp is saved [20:23], 0:
 * it is in the register; whether a condition [25:28] of the processor's decides [24] (SDM
 * volume 2, appendix B.1.4.7); [32:46] as above; whether the code there has no unwind
 * information [47]. New blocks are not to be recorded [31].
 * ABI_EFFECT_RESULT ends a call that has a record: others may come there as well [29];
 * without a record it is a failure [30]; what the result is when the condition holds
 * [48:63].
 * ABI_EFFECT_WHOLE is all of a call: the result is settled only when the condition holds
 * [29], or only when it does not; the register of the size [48:51]; the number of the
 * allocator [52:59].
 *
 * A result is a kind [0:2] and a payload [3:15], signed.
 */
#define ABI_RESULT_REGISTER 1 /* the register that is this word of pt_regs */
#define ABI_RESULT_FRAME    2 /* the word at the stack pointer + 8 * payload */
#define ABI_RESULT_CONSTANT 3 /* the payload itself */
#define ABI_RESULT_BLOCK    4 /* 0, and the block is in the register */

#define ABI_RESULT(kind, payload)                                                        \
	((uint64_t)(((uint64_t)(int64_t)(payload) << 3 | (kind)) & 0xffff))
#define ABI_RESULT_KIND(value)     ((value)&7)
#define ABI_RESULT_PAYLOAD(value)  ((uint64_t)((int64_t)((uint64_t)(value) << 48) >> 51))

#define ABI_RESULT_VALUE0_SHIFT    4
#define ABI_RESULT_VALUE0(site)    ((uint32_t)((site) >> ABI_RESULT_VALUE0_SHIFT & 0xffff))
#define ABI_RESULT_VALUE1_SHIFT    48
#define ABI_RESULT_VALUE1(site)    ((uint32_t)((site) >> ABI_RESULT_VALUE1_SHIFT & 0xffff))
#define ABI_RESULT_BP_SHIFT        20
#define ABI_RESULT_BP_WORDS(site)  ((site) >> ABI_RESULT_BP_SHIFT & 0xf)
#define ABI_RESULT_HAS_CONDITION   (1u << 24)
#define ABI_RESULT_CONDITION_SHIFT 25
#define ABI_RESULT_CONDITION(site) ((site) >> ABI_RESULT_CONDITION_SHIFT & 0xf)
#define ABI_RESULT_SP_DELTA(site)  ((site) >> ABI_SITE_SP_SHIFT & 0x7fff)
#define ABI_RESULT_NO_CFI          (1ull << 47)
#define ABI_RESULT_SHARED          (1u << 29)
#define ABI_RESULT_FAILS_ALONE     (1u << 30)
#define ABI_RESULT_UNRECORDED      (1u << 31)
#define ABI_WHOLE_WHEN_TAKEN       (1u << 29)
#define ABI_WHOLE_SIZE_SHIFT       48
#define ABI_WHOLE_SIZE_REG(site)   ((uint32_t)((site) >> ABI_WHOLE_SIZE_SHIFT & 0xf))
#define ABI_WHOLE_ALLOCATOR_SHIFT  52
#define ABI_WHOLE_ALLOCATOR(site)  ((uint32_t)((site) >> ABI_WHOLE_ALLOCATOR_SHIFT & 0xff))
/* The size is a product, which has wrapped when it is too large. */
#define ABI_WHOLE_PRODUCT (1ull << 60)

/*
 * Sites by where in its page each lies: a file's pages are pages in memory too. `meaning`
 * is that of the only one there, 0 where there is none, ABI_SITE_SEVERAL where the attach
 * cookie has to tell. `entry` is the last address that was found to be a site's in a
 * process: ABI_KEY(slot, address), 0: none yet.
 */
#define ABI_SITE_SEVERAL (~0ull)

struct abi_site_at {
	uint64_t meaning;
	uint64_t entry;
	/* The number of a check that has a site there, + 1; 0: none. ABI_CHECK_QUIET: a
	 * hit does not begin that check. */
	uint64_t check;
};
_Static_assert(sizeof(struct abi_site_at) == 24, "no holes");

/*
 * Sites inside functions are checked (bpf/checks.h): each `ret` of a function has a probe
 * while its first calls are compared. Meaning: effect [0:3]; [4:19], [29] and [47] as of
 * ABI_EFFECT_RESULT; only the low 32 bits of the result count [25]; the `ret` is in the
 * function itself, so that each call that comes there has come by a site [26]; the number
 * of the check [48:63].
 */
#define ABI_CHECK_SHORT        (1u << 25)
#define ABI_CHECK_OWN          (1u << 26)
#define ABI_CHECK_NUMBER_SHIFT 48
#define ABI_CHECK_NUMBER(site) ((uint32_t)((site) >> ABI_CHECK_NUMBER_SHIFT))

#define ABI_CHECK_QUIET        (1ull << 32)

#define ABI_MAX_CHECKS         1024 /* functions */
#define ABI_CHECK_CLAIMS       4096 /* calls between a site and their end */
#define ABI_CHECK_RETIRED      1024 /* sites that are wrong */

/* A check ends when so many calls have agreed, differed, or come without a site. Calls
 * that were under way when the check began come without one; so they have to be more than
 * those that agreed. */
#define ABI_CHECK_AGREED   1000
#define ABI_CHECK_DIFFERED 2
#define ABI_CHECK_MISSED   8

enum abi_check_state {
	ABI_CHECK_IDLE,
	ABI_CHECK_WANTED, /* it was called: memtrace has the number, and begins */
	ABI_CHECK_RUNNING,
	ABI_CHECK_OVER,
	ABI_CHECK_FAILED, /* the `ret`s see the results now */
};

struct abi_check {
	uint64_t state;
	uint64_t agreed, differed, missed; /* calls */
	uint64_t began;                    /* abi_control.checks_begun then */
};
_Static_assert(sizeof(struct abi_check) == 40, "no holes");

/* A call: its thread, as of abi_pending.owner, and where its return address is. */
struct abi_check_call {
	uint64_t caller, sp;
};

/* What a site has said of its result, when so many checks had begun. */
struct abi_check_claim {
	uint64_t result, begun;
};

/* A site, by what it means and where in its page it lies. */
struct abi_check_site {
	uint64_t meaning, at;
};

/* A site of a function that several lead to may mean the same with ABI_RESULT_SHARED and
 * without. */
#define ABI_CHECK_MEANING(site)                                                          \
	(ABI_SITE_EFFECT(site) == ABI_EFFECT_RESULT                                      \
		 ? (site) & ~(uint64_t)ABI_RESULT_SHARED                                 \
		 : (site))

/*
 * What the arguments of a static probe are (target/usdt_args.h): a record for each number
 * of a site. Registers are named by where struct pt_regs has them, bytes; the value is
 * what is there, or `value`, or with ABI_TOLD_MEMORY in memory at their sum. It counts
 * from its lowest `size_bytes` on, sign-extended or not.
 */
#define ABI_TOLD_NOTHING     0 /* there is no such argument: 0 */
#define ABI_TOLD_VALUE       1
#define ABI_TOLD_MEMORY      2
#define ABI_TOLD_NO_REGISTER 0xff
#define ABI_TOLD_ARGS        3

struct abi_told_arg {
	uint64_t value;
	uint8_t kind, base, index, index_shift;
	uint8_t size_bytes; /* 1, 2, 4 or 8 */
	uint8_t is_signed;
	uint16_t reserved;
};

struct abi_told {
	struct abi_told_arg arg[ABI_TOLD_ARGS];
};
_Static_assert(sizeof(struct abi_told) == 48, "no holes");

/* --- control ---------------------------------------------------------------------- */

/* One record; written by memtrace, except the counts. */
struct abi_control {
	uint64_t enabled;         /* 0: every probe returns at once */
	uint64_t spilled_blocks;  /* entries in live_spill */
	uint64_t spilled_pending; /* entries in pending_spill */
	uint64_t stacks_used;     /* next free index of `stacks` */
	uint64_t stack_pcs_used;  /* next free word of `stack_pcs` (abi_walk.h) */
	/* Memtrace reads the tables, and changes go to `journal`: to the half
	 * ABI_JOURNAL_HALF(). 0: it does not. */
	uint64_t draining;
	uint64_t journal_used[2]; /* next free index of each half, also past its end */
	uint64_t journal_half;    /* that was used last; memtrace's */
	/* Changes that began before a reading and were made while it read: they are in no
	 * journal. */
	uint64_t late_changes;
	uint64_t misses;      /* numbers of walks that were handed over: the next */
	uint64_t misses_lost; /* of them, there was no room for the walk */
	/* 1: --unwind-cpu is used up, or was while the ring filled. Walks that find no
	 * room now are over the budget. */
	uint64_t misses_over_budget;
	uint64_t spilled_rules;  /* entries in rule_spill */
	uint64_t only_slot;      /* of the process, where just one is traced */
	uint64_t keeps_tids;     /* a thread's end is heard of (abi_last_free) */
	uint64_t checks_running; /* sites note what they see for checks */
	uint64_t checks_begun;   /* how many */
	uint64_t sites_retired;  /* some are */
	uint64_t unwind_epoch;   /* counts how often unwind tables were evicted */
};

/* --- processes --------------------------------------------------------------------- */

/* Executable code of an allocator in a process; end exclusive, 0..0: unused. */
struct abi_range {
	uint64_t start, end;
};
#define ABI_MAX_ALLOCATORS 16

/*
 * The processes that are traced: a table of a power of two of slots. A process is in one
 * of ABI_PROCESS_WAYS slots from the one that abi_process_slot() names. Its slot
 * is part of the key of each of its blocks, and of what tells its stacks apart. An exec
 * retires a slot: the blocks under it are gone with their address space, and memtrace
 * takes them out before it gives the slot back.
 */
#define ABI_PROCESS_WAYS    8
#define ABI_PROCESS_RETIRED (1ull << 32)

/*
 * The i-th slot for a process. Numbers that follow each other lie far apart: a child that
 * executes a program takes two slots, and would push the next one on by one each time.
 */
static inline uint32_t abi_process_slot(uint64_t tgid, uint32_t i, uint32_t slots)
{
	uint64_t hash = (uint32_t)tgid * 0x9e3779b1u;

	return ((uint32_t)(hash * slots >> 32) + i) & (slots - 1);
}

/* The keys of `claims` (probes/claim.c): for the tgid of a slot, without atomics; and for
 * a process that is about to get a slot, so that it gets no second one. */
#define ABI_CLAIM_PROCESS(slot) ((uint64_t)(slot) << 3 | 1)
#define ABI_CLAIM_SLOT_OF(tgid) ((uint64_t)(tgid) << 3 | 2)

struct abi_process {
	uint64_t tgid;       /* 0: free; with ABI_PROCESS_RETIRED: no process any more */
	uint64_t has_ranges; /* `allocators` is filled */
	/* How often the probes saw its code change in a way that can make rules wrong,
	 * and up to which change memtrace has taken out the rules that do not hold. While
	 * they differ none is used. Changes by the dynamic linker, of which the kernel
	 * tells as well, are counted above bit 32 (ABI_CODE_TOLD). */
	uint64_t code_changes, code_known;
	uint64_t code_pages; /* of executable mappings, as the probes saw them last */
	uint64_t looked_at;  /* in jiffies, when that was */
	uint64_t layout;     /* of `layouts`: for the code as of `code_known`. 0: none */
	uint64_t code_went;  /* 1: code was unmapped at some time */
	uint64_t since_ns;   /* CLOCK_MONOTONIC: when the slot was taken */
	/* Which processes share its stacks (ABI_FAMILY), and the family that it is in
	 * once its code changes: the same, where no other process is in it. */
	uint64_t family, parting;
	/* The tgid of the process in whose memory this one works until it executes a
	 * program, as a child of vfork(2) does; 0: it has its own. */
	uint64_t lender;
	char command[16];
	struct abi_range allocators[ABI_MAX_ALLOCATORS];
};
_Static_assert(sizeof(struct abi_process) == 368, "no holes");

#define ABI_CODE_TOLD (1ull << 32)

/*
 * A family is a process with the children that it forked, and theirs, as long as all have
 * the same code at the same addresses. Equal call paths of a family are one stack. It is
 * known by when its first process took its slot (in units of 1,024 ns, 36 bits: a slot is
 * not given to two processes within one), by that slot, and by how often that process has
 * left a family. A process leaves its family when its code changes.
 */
#define ABI_FAMILY_PARTING_BITS 12
#define ABI_FAMILY(since_ns, slot)                                                       \
	((since_ns) >> 10 << 28 | (uint64_t)(slot) << ABI_FAMILY_PARTING_BITS)
#define ABI_FAMILY_SLOT(family) ((uint32_t)((family) >> ABI_FAMILY_PARTING_BITS & 0xffff))
/* It cannot leave families more often: it shares none any more. */
#define ABI_FAMILY_IS_LAST(family)                                                       \
	(!(~(family) & ((1ull << ABI_FAMILY_PARTING_BITS) - 1)))

/*
 * Code that mremap(2) moves, of which nobody tells: a record for each slot. A call is
 * seen when it concerns what is in `range`, in which memtrace has every pc that a rule
 * was learned of; end exclusive, 0..0: unused. It is under way from before its change to
 * after it, and each of both is a change of `code_changes`. Memtrace may add code to the
 * ranges that is just moving onto other code: so calls that may do so are counted before
 * the ranges are looked at, and one during which they became more is a change as well.
 */
#define ABI_CODE_RANGES 22
#define ABI_MOVERS      1024 /* threads that move code at once */
#define ABI_STRANGERS   1024 /* processes without a slot that have moved something */

struct abi_moves {
	uint64_t under_way;
	uint64_t count;   /* that have begun, or of which nobody knew before their end */
	uint64_t last_ns; /* CLOCK_MONOTONIC, when the last one began */
	uint64_t told_ns; /* when the dynamic linker last said something */
	uint64_t onto;    /* calls that have begun, of anything to a place that is given,
			     and those that have ended and did not touch the ranges */
	uint64_t version; /* of the ranges */
	struct abi_range range[ABI_CODE_RANGES];
};
_Static_assert(sizeof(struct abi_moves) == 400, "no holes");

/* What the latter add to code_changes: so changes are twice as many as moves only when
 * there was nothing but begins and ends. */
#define ABI_CODE_MOVED_SOMEWHEN 3

/* A thread's call, for its return. */
struct abi_mover {
	uint64_t version; /* of the ranges when it began */
	uint32_t slot;
	uint32_t is_under_way; /* counted there, as it or one that never returned */
};

/* A block is known by its address (48 bits: user addresses have bit 47 clear) and the
 * slot of its process. */
#define ABI_ADDRESS_BITS     48
#define ABI_KEY_ADDRESS(key) ((key) & ((1ull << ABI_ADDRESS_BITS) - 1))
#define ABI_KEY_SLOT(key)    ((uint32_t)((key) >> ABI_ADDRESS_BITS))
#define ABI_KEY(slot, address)                                                           \
	((uint64_t)(slot) << ABI_ADDRESS_BITS | ABI_KEY_ADDRESS(address))

/* --- counters --------------------------------------------------------------------- */

/* One record per processor, summed by the reader. */
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
	ABI_NESTED_CALLS,   /* calls inside calls, counted with the outer one */
	ABI_PROCESSES_FULL, /* processes that found no room in `processes` */
	ABI_SCRATCH_FULL,   /* stacks that found none to be walked in */
	ABI_WALKS_LOST,     /* walks that found no room to be handed over */
	/* The same, because the miss handler had used up its processor time. */
	ABI_WALKS_OVER_BUDGET,
	/* With sampling by bytes, in 1/65536 blocks, and in bytes: */
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
 * With --kernel a class stands where a process does elsewhere: as the slot in the keys of
 * blocks, and in stacks as the slot and as the allocator. bpf/kernel_points.h says what
 * the classes are.
 */
enum abi_kernel_class {
	ABI_KERNEL_SLAB,
	ABI_KERNEL_PAGES,
	ABI_KERNEL_PERCPU,
	ABI_KERNEL_VMALLOC,
	ABI_KERNEL_CLASS_COUNT,
};

/* Of what is in the table: allocations less frees are live. */
enum abi_kernel_counter {
	ABI_KERNEL_ALLOCATIONS,
	ABI_KERNEL_ALLOCATED_BYTES,
	ABI_KERNEL_FREES,
	ABI_KERNEL_FREED_BYTES,
	ABI_KERNEL_FREES_UNKNOWN,
	ABI_KERNEL_FAILURES,
	ABI_KERNEL_COUNTER_COUNT,
};

/* One record for each processor, summed by the reader. */
struct abi_kernel_counters {
	uint64_t value[ABI_KERNEL_CLASS_COUNT][ABI_KERNEL_COUNTER_COUNT];
};

/* --- sampling --------------------------------------------------------------------- */

/*
 * By bytes: sizes fall into classes, eight for each power of two, and a block of a class
 * is drawn when a random number of 32 bits is below the class's threshold
 * (ABI_SAMPLE_ALWAYS: always). What a drawn block stands for is summed up in 1/65536
 * blocks.
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
 * An open-addressing table of outstanding blocks: `live_buckets` buckets of eight. A
 * block lives in one of two buckets, chosen by abi_live_hash(), the less loaded at
 * insertion. A key slot is 0 (empty), ABI_LIVE_CLAIMED (being written or removed) or
 * the block's key / 8. What does not fit (full buckets, sizes of 4 GiB and more,
 * addresses that are not multiples of 8) goes to the hash `live_spill`, keyed by the
 * whole key.
 */
#define ABI_LIVE_WAYS    8
#define ABI_LIVE_CLAIMED 1

/* Time is kept in jiffies, or where the kernel has not that helper in units of 2^20 ns
 * (about 1 ms), since the attach (bpf/ticks.h). */
#define ABI_TICK_SHIFT 20

/*
 * A tick has 42 bits: at 1,000 ticks a second they last for 139 years. The lower 32 are a
 * member `tick`. The upper 10 are in a member `thread`, above the thread id, which is
 * below 2^22 (PID_MAX_LIMIT, include/linux/threads.h).
 */
#define ABI_TID_BITS           22
#define ABI_THREAD(tid, ticks) ((uint32_t)((tid) | (ticks) >> 32 << ABI_TID_BITS))
#define ABI_TID(thread)        ((thread) & ((1u << ABI_TID_BITS) - 1))
#define ABI_TICKS(thread, tick)                                                          \
	((uint64_t)((thread) >> ABI_TID_BITS) << 32 | (uint32_t)(tick))

struct abi_live_entry {
	uint32_t size_bytes;
	uint32_t stack;
	uint32_t thread; /* ABI_THREAD */
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
	uint32_t thread; /* ABI_THREAD */
	uint32_t tick;
	uint32_t reserved;
};
_Static_assert(sizeof(struct abi_block) == 24, "no holes");

/* The bucket of `key` among `buckets`; `second` picks the other choice. */
static inline uint32_t abi_live_hash(uint64_t key, uint32_t buckets, int second)
{
	uint64_t h = key * (second ? 0xd6e8feb86659fd93ull : 0x9e3779b97f4a7c15ull);

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return (h >> 32) * buckets >> 32;
}

/*
 * What happens to blocks while memtrace reads the tables, in order and each written
 * before the tables change: a table is read bit by bit, and a block can move behind the
 * reader's back. The table as read, with the journal up to some entry applied, is the
 * state at that entry.
 *
 * A program may find the journal closed, and change a table after a reading has begun, in
 * a place that was read already. It counts such a change in `late_changes` before it
 * ends. If there was one, or the reading met a change that was half made
 * (ABI_LIVE_CLAIMED, ABI_PENDING_CHANGES), memtrace waits until all programs that ran
 * when the reading began have ended (bpf/fence.h), and reads again. Otherwise a program
 * that still runs stands for a call that has not happened yet in the snapshot: the
 * calling thread is inside the probe.
 *
 * A program may also find the journal open, be preempted, and write its entry when that
 * reading is long over. So readings use the two halves of the journal in turn. Each
 * reading begins to wait for all programs that run then, and the next reading does not
 * begin before that wait is over. So no program that wrote to a half is left when the
 * half is used again.
 */
#define ABI_JOURNAL_ENTRIES        131072 /* of a half */
#define ABI_JOURNAL_HALF(draining) (((draining)-1) & 1)

/* With the ring buffer that takes the place of the table (probes/live_hash.c): how many
 * entries more are counted for one that found no room in it, more than there can be. */
#define ABI_JOURNAL_LOST       (1ull << 32)
#define ABI_JOURNAL_RING_BYTES (8u << 20) /* 170,000 entries */

enum abi_journal_kind {
	ABI_JOURNAL_PUT = 1, /* a block at `key`, in place of one at `old_key` */
	ABI_JOURNAL_TAKEN,   /* no block at `key` any more */
};

struct abi_journal {
	uint64_t key;
	uint64_t old_key; /* 0: none */
	uint64_t size_bytes;
	uint32_t stack;
	uint32_t thread; /* ABI_THREAD */
	uint32_t tick;
	uint32_t kind; /* written last; 0: the entry is not written yet */
};
_Static_assert(sizeof(struct abi_journal) == 40, "no holes");

/* --- calls on their way ----------------------------------------------------------- */

#define ABI_PENDING_BITS        16 /* of the table's size; by thread */
#define ABI_PENDING_SLOTS       (1 << ABI_PENDING_BITS)
#define ABI_PENDING_SPILL       4096  /* whose slot is another thread's */
#define ABI_PENDING_ALL         32768 /* without slots: of all threads */

#define ABI_PENDING_SKIP        1  /* filtered or sampled out: not to be recorded */
#define ABI_PENDING_HAS_OLD     2  /* `old` was taken out of the live table at entry */
#define ABI_PENDING_WANTS_STACK 4  /* its return records a stack */
#define ABI_PENDING_TEMPORARY   8  /* `old` was allocated by a last event of the thread */
#define ABI_PENDING_INSIDE      16 /* its return is seen inside the function */
#define ABI_PENDING_ALONE       32 /* it calls no function that is probed */
#define ABI_PENDING_CHANGES     64 /* its block is on the way from or to the tables */

/*
 * A thread is known by its kernel stack: the upper bits of how far that is from some
 * fixed place, above room for its thread id, which is below 2^22 (PID_MAX_LIMIT,
 * include/linux/threads.h). No kernel stack is smaller than a page.
 */
#define ABI_CALLER_TID_BITS    24
#define ABI_CALLER_KEY(offset) ((uint64_t)(offset) >> 12 << ABI_CALLER_TID_BITS)
#define ABI_CALLER_TID(word)   ((uint32_t)((word) & ((1u << ABI_CALLER_TID_BITS) - 1)))

/* The place of a thread in a table of 2^bits. */
#define ABI_CALLER_AT(key, bits)                                                         \
	((uint32_t)((key)*0x9e3779b97f4a7c15ull >> (64 - (bits))))

/* One call between its entry and its return. */
struct abi_pending {
	uint64_t owner;      /* ABI_CALLER_KEY and the thread id, 0: free */
	uint64_t sp;         /* address of the return address */
	uint64_t size_bytes; /* asked for */
	uint64_t address; /* out pointer or start of a range; of an old block the key */
	uint32_t site;    /* ABI_SITE, its lower half */
	uint16_t flags;
	uint16_t process; /* slot */
	struct abi_block old;
	/* With ABI_PENDING_INSIDE: the return address, and the number of the site. */
	uint64_t caller;
	uint32_t number;
	uint32_t atomic; /* an operation on it comes after what is before it */
};
_Static_assert(sizeof(struct abi_pending) == 80, "no holes");

/*
 * The last free that a thread began: one function that frees may call another, and that
 * is one free. The thread's number is kept with it, until the thread ends.
 */
#define ABI_LAST_FREE_BITS  14 /* of the table's size; by thread */
#define ABI_LAST_FREE_SLOTS (1 << ABI_LAST_FREE_BITS)

struct abi_last_free {
	uint64_t owner;    /* ABI_CALLER_KEY and the thread id, 0: not asked for yet */
	uint64_t key;      /* of the block, 0: an allocation came after it */
	uint64_t sp;       /* address of the return address */
	uint64_t function; /* address of the function */
};
_Static_assert(sizeof(struct abi_last_free) == 32, "no holes");

/* --- mapping events --------------------------------------------------------------- */

/*
 * Mappings can be cut in pieces, so their book is kept by memtrace: each call is an
 * event. The old range goes at entry (its addresses may be handed out again before the
 * call returns) and comes back if the call fails.
 */
enum abi_event_kind {
	ABI_EVENT_MAP = 1,  /* address, size_bytes, stack */
	ABI_EVENT_UNMAP,    /* entry of munmap: address, size_bytes */
	ABI_EVENT_REMAP,    /* entry of mremap: address, size_bytes, flags in `extra` */
	ABI_EVENT_DONE,     /* return of the thread's munmap: it succeeded */
	ABI_EVENT_FAILED,   /* return of the thread's mmap, munmap or mremap: it failed */
	ABI_EVENT_REMAPPED, /* return of mremap: new address, new size, stack */
};

struct abi_event {
	uint16_t kind;
	uint16_t process; /* slot */
	uint32_t thread;  /* ABI_THREAD */
	uint64_t address;
	uint64_t size_bytes;
	uint64_t extra;
	uint32_t stack;
	uint32_t tick;
};
_Static_assert(sizeof(struct abi_event) == 40, "no holes");

#endif
