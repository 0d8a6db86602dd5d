/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Send walks that met a call site without an unwind rule to the miss handler, with a copy
 * of the stack (abi_walk.h), and whole stacks that the tables lack a part for. The
 * verifier follows this code once for each page of the copy. Therefore it has almost no
 * branches, and its values are laundered. */

/* --- the copy --------------------------------------------------------------------- */

/* Append the blocks of page `at` that differ from `fresh` to the `count` blocks of the
 * walk, and copy `fresh` to the page. Returns the new count. */
ALWAYS_INLINE u64 miss_compare(struct abi_miss_room *r, u64 at, u64 count)
{
	u64 *was = r->page[at], *is = r->fresh, changed = 0;
	u64 stale = -(r->stale >> at & 1);

	LOOP(i, 0, ABI_MISS_BLOCKS, &r->words[1])
	{
		u64 *from = is + i * (ABI_MISS_BLOCK_BYTES / 8);
		u64 *kept = was + i * (ABI_MISS_BLOCK_BYTES / 8);
		u64 *to = (u64 *)r->walk
				  .block[count & (ABI_MISS_PAGES * ABI_MISS_BLOCKS - 1)];
		u64 differs = stale;

		/* Keep these as addresses. Otherwise each access computes its own one,
		 * because the offsets do not fit into an instruction. */
		barrier_var(from);
		barrier_var(kept);
		barrier_var(to);
#pragma unroll
		for (int k = 0; k < ABI_MISS_BLOCK_BYTES / 8; k++) {
			u64 word = from[k];

			differs |= word ^ kept[k];
			kept[k] = word;
			to[k] = word;
		}
		differs |= -differs;
		/* Otherwise the compiler would compare and branch. */
		barrier_var(differs);
		differs >>= 63;
		changed |= differs << i;
		count = ROUND(&r->words[0], count + differs);
	}
	r->walk.changed[at] = changed;
	return launder(&r->words[0], count);
}

/* Copy the part of the stack from `sp` on that has changed, the first ABI_MISS_PAGES of
 * its `pages` pages. Returns the number of blocks. A page that was never touched cannot
 * be read; its copy is all zeros. */
ALWAYS_INLINE u64 miss_copy(struct abi_miss_room *r, u64 sp, u64 pages)
{
	u64 base = sp & -(u64)ABI_MISS_PAGE_BYTES;
	u64 unused = sp & (ABI_MISS_PAGE_BYTES - ABI_MISS_BLOCK_BYTES);
	u64 count = 0, present = 0, copied = 0;

	__builtin_memset(r->walk.changed, 0, sizeof(r->walk.changed));
	pages = launder(&r->words[1], pages);
	LOOP(i, 0, ABI_MISS_PAGES, &r->words[1])
	{
		u64 page = base + i * ABI_MISS_PAGE_BYTES;
		u64 at = launder(&r->words[2], ABI_MISS_AT(page)) & (ABI_MISS_PAGES - 1);

		if (i >= pages)
			break;

		s64 failed =
			bpf_probe_read_user(r->fresh, ABI_MISS_PAGE_BYTES, (void *)page);

		barrier_var(failed);
		present |= (~(u64)failed >> 63) << i;
		/* The part below sp does not matter: treat it as unchanged. */
		if (i == 0)
			bpf_probe_read_kernel(r->fresh, unused, r->page[at]);
		count = miss_compare(r, at, count);
		copied |= 1ull << at;
	}
	r->copied = copied;
	r->walk.base = base;
	r->walk.present = present;
	return launder(&r->words[3], count);
}

/* --- return addresses and frames -------------------------------------------------- */

/* The bounds of the next functions are checked where the verifier needs to see them. */

/* Send the replaced return addresses, if there are any. Returns 0 if the ring has no
 * room. */
ALWAYS_INLINE int miss_send_replaced(void *ring, struct abi_miss_room *r)
{
	u64 count = miss_replacements(r), bytes;

	r->walk.replacement_count = count;
	if (!count)
		return 1;
	r->replaced.kind = ABI_MISS_REPLACED;
	r->replaced.room = r->walk.room;
	bytes = ABI_MISS_REPLACED_BYTES(count);
	barrier_var(bytes);
	return bytes <= sizeof(r->replaced) &&
	       !bpf_ringbuf_output(ring, &r->replaced,
				   SEND_BYTES(bytes, sizeof(r->replaced)), 0);
}

/* Send the frames that were walked, if there are any. Returns 0 if the ring has no
 * room. */
ALWAYS_INLINE int miss_send_frames(void *ring, struct abi_miss_room *r,
				   const struct abi_scratch *s)
{
	const struct abi_miss *m = &r->walk;
	u64 count = m->leading + m->depth, bytes;

	if (m->is_deep || count > ABI_MAX_DEPTH + 1)
		count = ABI_MAX_DEPTH + 1;
	if (!count)
		return 1;
	r->frames.kind = ABI_MISS_FRAMES;
	r->frames.room = m->room;
	bytes = count * 8;
	barrier_var(bytes);
	if (bytes > sizeof(r->frames.pc))
		return 0;
	bpf_probe_read_kernel(r->frames.pc, SEND_BYTES(bytes, sizeof(r->frames.pc)),
			      s->walked.pc);
	bytes += __builtin_offsetof(struct abi_miss_frames, pc);
	return !bpf_ringbuf_output(ring, &r->frames, SEND_BYTES(bytes, sizeof(r->frames)),
				   0);
}

/* --- the walk --------------------------------------------------------------------- */

/* If the walk got no farther than this above its first frame, the miss handler starts
 * again there: all registers are known only in the first frame. */
#define MISS_REWALK_BYTES 16384

/* Set where the miss handler starts. */
ALWAYS_INLINE void miss_start(struct abi_miss *m, const struct walk *w,
			      struct pt_regs *ctx)
{
	u64 start = REG_SP(ctx), pc = REG_PC(ctx), bp = REG_FP(ctx), rbx = ctx->bx,
	    r12 = ctx->r12, r13 = ctx->r13, r14 = ctx->r14, r15 = ctx->r15;

	m->leading = w->leading;
	m->is_deep = 0;
	m->root_at = 0;
	m->root_count = WALK_ROOT;
	if (WALK_ROOT)
		m->root_at = m->leading + WALK_LEAF;
	m->rbx = rbx;
	m->r12 = r12;
	m->r13 = r13;
	m->r14 = r14;
	m->r15 = r15;
	if (w->regs.sp - start <= MISS_REWALK_BYTES) {
		m->depth = 0;
		m->pc = pc;
		m->sp = start;
		m->bp = bp;
		m->is_interrupted = WALK_EXACT || w->inside != 0;
		m->inside = w->inside ? ABI_MISS_INSIDE : 0;
		if (w->left.pc) {
			m->pc = w->left.pc;
			m->sp = w->left.sp;
			m->bp = w->left.bp;
			m->is_interrupted = 0;
			m->inside = ABI_MISS_LEFT;
		}
	} else {
		m->is_deep = walk_gap(w) != 0;
		/* The frame of `pc` is not counted. walk_close_gap() has already left it
		 * out of a deep stack. */
		m->depth = w->depth - !m->is_deep;
		m->pc = w->regs.pc;
		m->sp = w->regs.sp;
		m->bp = w->regs.bp;
		m->is_interrupted = w->interrupted != 0;
		m->inside = 0;
	}
}

/* Send the walk. Returns its ABI_MISS_STACK() number, or ABI_NO_STACK if it cannot be
 * sent. */
ALWAYS_INLINE u32 miss_copy_and_send(struct abi_miss_room *r, const struct tracee *t,
				     struct pt_regs *ctx, const struct walk *w,
				     const struct abi_scratch *s, u32 allocator)
{
	struct abi_miss *m = &r->walk;
	short_key which = ABI_MISS_ROOM_RING(m->room);
	void *ring = misses.lookup(&which);

	if (!ring)
		return ABI_NO_STACK;
	m->kind = ABI_MISS_WALK;
	m->process = t->slot;
	m->family = s->walked.family;
	m->allocator = allocator;
	miss_start(m, w, ctx);
	if (!miss_send_replaced(ring, r) || !miss_send_frames(ring, r, s))
		return ABI_NO_STACK;

	u64 number = miss_number(r, t->ctl);

	if (!miss_number_fits(number)) {
		__sync_fetch_and_add(&t->ctl->misses_lost, 1);
		return ABI_NO_STACK;
	}

	u64 pages = launder(&r->words[0], miss_page_count(m->sp));

	u64 far = miss_send_far(ring, r, m->sp, pages);
	u64 blocks = miss_copy(r, m->sp, pages);

	m->present |= far;
	m->number = number;
	m->time_ns = bpf_ktime_get_ns();
	if (blocks > ABI_MISS_PAGES * ABI_MISS_BLOCKS ||
	    bpf_ringbuf_output(ring, m, ABI_MISS_BYTES(blocks), 0)) {
		r->stale |= r->copied;
		__sync_fetch_and_add(&t->ctl->misses_lost, 1);
		return ABI_NO_STACK;
	}
	r->stale &= ~r->copied;
	return ABI_MISS_STACK(number);
}

/* Send the walk to the miss handler. Returns its ABI_MISS_STACK() number, or
 * ABI_NO_STACK, counted, if all rooms are taken or the ring is full. */
ALWAYS_INLINE u32 miss_send(const struct tracee *t, struct pt_regs *ctx,
			    const struct walk *w, const struct abi_scratch *s,
			    u32 allocator)
{
	u64 ring = launder_by(t->caller, miss_ring_of(t->slot, w->regs.pc));
	struct abi_miss_room *r = miss_claim(t->caller, ring);
	u32 number = ABI_NO_STACK;

	if (r) {
		number = miss_copy_and_send(r, t, ctx, w, s, allocator);
		store_release(&r->owner, 0);
	}
	if (number != ABI_NO_STACK)
		return number;
	if (t->ctl->misses_over_budget)
		count(ABI_WALKS_OVER_BUDGET, 1);
	else
		count(ABI_WALKS_LOST, 1);
	return number;
}

/* --- whole stacks ----------------------------------------------------------------- */

/* Send a stack that was walked to its end, but that the tables lack a part for. Returns
 * its ABI_MISS_STACK() number, or ABI_NO_STACK if it cannot be sent. */
ALWAYS_INLINE u32 miss_send_walked(const struct tracee *t, const struct walk *w,
				   struct abi_scratch *s, u32 allocator)
{
	u64 number = 0, bytes = ABI_WALKED_BYTES(w->depth);
	short_key which = ABI_MISS_RING;
	void *ring = misses.lookup(&which);

	if (!ring || !miss_number_alone(t, &number))
		return ABI_NO_STACK;
	s->walked.kind = ABI_MISS_WALKED;
	s->walked.depth = w->depth;
	s->walked.gap = walk_gap(w);
	s->walked.end = w->end;
	s->walked.allocator = allocator;
	s->walked.number = number;
	/* The verifier needs to see this bound here. */
	barrier_var(bytes);
	if (!miss_number_fits(number) || bytes > ABI_WALKED_BYTES(STACK_DEPTH) ||
	    bpf_ringbuf_output(ring, &s->walked,
			       SEND_BYTES(bytes, ABI_WALKED_BYTES(STACK_DEPTH)), 0)) {
		__sync_fetch_and_add(&t->ctl->misses_lost, 1);
		return ABI_NO_STACK;
	}
	return ABI_MISS_STACK(number);
}
