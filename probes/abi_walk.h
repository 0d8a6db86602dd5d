/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stacks and unwind rules, as the BPF probes share them with memtrace. abi.h has the
 * other map keys and values. Both sides include this header after it.
 */
#ifndef PROBES_ABI_WALK_H
#define PROBES_ABI_WALK_H

/* --- stacks ----------------------------------------------------------------------- */

#define ABI_NO_STACK 0xffffffffu

/*
 * `stack_index` maps the hash of a stack to its number. A hash has two buckets of eight
 * words; each word is 0 or tag << 24 | number. A word is the stack's only if the tag and
 * the `check` of the record with that number, a second hash, agree; the tag alone proves
 * nothing. docs/mechanisms.md, "The index of stacks", says how it grows.
 */
#define ABI_INDEX_PARTS       3
#define ABI_STACK_WAYS        8
#define ABI_STACK_NUMBER_BITS 24
#define ABI_STACK_NUMBER_MASK ((1u << ABI_STACK_NUMBER_BITS) - 1)

struct abi_stack_bucket {
	uint64_t word[ABI_STACK_WAYS];
};

/* Used instead of that index on kernels without BPF atomics (probes/hashes): the
 * key of a stack's number, how many numbers from one place on are tried for a new
 * stack, and from how many places on. */
struct abi_stack_key {
	uint64_t hash, check;
};
#define ABI_STACK_CLAIM_TRIES  32
#define ABI_STACK_CLAIM_PLACES 3

/*
 * A stack's record. Its return addresses, leaf first, are `depth` words of `stack_pcs`,
 * from word `at` on. Word `at` is in block at / ABI_PCS_BLOCK. A stack that begins in a
 * block continues past the block's ABI_PCS_BLOCK words: each block has room for one more
 * stack there.
 */
#define ABI_PCS_BLOCK              8192
#define ABI_PCS_BLOCK_BYTES(depth) ((ABI_PCS_BLOCK + (depth)) * 8)

/*
 * `stacks` and `stack_pcs` grow while the probes use them (docs/mechanisms.md, "The index
 * of stacks"). Each is an array of maps, with parts of equal size. If its part is
 * missing, a program sends the stack to the miss handler (struct abi_walked), which adds
 * the part. A program without unwind rules has no miss handler and counts the stack in
 * ABI_STACKS_FULL.
 */
#define ABI_PARTS_MAX             256
#define ABI_PART_EIGHTH(elements) ((elements) / 8)

struct abi_stack_head {
	uint64_t check;
	uint64_t family;   /* abi_process.family; with --kernel the class */
	uint8_t depth;     /* at most ABI_MAX_DEPTH */
	uint8_t gap;       /* frames are left out before frame `gap`; 0: none are */
	uint8_t end;       /* enum abi_stack_end */
	uint8_t allocator; /* number of the allocator that was called */
	uint32_t at;
};

enum abi_stack_end {
	ABI_END_COMPLETE,
	ABI_END_DEPTH,
	ABI_END_NO_FRAME,
	ABI_END_UNREADABLE,
	ABI_END_CORRUPT,
	ABI_END_NO_RULE, /* no rule for a call site, not even from the miss handler */
};

/*
 * If a stack has more frames than the record has room for, the record keeps both ends. Of
 * its `depth` frames the last ABI_ROOT_FRAMES(depth) are the outermost ones, the others
 * the innermost ones. The number of frames left out in between is not recorded, so a
 * recursion has the same stack however deep it is.
 */
#define ABI_ROOT_FRAMES_MAX 32
#define ABI_ROOT_FRAMES(depth)                                                           \
	(((depth) + 1) / 4 < ABI_ROOT_FRAMES_MAX ? ((depth) + 1) / 4                     \
						 : ABI_ROOT_FRAMES_MAX)

/* The two hashes of a stack. Begin with the family, the allocator and the seed of the
 * run, then take a step for each frame, and one for the end and the gap. `check` is never
 * 0. A target does not know the seed, and cannot make stacks that have one hash. */
struct abi_stack_hash {
	uint64_t hash, check;
};

/* Distinguishes stacks of equal addresses. The allocator overlays the upper 8 bits of the
 * family's time. Two families in one slot can then be confused only if the lower 28 bits
 * of their times agree, in units of 1,024 ns. */
#define ABI_WHOSE(family, allocator) ((family) ^ (uint64_t)(allocator) << 56)

/* The multiplication is needed: without it the family would merely offset the first
 * address, and calls of two processes at exactly that distance would have the same hash.
 */
static inline void abi_stack_hash_begin(struct abi_stack_hash *h, uint64_t family,
					uint32_t allocator, uint64_t seed)
{
	uint64_t whose = ABI_WHOSE(family, allocator);

	h->hash = (whose ^ seed) * 0x9e3779b97f4a7c15ull;
	h->check = (whose + (seed << 32 | seed >> 32)) * 0xd6e8feb86659fd93ull;
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

/* The tag of a stack in the index. It is never 0. */
#define ABI_STACK_TAG(hash) ((hash) >> ABI_STACK_NUMBER_BITS | 1)

/*
 * Room for a walk, with a copy of a part of the thread's stack. Each processor has
 * several, because a walk can be preempted by a walk of another thread; each walk claims
 * one. The room remembers the last walk, because the next one is often the same.
 */
#define ABI_SCRATCH_BYTES 4096
#define ABI_SCRATCH_WAYS  8 /* for each processor; a power of two */

#define ABI_MAX_DEPTH     127
#define ABI_WORDS_TURN    15
#define ABI_SCRATCH_WORDS (ABI_WORDS_TURN + 2 * ABI_ROOT_FRAMES_MAX)

/* Two words that a walk read. Bit 0 of the address is set if the first one mattered. */
struct abi_walk_read {
	uint64_t address, first, second;
};
#define ABI_WALK_READS 128

/* A word that a walk depended on: its offset in the copy of the stack, in bytes. */
struct abi_walk_word {
	uint64_t at, value;
};
#define ABI_WALK_WORDS (2 * ABI_WALK_READS)

/* The initial state of a walk. */
struct abi_walk_start {
	uint64_t pc, sp, bp;
	/* 0: bp was restored from the stack before it was used; else all ones */
	uint64_t bp_counts;
	uint64_t whose; /* ABI_WHOSE() of the stack */
	uint64_t code_changes;
};

/*
 * The frames of a walk. If the tables lack a part for a stack, the probes send this
 * record, up to its last frame, to the miss handler. Until the stack is stored, the block
 * has ABI_MISS_STACK(number) as its stack number.
 */
struct abi_walked {
	uint32_t kind;                      /* ABI_MISS_WALKED */
	uint8_t depth, gap, end, allocator; /* as in abi_stack_head */
	uint64_t number;
	uint64_t family;                /* family of the stack */
	uint64_t pc[ABI_MAX_DEPTH + 1]; /* of the frames, leaf first */
};
#define ABI_WALKED_BYTES(depth) (__builtin_offsetof(struct abi_walked, pc) + (depth)*8ull)

struct abi_scratch {
	uint64_t owner; /* ABI_CALLER_KEY(); 0: free */
	/* Scratch values of the walk; from ABI_WORDS_TURN on, frames (unwind/deep.c). The
	 * number of words aligns the window. */
	uint64_t words[ABI_SCRATCH_WORDS];
	/* aligned to a cache line: fast to copy to */
	uint64_t window[ABI_SCRATCH_BYTES / 8];
	/* behind the window: indices are only masked, and the next word is read as
	 * well */
	uint64_t more[8];
	struct abi_walked walked;
	/* The last walk that gave a stack with a number. */
	struct abi_walk_start start;
	uint32_t number;
	uint32_t read_count;
	struct abi_walk_read read[ABI_WALK_READS];
	/* Set when the walk was first repeated, if one copy of the stack has all its
	 * words: that copy, and all words. The first word is repeated at the end, because
	 * words are compared four at a time. */
	uint64_t copy_base;  /* address of the first byte */
	uint64_t copy_last;  /* offset of the last byte */
	uint64_t word_count; /* 0: not set */
	struct abi_walk_word word[ABI_WALK_WORDS + 4];
};

/* --- rules ------------------------------------------------------------------------ */

/*
 * Unwind rules (unwind_step.h) of call sites, by process and return address. A bucket has
 * four rules and takes one cache line. Only memtrace writes to the buckets. Rules that do
 * not fit are in the hash `rule_spill`. A key is 0 (empty) or ABI_RULE_KEY(). Where a
 * signal interrupted a function, the pc is the next instruction and not a return address.
 * Such a pc has a rule of its own.
 */
#define ABI_RULE_WAYS        4
#define ABI_RULE_SPILL       32768
#define ABI_RULE_INTERRUPTED (1ull << 63)
#define ABI_RULE_KEY(slot, pc, interrupted)                                              \
	((uint64_t)(slot) << ABI_ADDRESS_BITS | ABI_KEY_ADDRESS(pc) | (interrupted))
#define ABI_RULE_SLOT(key) ((uint32_t)((key) >> ABI_ADDRESS_BITS & 0x7fff))

/* The bucket of a key. A single multiplication, because each frame of a walk waits for
 * it. */
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
 * The unwind rules of whole files, shared by all processes that map them:
 * docs/unwinding.md, "The unwind tables". A probe searches them if `rules` has no rule
 * for a call site. There are three maps: `layouts` has the mappings of an address space,
 * `unwind_pages` the rules of a file by offset, and `unwind_rules` the rules by number.
 * Number 0 is UNWIND_NONE.
 */
#define ABI_UNWIND_REGION_BITS 16
#define ABI_UNWIND_RULES       8192
#define ABI_UNWIND_PAGE_ROWS   112
#define ABI_UNWIND_PAGE_BYTES  512 /* kernel memory of a page */
#define ABI_UNWIND_INDEX_PAGES 128 /* a power of two */

/* The key of a page. `file` is the number of the file, 1 to ABI_UNWIND_FILE_MAX.
 * `address` is any address of the region in the file's address space, below 2^47. */
#define ABI_UNWIND_FILE_MAX 0xffffff
#define ABI_UNWIND_KEY(file, address, page)                                              \
	((uint64_t)(file) << 40 | (address) >> ABI_UNWIND_REGION_BITS << 8 | (page))

/* Page 0 of a region. `count` pages follow. Page i + 1 begins at offset start[i];
 * start[0] is 0. */
struct abi_unwind_index {
	uint16_t start[ABI_UNWIND_INDEX_PAGES];
	uint64_t count;
	/* abi_control.unwind_epoch when a probe last used the region */
	uint64_t used;
	uint64_t unused[22];
};

/* Rows in ascending order of their offsets in the region. rule[i] is the number of the
 * rule from offset[i] on. Unused rows have offset 0xffff and the rule
 * of the last row. */
struct abi_unwind_page {
	uint16_t offset[ABI_UNWIND_PAGE_ROWS];
	uint16_t rule[ABI_UNWIND_PAGE_ROWS];
};
_Static_assert(sizeof(struct abi_unwind_index) == 448 &&
		       sizeof(struct abi_unwind_page) == 448,
	       "with the kernel's header, a key and a link, ABI_UNWIND_PAGE_BYTES");

/* range[i] is mapped at start[i]. The first range is empty and begins at 0, so a search
 * always finds a range. */
#define ABI_LAYOUT_RANGES     512
#define ABI_LAYOUT_PAGE_BYTES 4096
#define ABI_NOWHERE           (UINT64_MAX >> 1) /* above all addresses */

struct abi_layout_range {
	uint64_t bias; /* added to the file's addresses */
	uint32_t pages, file;
};

/* Found by its number, abi_process.layout. Never changed; a new one replaces it. */
struct abi_layout {
	uint64_t start[ABI_LAYOUT_RANGES]; /* ascending; ABI_NOWHERE after the last one */
	struct abi_layout_range range[ABI_LAYOUT_RANGES];
};

/*
 * A rule that a probe has found in the unwind tables. Probes overwrite entries without a
 * lock. Therefore the key is stored mixed with the rule (abi_mix()): an entry with
 * words of two writers is not valid.
 */
#define ABI_CACHED_RULES 16384

struct abi_cached_rule {
	uint64_t place;  /* pc, ABI_RULE_INTERRUPTED if it applies; mixed */
	uint64_t layout; /* mixed */
	uint64_t rule;
	uint64_t unused;
};

static inline uint64_t abi_mix(uint64_t rule)
{
	return rule * 0xff51afd7ed558ccdull;
}

/* --- events ----------------------------------------------------------------------- */

/* The element of `event_counts` that has the hits at this stack. The first one counts
 * hits without a stack: then all that have been used are at the start of the table. */
#define ABI_HIT_AT(stack, max_stacks) ((stack) < (max_stacks) ? (stack) + 1 : 0)

/* The allocator number of stacks that are counted for an event, and, with --growth, of
 * the stacks of mappings. */
#define ABI_EVENT_STACKS   0
#define ABI_MAPPING_STACKS 1

/* --- walks that go to the miss handler -------------------------------------------- */

/*
 * A walk that met a call site without an unwind rule. The miss handler, a thread of
 * memtrace, finishes the walk on a copy of the stack. Until then the block has
 * ABI_MISS_STACK(number) as its stack number. memtrace keeps the stack for each such
 * number.
 */
#define ABI_MISS_STACK_BIT  0x80000000u
#define ABI_MISS_STACK(n)   (ABI_MISS_STACK_BIT | (uint32_t)(n))
#define ABI_MISS_PAGES      16
#define ABI_MISS_PAGE_BYTES 4096

/* Of a thread's stack that is deeper than that, the pages from ABI_MISS_PAGES to
 * ABI_MISS_ALL_PAGES are sent as far as they are not known (struct abi_miss_far). */
#define ABI_MISS_ALL_PAGES 64

/*
 * Only the part of the stack that has changed since the previous walk is copied into the
 * ring. The probes keep the pages of that walk, and so does memtrace. Both start with
 * pages of zeros. The pages are in a room. A program claims a room for its walk, so the
 * walks of a room are in order. docs/unwinding.md, "Copies of stacks", has the reasons.
 */
#define ABI_MISS_ROOMS 4 /* for each processor; a power of two */

/*
 * The two rings of walks, elements of `misses`. The first walk of a while that lacks the
 * rule of a call site goes to ABI_MISS_RING_FIRST: it is handled before the others, which
 * probably lack the same rule. So a site is known after some of its walks, not after all
 * of those that the other ring holds. A room's walks all go to the same ring.
 */
#define ABI_MISS_RING            0
#define ABI_MISS_RING_FIRST      1
#define ABI_MISS_RINGS           2
#define ABI_MISS_ROOM_RING(room) ((room) / (ABI_MISS_ROOMS / 2) % ABI_MISS_RINGS)

/* Call sites that had a walk in ABI_MISS_RING_FIRST, by a hash; and for how long that
 * counts, as a shift of ns: 67 ms. */
#define ABI_MISS_SITES       4096
#define ABI_MISS_SITES_SHIFT 26

#define ABI_MISS_BLOCK_BYTES 64
#define ABI_MISS_BLOCKS      (ABI_MISS_PAGE_BYTES / ABI_MISS_BLOCK_BYTES) /* in a page */

/* The index in a room of the page at this address. */
#define ABI_MISS_AT(address)                                                             \
	((uint64_t)(address) / ABI_MISS_PAGE_BYTES & (ABI_MISS_PAGES - 1))

/* The kinds of records in the ring. A record begins with its kind. */
#define ABI_MISS_WALK     1
#define ABI_MISS_REPLACED 2
/* A stack that was walked to its end (struct abi_walked). It has no room and no copy. */
#define ABI_MISS_WALKED 3
#define ABI_MISS_FRAMES 4
#define ABI_MISS_FAR    5

/* abi_miss.inside, if the walk began in an allocator's function. ABI_MISS_INSIDE: `pc` is
 * in that function, which is not a frame of the stack. ABI_MISS_LEFT: the function has no
 * unwind information, and `pc` is in its caller. */
#define ABI_MISS_INSIDE 1
#define ABI_MISS_LEFT   2

struct abi_miss {
	uint32_t kind, room;
	uint64_t number;
	uint64_t time_ns; /* CLOCK_MONOTONIC ns, after the walk */
	uint64_t family;
	uint32_t process; /* slot */
	uint16_t allocator;
	/* frames that were walked, not counting the one at `pc` */
	uint16_t depth;
	uint64_t pc, sp, bp;     /* registers of the frame to continue from */
	uint32_t is_interrupted; /* 1: `pc` is not a return address */
	uint32_t inside;         /* ABI_MISS_INSIDE or ABI_MISS_LEFT; 0: neither */
	uint32_t leading;        /* frames of the kernel, before all others */
	uint16_t is_deep;        /* 1: some of the walked frames are left out */
	/* In the record of a deep stack: index of the first of the outermost frames, and
	 * their number. 0: this probe does not keep them. */
	uint8_t root_at, root_count;
	/* Valid only if depth is 0 and `inside` is not ABI_MISS_LEFT. */
	uint64_t rbx, r12, r13, r14, r15;
	/* address of the first page; its bytes below sp have no meaning */
	uint64_t base;
	/* bit i: page i after `base` could be read and is known, also far ones */
	uint64_t present;
	uint64_t replacement_count;
	/* bit n of changed[i]: block n of the room's page i has changed */
	uint64_t changed[ABI_MISS_PAGES];
	/* The changed blocks, in the order of the pages from `base` on. */
	uint8_t block[ABI_MISS_PAGES * ABI_MISS_BLOCKS][ABI_MISS_BLOCK_BYTES];
};
#define ABI_MISS_BYTES(blocks)                                                           \
	(__builtin_offsetof(struct abi_miss, block) + (blocks)*ABI_MISS_BLOCK_BYTES)

/* The most return probes that a thread can have pending (kernel/events/uprobes.c,
 * MAX_URETPROBE_DEPTH). */
#define ABI_MISS_REPLACEMENTS 64

/* A return address that a pending return probe has replaced by the trampoline's. */
struct abi_replacement {
	/* address on the stack; 0: something else is there now */
	uint64_t at;
	uint64_t return_address;
};

/* Sent before the room's next walk if that walk has replacements: at least the first
 * `replacement_count` of them. */
struct abi_miss_replaced {
	uint32_t kind, room;
	struct abi_replacement replacement[ABI_MISS_REPLACEMENTS];
};
#define ABI_MISS_REPLACED_BYTES(count)                                                   \
	(__builtin_offsetof(struct abi_miss_replaced, replacement) +                     \
	 (count) * sizeof(struct abi_replacement))

/* Sent before the room's next walk if frames were walked: at least its `leading` +
 * `depth` frames, and all elements if the stack is deep. */
struct abi_miss_frames {
	uint32_t kind, room;
	uint64_t pc[ABI_MAX_DEPTH + 1];
};

/*
 * A page beyond the first ABI_MISS_PAGES of a stack, sent before the room's next walk.
 * Outer frames seldom change: a page is not sent if the room's last page with the same
 * ABI_MISS_FAR_AT was of the same process, and had the same address and, by a hash, the
 * same contents. A process can make pages with equal hashes, but only of its own.
 */
struct abi_miss_far {
	uint32_t kind, room;
	uint64_t address;
	uint64_t words[ABI_MISS_PAGE_BYTES / 8];
};
#define ABI_MISS_FAR_AT(address)                                                         \
	((uint64_t)(address) / ABI_MISS_PAGE_BYTES & (ABI_MISS_ALL_PAGES - 1))

struct abi_miss_room {
	uint64_t owner;    /* ABI_CALLER_KEY(); 0: free */
	uint64_t words[4]; /* scratch values of the program */
	uint64_t stale;    /* bit i: memtrace does not have the contents of page[i] */
	uint64_t copied;   /* bit i: page[i] has a page of the current walk */
	uint64_t page[ABI_MISS_PAGES][ABI_MISS_PAGE_BYTES / 8];
	uint64_t fresh[ABI_MISS_PAGE_BYTES / 8];
	/* by ABI_MISS_FAR_AT: hashes of the far pages that memtrace has, 0: none; and the
	 * slots of their processes */
	uint64_t far_hash[ABI_MISS_ALL_PAGES], far_process[ABI_MISS_ALL_PAGES];
	struct abi_miss_far far;
	struct abi_miss_replaced replaced;
	struct abi_miss_frames frames;
	struct abi_miss walk;
	uint64_t next_number; /* without BPF atomics: this room's next number */
};

/*
 * The number of a room's n-th walk where no shared counter gives the numbers
 * (probes/unwind/miss.c). The rooms take turns at runs of ABI_MISS_NUMBERS numbers;
 * memtrace stores as many numbers together (unwind_miss/aliases.h).
 */
#define ABI_MISS_NUMBERS 1024
#define ABI_MISS_NUMBER(n, room, rooms)                                                  \
	(((n) / ABI_MISS_NUMBERS * (rooms) + (room)) * ABI_MISS_NUMBERS +                \
	 (n) % ABI_MISS_NUMBERS)

#endif
