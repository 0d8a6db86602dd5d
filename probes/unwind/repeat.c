/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Recognize walks that repeat the last one. A walk depends only on the initial registers,
 * on the words that it reads, and on the rules. If all of them are the same as for the
 * last walk in this room, so is the stack. The comparison takes a few instructions a
 * frame, and programs allocate in loops.
 */

/* Index into abi_scratch.words: the number of noted reads. It is larger than
 * ABI_WALK_READS if the walk depended on anything else. */
#define WALK_NOTED 4

/* Note two words that a walk read. `first_counts` is all ones if the walk depended on the
 * first word too, else 0. */
ALWAYS_INLINE void walk_note(struct walk *w, u64 address, u64 first, u64 second,
			     u64 first_counts)
{
	volatile u64 *noted = &w->words[WALK_NOTED];
	u64 n = *noted;
	struct abi_walk_read *read = &w->read[n & (ABI_WALK_READS - 1)];

	*noted = n + 1;
	read->address = (address & ~7ull) | (first_counts & 1);
	read->first = first & first_counts;
	read->second = second;
}

/* The walk depends on more than noted reads, and cannot be recognized again. */
ALWAYS_INLINE void walk_note_no_more(struct walk *w)
{
	*(volatile u64 *)&w->words[WALK_NOTED] = ABI_WALK_READS + 1;
}

ALWAYS_INLINE void walk_started(const struct walk *w, const struct tracee *t,
				u32 allocator, struct abi_walk_start *ret)
{
	ret->pc = w->regs.pc;
	ret->sp = w->regs.sp;
	ret->bp = w->regs.bp;
	ret->bp_counts = ~0ull;
	ret->whose = ABI_WHOSE(walk_family(w, t), allocator);
	ret->code_changes = w->code_changes;
}

/* Copy what a repeated walk reads from `address` on, up to its last read if that is near
 * enough. Returns the offset in the window below which two words can be read; 0 if the
 * copy failed. */
ALWAYS_INLINE u64 walk_read_again(struct walk *w, const struct abi_scratch *s,
				  u64 address)
{
	u64 end = s->read[s->read_count - 1 & ABI_WALK_READS - 1].address;
	u64 span = end - address + 2 * WINDOW_BELOW, bytes = WINDOW_BYTES;

	if (span >= WINDOW_MORE_BYTES)
		end = address;
	else if (span >= WINDOW_BYTES)
		bytes = WINDOW_MORE_BYTES;
	return walk_read_around(w, address, end, bytes) ? bytes - 15 : 0;
}

/* Index into abi_scratch.words: the number of words that were found again. */
#define WALK_FOUND 3

/* Returns 0 if the stack has the words that the last walk read. If one copy was enough,
 * store these words for walk_words_differ(). */
ALWAYS_INLINE u64 walk_reads_differ(struct walk *w, struct abi_scratch *s)
{
	volatile u64 *found = &w->words[WALK_FOUND];
	u64 count = launder(&w->words[1], s->read_count), room = 0, copies = 0,
	    differs = 0;
	s64 furthest = 0;

	*found = 0;
	LOOP (i, 0, ABI_WALK_READS, &w->words[0]) {
		const struct abi_walk_read *read = &s->read[i];
		u64 address = read->address & ~7ull, first, second;

		if (i >= count)
			break;
		if (address - w->base >= room) {
			room = launder(&w->words[6], walk_read_again(w, s, address));
			copies = launder(&w->words[1], copies + 1);
			if (address - w->base >= room) {
				differs = 1;
				break;
			}
		}
		walk_get_pair(w, address, &first, &second);
		differs = ((first ^ read->first) & -(read->address & 1)) |
			  (second ^ read->second);
		if (differs)
			break;

		u64 base = w->base, n = *found;
		struct abi_walk_word *word = &s->word[n & (ABI_WALK_WORDS - 1)];

		barrier_var(base);

		s64 at = address - base, less = furthest - at;

		barrier_var(less);
		furthest = launder(&w->words[5], furthest - (less & less >> 63));
		/* If the first word does not matter, the next read overwrites it. */
		word[0].at = at + 8;
		word[0].value = second;
		word[1].at = at;
		word[1].value = first;
		*found = n + 1 + (read->address & 1);
	}
	differs = launder(&w->words[6], differs);
	if (!differs && launder(&w->words[1], copies) == 1) {
		u64 n = *found, last = furthest + 15 | 63;
		struct abi_walk_word *word = &s->word[n & (ABI_WALK_WORDS - 1)];

		word[0] = word[1] = word[2] = s->word[0];
		s->copy_base = w->base;
		/* At least a whole window: a walk that differs continues in it. */
		s->copy_last = last < WINDOW_BYTES ? WINDOW_BYTES - 1 : last;
		s->word_count = n;
	}
	return differs;
}

/* The same by the stored words, which is faster. */
ALWAYS_INLINE u64 walk_words_differ(struct walk *w, struct abi_scratch *s)
{
	u64 count = s->word_count, differs = 0;

	w->base = s->copy_base;
	if (bpf_probe_read_user(w->window, (s->copy_last & (ABI_SCRATCH_BYTES - 1)) + 1,
				(void *)w->base)) {
		w->base = 0;
		return 1;
	}
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_WALK_WORDS; i += 4) {
		const struct abi_walk_word *word = &s->word[i];

		if (i >= count)
			break;
#pragma unroll
		for (u32 k = 0; k < 4; k++)
			differs |=
				w->window[word[k].at >> 3 & (ABI_SCRATCH_BYTES / 8 - 1)] ^
				word[k].value;
		if (differs)
			break;
	}
	return differs;
}

/* The number of the last walk's stack if this walk would give the same one, else
 * ABI_NO_STACK. */
ALWAYS_INLINE u32 walk_repeats(struct walk *w, struct abi_scratch *s,
			       const struct abi_walk_start *start)
{
	u64 differs = (start->pc ^ s->start.pc) | (start->sp ^ s->start.sp) |
		      ((start->bp ^ s->start.bp) & s->start.bp_counts) |
		      (start->whose ^ s->start.whose) |
		      (start->code_changes ^ s->start.code_changes);

	differs |= walk_rules_doubted(w, start);
	barrier_var(differs);
	if (!differs)
		differs =
			s->word_count ? walk_words_differ(w, s) : walk_reads_differ(w, s);
	differs |= walk_rules_changed(w, start);
	/* Hide from the verifier how far the comparison went. */
	w->base = launder(&w->words[5], w->base);
	return launder(&w->words[6], differs) ? ABI_NO_STACK : s->number;
}

/* Remember the walk that began with `start` and gave the stack `number`. */
ALWAYS_INLINE void walk_remember(const struct walk *w, struct abi_scratch *s,
				 const struct abi_walk_start *start, u32 number)
{
	u64 noted = *(volatile u64 *)&w->words[WALK_NOTED];

	/* Do not remember walks that failed: the memory may be readable the next time, or
	 * the rule be known. Each failed walk is counted. Nor walks whose stack has only
	 * the number of a miss, which memtrace keeps only while a block has it. */
	if (noted >= ABI_WALK_READS || number & ABI_MISS_STACK_BIT ||
	    w->end == ABI_END_UNREADABLE || w->end == ABI_END_NO_RULE) {
		s->start.pc = 0;
		return;
	}
	s->start = *start;
	s->start.bp_counts = w->bp_counts;
	s->number = number;
	s->read_count = noted;
	s->word_count = 0;
}
