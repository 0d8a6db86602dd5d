/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Stacks with more frames than a record has room for: the walk continues to the root. The
 * last WALK_ROOT places of the record are a ring, which the walk fills once in each lap.
 * A copy of the previous lap is kept, so that the WALK_ROOT outermost frames are
 * available wherever the walk ends. Without may_goto (loops/plain.c), and if the limit is
 * too low for it, the stack ends at the limit.
 */

/* Indices into abi_scratch.words: the number of full laps; the number of the first frame
 * after the gap, 0: no gap; the frames of two laps. */
#define WALK_LAPS 7
#define WALK_GAP  8
#define WALK_TURN ABI_WORDS_TURN

#define WALK_LEAF (WALK_DEPTH - WALK_ROOT)

#if WALK_ROOT > 0

/* The number of further frames that a walk visits. */
#define WALK_FURTHER 2048

/* The round after the last frame is for walk_turn(). */
#define WALK_ROUNDS (WALK_DEPTH + 1)

ALWAYS_INLINE void walk_deep_begin(struct walk *w)
{
	*(volatile u64 *)&w->words[WALK_LAPS] = 0;
	*(volatile u64 *)&w->words[WALK_GAP] = 0;
}

/* The ring is full: copy it, and begin the next lap. Returns 0 if the walk has visited
 * WALK_FURTHER further frames. */
ALWAYS_INLINE u64 walk_turn(struct walk *w, const u64 *pcs)
{
	volatile u64 *laps = &w->words[WALK_LAPS];

	bpf_probe_read_kernel(&w->words[WALK_TURN], WALK_ROOT * 8, &pcs[WALK_LEAF]);
	*laps = *laps + 1;
	return *laps <= WALK_FURTHER / WALK_ROOT;
}

/* The walk has ended. If it filled the ring, put the WALK_ROOT outermost frames in order
 * behind the innermost ones. A walk that missed goes to the miss handler without the
 * frame at which it missed. A walk that ended before the root keeps only the innermost
 * frames. */
ALWAYS_INLINE void walk_close_gap(struct walk *w, u64 *pcs, u64 leading)
{
	u64 *turn = &w->words[WALK_TURN];

	if (!*(volatile u64 *)&w->words[WALK_LAPS])
		return;

	u64 missed = walk_missed(w);

	if (missed || w->end == ABI_END_COMPLETE || w->end == ABI_END_NO_FRAME) {
		u64 newest = w->depth - WALK_LEAF - missed;

		newest = launder(&w->words[2], newest) & (2 * ABI_ROOT_FRAMES_MAX - 1);
		bpf_probe_read_kernel(turn + WALK_ROOT, WALK_ROOT * 8, &pcs[WALK_LEAF]);
		bpf_probe_read_kernel(&pcs[WALK_LEAF], WALK_ROOT * 8, turn + newest);
		w->depth = WALK_DEPTH;
		*(volatile u64 *)&w->words[WALK_GAP] = leading + WALK_LEAF;
	} else {
		w->depth = WALK_LEAF;
	}
	w->depth = launder(&w->words[2], w->depth);
	w->end = launder(&w->words[2], w->end);
}

/* Hash only the frames that are kept; the walk has hashed all frames. `w->depth` includes
 * the kernel's frames. */
ALWAYS_INLINE void walk_hash_again(struct walk *w, const struct abi_scratch *s,
				   u32 allocator)
{
	if (!*(volatile u64 *)&w->words[WALK_LAPS])
		return;
	abi_stack_hash_begin(&w->h, s->walked.family, allocator,
			     run_value(ABI_RUN_STACK_SEED));

	u64 depth = launder(&w->words[2], w->depth);

	LOOP (i, 0, STACK_DEPTH, &w->words[1]) {
		if (i >= depth)
			break;
		abi_stack_hash_step(&w->h, s->walked.pc[i]);
	}
}

#else

#define WALK_ROUNDS WALK_DEPTH

/* No frames are left out. */
ALWAYS_INLINE void walk_deep_begin(struct walk *w)
{
	*(volatile u64 *)&w->words[WALK_GAP] = 0;
}

#define walk_turn(w, pcs)                0
#define walk_close_gap(w, pcs, leading)  ((void)0)
#define walk_hash_again(w, s, allocator) ((void)0)

#endif

/* The index of the first frame after the gap; 0: no frames are left out. */
ALWAYS_INLINE u64 walk_gap(const struct walk *w)
{
	return *(volatile u64 *)&w->words[WALK_GAP];
}
