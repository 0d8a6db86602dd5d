/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Search the unwind rules of whole files (abi_walk.h). Only for kernels with may_goto:
 * without it the verifier would follow the search anew for each frame. The searches have
 * no branches, because the verifier would follow both sides of each.
 */

struct layout_bytes {
	u64 words[sizeof(struct abi_layout) / 8];
};
struct unwind_page_bytes {
	u64 words[sizeof(struct abi_unwind_page) / 8];
};

/* Kernels with may_goto allow such hashes in perf event programs, too. */
BPF_F_TABLE("hash", u64, struct layout_bytes, layouts, ENTRIES(LAYOUTS),
	    BPF_F_NO_PREALLOC);
BPF_F_TABLE("hash", u64, struct unwind_page_bytes, unwind_pages, ENTRIES(UNWIND_PAGES),
	    BPF_F_NO_PREALLOC);
BPF_F_TABLE("array", u32, u64, unwind_rules, ABI_UNWIND_RULES, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_cached_rule, cached_rules, ABI_CACHED_RULES, 0);

/* Search the tables of the layout that the process has now. */
#define walk_takes_layout(w) ((w)->layout = (w)->process->layout)

/* 1 if a <= b, else 0. Both must be below 2^63. */
ALWAYS_INLINE u64 at_most(u64 a, u64 b)
{
	u64 difference = b - a;

	barrier_var(difference);
	return ~difference >> 63;
}

/*
 * The index of the last of `count` ascending numbers that is at most `value`. The first
 * number must be at most `value`. `steps` is a power of two, and 2 * steps numbers must
 * be readable. `words` points to two scratch words for the loop.
 */
#define SEARCH(type, numbers, count, steps, value, words)                                \
	({                                                                               \
		u64 found_ = launder(&(words)[0], 0);                                     \
                                                                                         \
		_Pragma("clang loop unroll(disable)") for (                              \
			u64 step_ = launder(&(words)[1], (steps));                        \
			step_ && loop_goes_on(); step_ = launder(&(words)[1], step_ >> 1)) \
		{                                                                        \
			u64 next_ = found_ + step_;                                      \
			u64 at_ = next_;                                                 \
                                                                                         \
			barrier_var(at_);                                                     \
			at_ &= 2 * (steps)-1;                                            \
                                                                                         \
			u64 number_ = ((const volatile type *)(numbers))[at_];           \
			u64 is_next_ = at_most(number_, (value)) &                       \
				       at_most(next_ + 1, (count));                      \
                                                                                         \
			found_ = launder(&(words)[0], found_ + (step_ & -is_next_));      \
		}                                                                        \
		found_;                                                                  \
	})

/* Index into abi_scratch.words: two words for SEARCH(). */
#define SEARCH_WORDS 5

/* The rule for an address of a file, or UNWIND_NONE. */
ALWAYS_INLINE u64 table_rule_of(const struct walk *w, const struct tracee *t, u64 file,
				u64 address)
{
	u64 key = ABI_UNWIND_KEY(file, address, 0);
	u64 offset = address & ((1 << ABI_UNWIND_REGION_BITS) - 1);
	struct abi_unwind_index *index = 
		(struct abi_unwind_index *)unwind_pages.lookup(walk_key(w, key));

	if (!index)
		return UNWIND_NONE;

	u64 epoch = t->ctl->unwind_epoch, count = index->count;

	/* Store only a new value: a store takes the cache line from other processors. */
	if (index->used != epoch)
		index->used = epoch;
	barrier_var(count);
	key += SEARCH(u16, index->start, count, ABI_UNWIND_INDEX_PAGES / 2, offset,
		      &w->words[SEARCH_WORDS]) + 1;

	struct abi_unwind_page *page =
		(struct abi_unwind_page *)unwind_pages.lookup(walk_key(w, key));

	if (!page)
		return UNWIND_NONE;

	u64 row = SEARCH(u16, page->offset, ABI_UNWIND_PAGE_ROWS, 64, offset,
			 &w->words[SEARCH_WORDS]);

	barrier_var(row);
	row &= 127;
	/* `rule` follows `offset`, so each row below this bound is inside the map's
	 * value. */
	if (row >= ABI_UNWIND_PAGE_ROWS)
		return UNWIND_NONE;

	u64 *rule = unwind_rules.lookup(walk_key(w, page->rule[row]));

	return rule ? *rule : UNWIND_NONE;
}

/* The rule for an address of the process's code, or UNWIND_NONE. */
ALWAYS_INLINE u64 table_search(const struct walk *w, const struct tracee *t, u64 at)
{
	struct abi_layout *layout =
		(struct abi_layout *)layouts.lookup(walk_key(w, w->layout));

	if (!layout)
		return UNWIND_NONE;

	u64 n = SEARCH(u64, layout->start, ABI_LAYOUT_RANGES, 256, at,
		       &w->words[SEARCH_WORDS]);

	barrier_var(n);
	n &= ABI_LAYOUT_RANGES - 1;

	u64 start = layout->start[n];
	struct abi_layout_range *range = &layout->range[n];

	if (at - start >= (u64)range->pages * ABI_LAYOUT_PAGE_BYTES)
		return UNWIND_NONE;
	return table_rule_of(w, t, range->file, at - range->bias);
}

/* The element of `cached_rules` where a frame's rule may be. */
ALWAYS_INLINE volatile struct abi_cached_rule *cached_at(const struct walk *w, u64 place)
{
	u64 n = abi_rule_at(place ^ w->layout << 40, ABI_CACHED_RULES);

	return cached_rules.lookup(walk_key(w, n));
}

/* The cached rule of a frame, or UNWIND_NONE. `place` is the pc with
 * ABI_RULE_INTERRUPTED. */
ALWAYS_INLINE u64 cached_find(const struct walk *w, u64 place)
{
	volatile struct abi_cached_rule *cached = cached_at(w, place);

	if (!cached)
		return UNWIND_NONE;

	u64 rule = cached->rule, mixed = abi_mix(rule);

	return unless((cached->place ^ mixed ^ place) |
			      (cached->layout ^ abi_mix(rule ^ place) ^ w->layout),
		      rule);
}

/* Find the rule of the walk's frame in the unwind tables, and store it for cached_find().
 * Returns 0 if the tables do not have it. */
ALWAYS_INLINE int cached_fill(const struct walk *w, const struct tracee *t)
{
	u64 place = w->regs.pc ^ w->interrupted;
	u64 rule = table_search(w, t, w->regs.pc - 1 + (w->interrupted >> 63));

	rule = unless(unless(rule ^ UNWIND_RULE_CALLED, w->interrupted), rule);

	u64 mixed = abi_mix(rule);
	volatile struct abi_cached_rule *cached = cached_at(w, place);

	/* A missing rule is not cached: memtrace may add it to the tables later. */
	if (rule == UNWIND_NONE || !cached)
		return 0;
	cached->place = place ^ mixed;
	cached->layout = w->layout ^ abi_mix(rule ^ place);
	cached->rule = rule;
	return 1;
}
