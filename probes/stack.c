/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths. The hot part walks and hashes only; a path that was not seen before is
 * walked again, straight into its record.
 */

#define WINDOW_BYTES ABI_SCRATCH_BYTES

struct walk {
	struct unwind_regs regs;
	u64 base; /* address in the target of window[0]; 0: nothing copied yet */
	u64 hash, check;
	u32 depth, end;
	u64 *window; /* of an abi_scratch */
};

/* Claim room for a walk; NULL, and counted, when all of it is taken. */
ALWAYS_INLINE struct abi_scratch *scratch_claim(u64 tid)
{
	u32 first = (bpf_get_smp_processor_id() & (CPU_SLOTS - 1)) * ABI_SCRATCH_WAYS;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_SCRATCH_WAYS; i++) {
		u32 at = first + i;
		struct abi_scratch *s = scratch.lookup(&at);

		if (s && __sync_val_compare_and_swap(&s->owner, 0, tid) == 0)
			return s;
	}
	count(ABI_SCRATCH_FULL, 1);
	return NULL;
}

/* Get the two words at `address`; 0 when they cannot be read. The window ends with the
 * page of the second word at the latest: reading past the end of the stack costs
 * microseconds. Little branches, or the verifier follows too many paths. */
ALWAYS_INLINE int walk_read_pair(struct walk *w, u64 address, u64 *first, u64 *second)
{
	if (address - w->base > WINDOW_BYTES - 16) {
		u64 last = ((address + 8) | (MEMTRACE_PAGE_SIZE - 1)) + 1 - WINDOW_BYTES;
		s64 over = (address & ~63ull) - last;

		/* The lower of `last` and the line that `address` is in. */
		w->base = last + (over & over >> 63);
		if (bpf_probe_read_user(w->window, WINDOW_BYTES, (void *)w->base))
			return 0;
	}

	u64 at = (address - w->base) >> 3 & (WINDOW_BYTES / 8 - 1);

	*first = w->window[at];
	*second = w->window[at + 1];
	return 1;
}

/* `owner`: what tells stacks of equal addresses apart. */
ALWAYS_INLINE void walk_begin(struct walk *w, struct pt_regs *ctx, u64 *window, u64 owner)
{
	w->window = window;
	w->regs.pc = REG_PC(ctx);
	w->regs.sp = REG_SP(ctx);
	u64 bp = REG_FP(ctx);

	/* A value, not an address: the compiler must not select where to load from, as a
	 * probe's context cannot be indexed. */
	__asm__ __volatile__("" : "+r"(bp));
	w->regs.bp = bp;
	w->base = 0;
	w->hash = owner;
	w->check = owner;
	w->depth = 0;
	w->end = ABI_END_DEPTH;
}

/* Walk to the end; into `record` when it is not NULL. */
ALWAYS_INLINE void walk_run(struct walk *w, struct stack_record *record)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < STACK_DEPTH; i++) {
		u64 saved_bp, return_address, pc = w->regs.pc;

		if (record)
			record->pc[i] = pc;
		w->hash = (w->hash ^ pc) * 0x9e3779b97f4a7c15ull;
		w->hash ^= w->hash >> 32;
		w->check = (w->check + pc) * 0xd6e8feb86659fd93ull;
		w->check = w->check << 31 | w->check >> 33;
		w->depth = i + 1;

		if (!unwind_fp_usable(&w->regs)) {
			/* Also with 0, the end of a chain: code without frame
			 * pointers may hold a 0 there as well. */
			w->end = ABI_END_NO_FRAME;
			break;
		}
		if (!walk_read_pair(w, w->regs.bp, &saved_bp, &return_address)) {
			w->end = ABI_END_UNREADABLE;
			break;
		}
		if (!unwind_step_fp(&w->regs, saved_bp, return_address)) {
			w->end = ABI_END_COMPLETE;
			break;
		}
	}
}

/* The number of the stack with this hash in one bucket, or ABI_NO_STACK. */
ALWAYS_INLINE u32 stack_find_in(struct abi_stack_bucket *b, u64 tag, u64 check)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		u64 word = b->word[i];

		if (word >> ABI_STACK_NUMBER_BITS == tag) {
			u32 number = word & ABI_STACK_NUMBER_MASK;
			struct stack_record *s = stacks.lookup(&number);

			if (s && s->head.check == check)
				return number;
		}
	}
	return ABI_NO_STACK;
}

/* Publish `number` in a free word of the bucket. Another processor may have published
 * the same stack meanwhile: then its number. ABI_NO_STACK: the bucket is full. */
ALWAYS_INLINE u32 stack_publish_in(struct abi_stack_bucket *b, u64 tag, u64 check,
				   u32 number)
{
	u64 mine = tag << ABI_STACK_NUMBER_BITS | number;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ABI_STACK_WAYS; i++) {
		u64 word = b->word[i];

		if (word == 0)
			word = __sync_val_compare_and_swap(&b->word[i], 0, mine);
		if (word == 0)
			return number;
		if (word >> ABI_STACK_NUMBER_BITS == tag) {
			u32 other = word & ABI_STACK_NUMBER_MASK;
			struct stack_record *s = stacks.lookup(&other);

			if (s && s->head.check == check)
				return other;
		}
	}
	return ABI_NO_STACK;
}

ALWAYS_INLINE u32 stack_walk(const struct tracee *t, struct pt_regs *ctx, u64 *window,
			     u32 allocator)
{
	struct abi_control *ctl = t->ctl;
	u64 owner = (u64)t->slot << 8 | allocator;
	struct walk w;

	walk_begin(&w, ctx, window, owner);
	walk_run(&w, NULL);

	u64 check = w.check | 1, hash = w.hash, tag = hash >> ABI_STACK_NUMBER_BITS | 1;
	u32 at1 = abi_live_hash(hash, STACK_BUCKETS, 0);
	u32 at2 = abi_live_hash(hash, STACK_BUCKETS, 1);
	struct abi_stack_bucket *b1 = stack_index.lookup(&at1);
	struct abi_stack_bucket *b2 = stack_index.lookup(&at2);

	if (!b1 || !b2)
		return ABI_NO_STACK;

	u32 number = stack_find_in(b1, tag, check);

	if (number == ABI_NO_STACK)
		number = stack_find_in(b2, tag, check);
	if (number != ABI_NO_STACK)
		return number;

	if (ctl->stacks_used >= MAX_STACKS) {
		count(ABI_STACKS_FULL, 1);
		return ABI_NO_STACK;
	}

	u64 next = __sync_fetch_and_add(&ctl->stacks_used, 1);

	number = next;

	struct stack_record *record = next < MAX_STACKS ? stacks.lookup(&number) : NULL;

	if (!record) {
		count(ABI_STACKS_FULL, 1);
		return ABI_NO_STACK;
	}
	walk_begin(&w, ctx, window, owner);
	walk_run(&w, record);
	record->head.process = t->slot;
	record->head.allocator = allocator;
	record->head.depth = w.depth;
	record->head.end = w.end;
	publish(&record->head.check, check);
	if (w.end == ABI_END_DEPTH)
		count(ABI_STACKS_TRUNCATED, 1);
	if (w.end == ABI_END_UNREADABLE)
		count(ABI_STACKS_UNREADABLE, 1);

	u32 published = stack_publish_in(b1, tag, check, number);

	if (published == ABI_NO_STACK)
		published = stack_publish_in(b2, tag, check, number);
	/* Give the record back when another processor was first; when a third one took
	 * the next number meanwhile, the record stays unused. */
	if (published != number)
		__sync_val_compare_and_swap(&ctl->stacks_used, next + 1, next);
	if (published == ABI_NO_STACK)
		count(ABI_STACKS_FULL, 1);
	return published;
}

/* The number of the call path that `ctx` returns into, from a call of the allocator of
 * this number. */
ALWAYS_INLINE u32 stack_intern(const struct tracee *t, struct pt_regs *ctx, u32 allocator)
{
	struct abi_scratch *s = scratch_claim(t->tid);

	if (!s)
		return ABI_NO_STACK;

	u32 number = stack_walk(t, ctx, s->window, allocator);

	publish(&s->owner, 0);
	return number;
}
