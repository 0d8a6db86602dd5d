/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probes and memtrace say to each other of stacks and how they are walked, as
 * abi.h does of everything else. Included behind it on both sides.
 */
#ifndef PROBES_ABI_WALK_H
#define PROBES_ABI_WALK_H

/* --- stacks ----------------------------------------------------------------------- */

#define ABI_NO_STACK 0xffffffffu

/*
 * The index finds a stack's number by its hash: two choices of a bucket of eight
 * words, each 0 or tag << 24 | number. `check` in the stack's record is a second hash:
 * number and check together decide that two stacks are one, never the tag alone.
 */
#define ABI_STACK_WAYS        8
#define ABI_STACK_NUMBER_BITS 24
#define ABI_STACK_NUMBER_MASK ((1u << ABI_STACK_NUMBER_BITS) - 1)

struct abi_stack_bucket {
	uint64_t word[ABI_STACK_WAYS];
};

/* Without that index (probes/stack_hash.c): the key of a stack's number, and how many
 * numbers are tried for a new one. */
struct abi_stack_key {
	uint64_t hash, check;
};
#define ABI_STACK_CLAIM_TRIES 32

/*
 * A stack's record. Its return addresses, leaf first, are words of `stack_pcs`, as many
 * as it has: word `at` is in block at / ABI_PCS_BLOCK, and what begins there goes on
 * behind the block's end, where there is room for one stack.
 */
#define ABI_PCS_BLOCK              8192
#define ABI_PCS_BLOCK_BYTES(depth) ((ABI_PCS_BLOCK + (depth)) * 8)

struct abi_stack_head {
	uint64_t check;
	uint64_t family; /* abi_process.family; with --kernel, the class */
	uint8_t depth;   /* at most ABI_MAX_DEPTH */
	uint8_t gap; /* frames are left out before the one of this number; 0: none are */
	uint8_t end; /* enum abi_stack_end */
	uint8_t allocator; /* number of the allocator that was called */
	uint32_t at;
};

enum abi_stack_end {
	ABI_END_COMPLETE,
	ABI_END_DEPTH,
	ABI_END_NO_FRAME,
	ABI_END_UNREADABLE,
	ABI_END_CORRUPT,
	ABI_END_UNLEARNED, /* no rule, and no copy from which to learn one */
};

/*
 * A stack of more frames than there is room for keeps both ends: of `depth` frames the
 * last ones are the outermost, and those before them the innermost. How many are left out
 * between them is not recorded: a recursion has the same stack however deep it is.
 */
#define ABI_ROOT_FRAMES_MAX 32
#define ABI_ROOT_FRAMES(depth)                                                           \
	(((depth) + 1) / 4 < ABI_ROOT_FRAMES_MAX ? ((depth) + 1) / 4                     \
						 : ABI_ROOT_FRAMES_MAX)

/* The two hashes of a stack. Begin with what tells stacks of equal addresses apart,
 * spread over all bits: as it is, it would be no more than an offset of the first
 * address, and calls so far apart in two processes were the same. Take a step for each
 * frame, then one for the end and the gap; `check` is never 0. */
struct abi_stack_hash {
	uint64_t hash, check;
};

/* What tells equal addresses apart. The allocator has 8 bits, and the upper 8 of a family
 * are of its time. They matter only for two families in one slot whose times agree, in
 * units of 1,024 ns, in the 28 bits below. */
#define ABI_WHOSE(family, allocator) ((family) ^ (uint64_t)(allocator) << 56)

static inline void abi_stack_hash_begin(struct abi_stack_hash *h, uint64_t family,
					uint32_t allocator)
{
	uint64_t whose = ABI_WHOSE(family, allocator);

	h->hash = whose * 0x9e3779b97f4a7c15ull;
	h->check = whose * 0xd6e8feb86659fd93ull;
}

static inline void abi_stack_hash_step(struct abi_stack_hash *h, uint64_t pc)
{
	h->hash = (h->hash ^ pc) * 0x9e3779b97f4a7c15ull;
	h->hash ^= h->hash >> 32;
	h->check = (h->check + pc) * 0xd6e8feb86659fd93ull;
	h->check = h->check << 31 | h->check >> 33;
}

static inline void abi_stack_hash_end(struct abi_stack_hash *h, uint32_t end,
				      uint32_t gap)
{
	abi_stack_hash_step(h, (uint64_t)gap << 8 | end);
	h->check |= 1;
}

/* The tag of a stack in the index; never 0. */
#define ABI_STACK_TAG(hash) ((hash) >> ABI_STACK_NUMBER_BITS | 1)

/*
 * Room for a copy of a part of a thread's stack while it is walked. A program can be
 * preempted by another thread's, so each processor has a few, and a walk claims one. What
 * a walk was is kept there: the next one may be the same.
 */
#define ABI_SCRATCH_BYTES 4096
#define ABI_SCRATCH_WAYS  8 /* for each processor, a power of two */

#define ABI_MAX_DEPTH     127
#define ABI_WORDS_TURN    15
#define ABI_SCRATCH_WORDS (ABI_WORDS_TURN + 2 * ABI_ROOT_FRAMES_MAX)

/* Two words that a walk read. Bit 0 of the address: the first of them counted. */
struct abi_walk_read {
	uint64_t address, first, second;
};
#define ABI_WALK_READS 128

/* A word that a walk depended on: its place in the copy of the stack, in bytes. */
struct abi_walk_word {
	uint64_t at, value;
};
#define ABI_WALK_WORDS (2 * ABI_WALK_READS)

/* What a walk began with. */
struct abi_walk_start {
	uint64_t pc, sp, bp;
	uint64_t bp_counts; /* all ones; 0: bp was read from the stack before it mattered
			     */
	uint64_t whose;     /* family and allocator, as in the hash */
	uint64_t code_changes;
};

struct abi_scratch {
	uint64_t owner; /* ABI_CALLER_KEY, 0: free */
	/* For values of the walk, and from ABI_WORDS_TURN on for frames (probes/deep.c);
	 * as many as align the window. */
	uint64_t words[ABI_SCRATCH_WORDS];
	uint64_t window[ABI_SCRATCH_BYTES / 8]; /* copies are fast between cache lines */
	uint64_t more[8]; /* an index is only masked, and the word after it read too */
	uint64_t pc[ABI_MAX_DEPTH + 1]; /* of the frames, leaf first */
	uint64_t family;                /* whose stack it is */
	/* The last walk that ended in a stack with a number. */
	struct abi_walk_start start;
	uint32_t number;
	uint32_t read_count;
	struct abi_walk_read read[ABI_WALK_READS];
	/* Once it was repeated, if one copy reaches that far: which, and all of its
	 * words; a few of them again, since they are looked at by four. */
	uint64_t copy_base;  /* the first byte's address */
	uint64_t copy_last;  /* the last one's place */
	uint64_t word_count; /* 0: not known */
	struct abi_walk_word word[ABI_WALK_WORDS + 4];
};

/* --- rules ------------------------------------------------------------------------ */

/*
 * What was learned of call sites: (process, return address) to a rule of unwind_step.h.
 * Buckets of four, one cache line each; only memtrace writes them. What does not fit is
 * in the hash `rule_spill`. A key is 0 (empty) or ABI_RULE_KEY(). Where a signal came in
 * the pc is the next instruction and no return address, and so has a rule of its own.
 */
#define ABI_RULE_WAYS        4
#define ABI_RULE_SPILL       65536
#define ABI_RULE_INTERRUPTED (1ull << 63)
#define ABI_RULE_KEY(slot, pc, interrupted)                                              \
	((uint64_t)(slot) << ABI_ADDRESS_BITS | ABI_KEY_ADDRESS(pc) | (interrupted))
#define ABI_RULE_SLOT(key) ((uint32_t)((key) >> ABI_ADDRESS_BITS & 0x7fff))

/* The bucket of a key: by one multiplication, since each frame of a walk waits for it. */
static inline uint32_t abi_rule_at(uint64_t key, uint32_t buckets)
{
	return (key * 0x9e3779b97f4a7c15ull >> 32) * buckets >> 32;
}

struct abi_rule_bucket {
	uint64_t key[ABI_RULE_WAYS];
	uint64_t rule[ABI_RULE_WAYS];
};
_Static_assert(sizeof(struct abi_rule_bucket) == 64, "one cache line");

/* --- unwind tables ---------------------------------------------------------------- */

/*
 * The unwind rules of whole files, shared by all processes that map them. A probe looks
 * there when `rules` has nothing for a call site. Three maps:
 *
 * `layouts` has what is mapped where in an address space, by the number that
 * abi_process.layout names. A layout is never changed: another one takes its place.
 *
 * `unwind_pages` has a file's rules, a region of the file's address space at a time. Page
 * 0 of a region (struct abi_unwind_index) says where the others begin, and those (struct
 * abi_unwind_page) have pairs of an offset in the region and the number of the rule from
 * there on.
 *
 * `unwind_rules` has the rules by number. Number 0 is UNWIND_NONE.
 */
#define ABI_UNWIND_REGION_BITS 16
#define ABI_UNWIND_RULES       8192
#define ABI_UNWIND_PAGE_ROWS   112
#define ABI_UNWIND_PAGE_BYTES  512 /* what a page takes in the kernel */
#define ABI_UNWIND_INDEX_PAGES 128 /* a power of two */

/* The key of a page. `file` is the file's number, from 1 to ABI_UNWIND_FILE_MAX.
 * `address` is an address of the region in the file's address space, below 2^47. */
#define ABI_UNWIND_FILE_MAX 0xffffff
#define ABI_UNWIND_KEY(file, address, page)                                              \
	((uint64_t)(file) << 40 | (address) >> ABI_UNWIND_REGION_BITS << 8 | (page))

/* `count` pages follow; page i + 1 begins at offset start[i]. start[0] is 0. */
struct abi_unwind_index {
	uint16_t start[ABI_UNWIND_INDEX_PAGES];
	uint64_t count;
	uint64_t used; /* abi_control.unwind_epoch when a probe last used the region */
	uint64_t unused[22];
};

/* Rows in ascending order of their offsets. Unused rows have offset 0xffff and the last
 * row's rule. */
struct abi_unwind_page {
	uint16_t offset[ABI_UNWIND_PAGE_ROWS];
	uint16_t rule[ABI_UNWIND_PAGE_ROWS];
};
_Static_assert(sizeof(struct abi_unwind_index) == 448 &&
		       sizeof(struct abi_unwind_page) == 448,
	       "with the kernel's header, a key and a link, ABI_UNWIND_PAGE_BYTES");

/* range[i] is mapped at start[i]. The first range is empty and begins at 0, so that a
 * search always finds one. */
#define ABI_LAYOUT_RANGES     512
#define ABI_LAYOUT_PAGE_BYTES 4096
#define ABI_NOWHERE           (UINT64_MAX >> 1) /* above all addresses */

struct abi_layout_range {
	uint64_t bias; /* what is added to the file's addresses */
	uint32_t pages, file;
};

struct abi_layout {
	uint64_t start[ABI_LAYOUT_RANGES]; /* ascending; ABI_NOWHERE behind the last */
	struct abi_layout_range range[ABI_LAYOUT_RANGES];
};

/*
 * A rule that a probe has found in the tables. Probes overwrite entries without a lock,
 * so the key is stored mixed with the rule (abi_cached_mix()): the words of two writers
 * do not make a valid entry.
 */
#define ABI_CACHED_RULES 16384

struct abi_cached_rule {
	uint64_t place;  /* pc, ABI_RULE_INTERRUPTED; mixed */
	uint64_t layout; /* mixed */
	uint64_t rule;
	uint64_t unused;
};

static inline uint64_t abi_cached_mix(uint64_t rule)
{
	return rule * 0xff51afd7ed558ccdull;
}

/* --- events ----------------------------------------------------------------------- */

/* `event_counts` has the hits of an event by the number of their stack, and in one more
 * element those without. */

/* What stands in place of an allocator in stacks that are counted, and, with --growth, in
 * those of mappings. */
#define ABI_EVENT_STACKS   0
#define ABI_MAPPING_STACKS 1

/* --- walks that are handed over --------------------------------------------------- */

/*
 * A walk that met a pc without a rule. Memtrace ends it on a copy of the stack. The block
 * has the number ABI_MISS_STACK(number) for a stack until then; memtrace knows what
 * stack that came to be.
 */
#define ABI_MISS_STACK_BIT  0x80000000u
#define ABI_MISS_STACK(n)   (ABI_MISS_STACK_BIT | (uint32_t)(n))
#define ABI_MISS_PAGES      16
#define ABI_MISS_PAGE_BYTES 4096

/*
 * Of the copy only what has changed is handed over: memtrace keeps the pages as they were
 * the last time, and so do the probes, in a few rooms for each processor, since a program
 * can be preempted by another thread's. Both begin with zeros. A program claims a room
 * for a walk, so that what comes by way of it comes in order. Walks of one thread take
 * little more than what it has done between them.
 */
#define ABI_MISS_ROOMS       4 /* for each processor, a power of two */
#define ABI_MISS_BLOCK_BYTES 64
#define ABI_MISS_BLOCKS      (ABI_MISS_PAGE_BYTES / ABI_MISS_BLOCK_BYTES) /* of a page */

/* Where a room has the page at this address. */
#define ABI_MISS_AT(address)                                                             \
	((uint64_t)(address) / ABI_MISS_PAGE_BYTES & (ABI_MISS_PAGES - 1))

/* What is in the ring begins with one of these. */
#define ABI_MISS_WALK 1
#define ABI_MISS_MORE 2

/* The walk began in the allocator: `pc` lies there, and in no frame of the stack. Where
 * the allocator has no unwind information `pc` is the caller's. */
#define ABI_MISS_INSIDE 1
#define ABI_MISS_LEFT   2

struct abi_miss {
	uint32_t kind, room;
	uint64_t number;
	uint64_t time_ns; /* CLOCK_MONOTONIC, after the walk */
	uint64_t family;
	uint32_t process; /* slot */
	uint16_t allocator;
	uint16_t depth;          /* frames that were walked, without the one of `pc` */
	uint64_t pc, sp, bp;     /* where it goes on */
	uint32_t is_interrupted; /* `pc` is no return address */
	uint32_t inside;         /* ABI_MISS_INSIDE or ABI_MISS_LEFT, 0: neither */
	uint32_t leading;        /* frames of the kernel, before all others */
	uint16_t is_deep;        /* frames are left out of those that were walked */
	/* Where the root's part of a deep stack begins in its record, and how many frames
	 * it has; 0: this probe keeps none. */
	uint8_t root_at, root_count;
	/* With depth 0 only, and not with ABI_MISS_LEFT. */
	uint64_t rbx, r12, r13, r14, r15;
	uint64_t base;    /* address of the first page; of it nothing below sp counts */
	uint32_t present; /* bit i: the page that is i after it could be read */
	uint32_t replacement_count;
	uint64_t changed[ABI_MISS_PAGES]; /* bit n of i: block n of the page at i has */
	/* Those that have, in the order of the pages from `base` on. */
	uint8_t block[ABI_MISS_PAGES * ABI_MISS_BLOCKS][ABI_MISS_BLOCK_BYTES];
};
#define ABI_MISS_BYTES(blocks)                                                           \
	(__builtin_offsetof(struct abi_miss, block) + (blocks)*ABI_MISS_BLOCK_BYTES)

/* As many as a thread can have (kernel/events/uprobes.c, MAX_URETPROBE_DEPTH). */
#define ABI_MISS_REPLACEMENTS 64

/* A return address that a pending return probe has replaced by its own. */
struct abi_replacement {
	uint64_t at; /* where it was; 0: something else is there by now */
	uint64_t return_address;
};

/* Comes before the room's next walk when that has any of it. */
struct abi_miss_more {
	uint32_t kind, room;
	struct abi_replacement replacement[ABI_MISS_REPLACEMENTS]; /* replacement_count */
	uint64_t walked[ABI_MAX_DEPTH + 1];                        /* leading + depth */
};

struct abi_miss_room {
	uint64_t owner;    /* ABI_CALLER_KEY, 0: free */
	uint64_t words[4]; /* for values of the program's */
	uint64_t stale;    /* bit i: memtrace does not have page[i] as it is here */
	uint64_t copied;   /* bit i: page[i] is of the walk at hand */
	uint64_t page[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES / 8];
	uint64_t fresh[ABI_MISS_PAGE_BYTES / 8];
	struct abi_miss_more more;
	struct abi_miss walk;
	uint64_t next_number; /* without atomics: of the room's own */
};

/*
 * The number of a room's walk where no counter gives them (probes/miss.c). Each room has
 * every so many-th part of them; parts are as many as memtrace keeps together
 * (bpf/aliases.h).
 */
#define ABI_MISS_NUMBERS 1024
#define ABI_MISS_NUMBER(n, room, rooms)                                                  \
	(((n) / ABI_MISS_NUMBERS * (rooms) + (room)) * ABI_MISS_NUMBERS +                \
	 (n) % ABI_MISS_NUMBERS)

#endif
