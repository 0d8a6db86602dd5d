/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Count allocations and frees for each call path and each thread (traffic_record.h). An
 * event is counted at the call path that allocated its block, by the stack number of the
 * block.
 */

/* --- live bytes ------------------------------------------------------------------- */

/* What a block of this size represents, in 1/65536 blocks and in bytes; 0 without
 * sampling by bytes. */
struct estimate {
	u64 blocks, bytes;
};

ALWAYS_INLINE struct estimate estimate_of(u64 size_bytes)
{
	struct estimate e = {};
	struct abi_sample *sample = sample_of(size_bytes);

	if (sample) {
		e.blocks = sample->weight;
		e.bytes = size_bytes * sample->weight >> ABI_SAMPLE_WEIGHT_SHIFT;
	}
	return e;
}

/* Add to the live bytes of a process. */
ALWAYS_INLINE void outstanding_add(short_key slot, u64 bytes, u64 estimated_bytes, u64 ticks)
{
	struct abi_traffic_all *all = traffic_all_get();
	struct abi_process_live *own = process_live.lookup(&slot);

	if (!all || !own)
		return;
	__sync_fetch_and_add(&own->bytes, bytes);
	heap_adds(all, COUNTED(bytes, estimated_bytes), ticks);
	estimated_add(all, own, bytes, estimated_bytes, ticks);
}

ALWAYS_INLINE void outstanding_sub(short_key slot, u64 bytes, u64 estimated_bytes)
{
	struct abi_traffic_all *all = traffic_all_get();
	struct abi_process_live *own = process_live.lookup(&slot);

	if (!all || !own)
		return;
	__sync_fetch_and_add(&own->bytes, -bytes);
	heap_subtracts(all, COUNTED(bytes, estimated_bytes));
	estimated_sub(all, own, bytes, estimated_bytes);
}

/* The process ends: subtract all its live bytes. */
ALWAYS_INLINE void traffic_process_ends(short_key slot)
{
	struct abi_traffic_all *all = traffic_all_get();
	struct abi_process_live *own = process_live.lookup(&slot);

	if (!all || !own)
		return;

	u64 bytes = take_all(&own->bytes);
	u64 estimated_bytes = take_all(&own->estimated_bytes);

	__sync_fetch_and_add(&all->traced.live_bytes, -bytes);
	__sync_fetch_and_add(&all->estimated.live_bytes, -estimated_bytes);
	if (bytes)
		own->end_label = heap_changes(-(u64)COUNTED(bytes, estimated_bytes));
}

/* --- call paths ------------------------------------------------------------------- */

/* The record of a call path, or NULL. */
ALWAYS_INLINE struct abi_traffic *path_of(short_key stack)
{
	return traffic.lookup(&stack);
}

/* `bucket` is the bucket of its size, `label` is from heap_changes(). */
ALWAYS_INLINE void path_allocated(const struct abi_block *b, struct estimate e,
				  u64 bucket, u64 label)
{
	struct abi_late event = {.stack = b->stack,
				 .kind = ABI_LATE_ALLOCATED,
				 .bytes = b->size_bytes,
				 .ticks = ABI_TICKS(b->thread, b->tick),
				 .label = label};

	if (traffic_is_late(&event))
		return;

	path_changes(event.stack, label, COUNTED(b->size_bytes, e.bytes),
		     COUNTED(1, e.blocks));

	struct abi_traffic *path = path_of(event.stack);
	struct abi_flow *estimated = estimated_flow(event.stack);

	if (path) {
		u64 size = abi_path_size(bucket);

		abi_flow_allocated(&path->flow, 1, event.bytes, event.ticks, 0);
		barrier_var(size);
		__sync_fetch_and_add(&path->size[size & (ABI_PATH_SIZES - 1)], 1);
	}
	if (estimated)
		abi_flow_allocated(estimated, e.blocks, e.bytes, event.ticks,
				   ABI_SAMPLE_WEIGHT_SHIFT);
}

/* `kind` is ABI_LATE_FREED or ABI_LATE_GONE. */
ALWAYS_INLINE void path_freed(const struct abi_block *b, struct estimate e, u16 kind,
			      u8 is_temporary, u64 lifetime, u64 label)
{
	struct abi_late event = {.stack = b->stack,
				 .kind = kind,
				 .is_temporary = is_temporary,
				 .lifetime = lifetime,
				 .bytes = b->size_bytes,
				 .label = label};

	if (traffic_is_late(&event))
		return;

	path_changes(event.stack, label, -(u64)COUNTED(b->size_bytes, e.bytes),
		     -(u64)COUNTED(1, e.blocks));

	struct abi_traffic *path = path_of(event.stack);
	struct abi_flow *estimated = estimated_flow(event.stack);

	if (path) {
		abi_flow_freed(&path->flow, 1, event.bytes, is_temporary);
		barrier_var(lifetime);
		if (kind == ABI_LATE_FREED)
			__sync_fetch_and_add(
				&path->lifetime[lifetime & (ABI_LIFETIME_BUCKETS - 1)],
				1);
	}
	if (estimated)
		abi_flow_freed(estimated, e.blocks, e.bytes, is_temporary);
}

ALWAYS_INLINE void path_resized(const struct abi_block *b, u64 new_bytes, u64 ticks,
				struct estimate old, struct estimate new, u64 label)
{
	struct abi_late event = {.stack = b->stack,
				 .kind = ABI_LATE_RESIZED,
				 .bytes = new_bytes,
				 .old_bytes = b->size_bytes,
				 .ticks = ticks,
				 .label = label};

	if (traffic_is_late(&event))
		return;

	path_changes(event.stack, label,
		     COUNTED(new_bytes, new.bytes) - COUNTED(b->size_bytes, old.bytes),
		     new.blocks - old.blocks);

	struct abi_traffic *path = path_of(event.stack);
	struct abi_flow *estimated = estimated_flow(event.stack);

	if (path)
		abi_flow_resized(&path->flow, 0, b->size_bytes, new_bytes, ticks, 0);
	if (estimated)
		abi_flow_resized(estimated, new.blocks - old.blocks, old.bytes, new.bytes,
				 ticks, ABI_SAMPLE_WEIGHT_SHIFT);
}

/* --- threads ---------------------------------------------------------------------- */

ALWAYS_INLINE struct thread_record *thread_find(u64 key)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_THREAD_WAYS; i++) {
		short_key at = ABI_THREAD_AT(key, i, THREAD_SLOTS);
		struct thread_record *th = threads.lookup(&at);

		if (th && READ_ONCE(th->head.key) == key)
			return th;
	}
	return NULL;
}

/* The calling thread's record. Returns NULL, counted, if all its places are taken. */
ALWAYS_INLINE struct thread_record *thread_current(const struct tracee *t)
{
	u64 key = ABI_THREAD_KEY(t->slot, t->tid);
	struct thread_record *th = thread_find(key);

	if (th)
		return th;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_THREAD_WAYS; i++) {
		short_key at = ABI_THREAD_AT(key, i, THREAD_SLOTS);

		th = threads.lookup(&at);
		if (th && claim_word(&th->head.key, key)) {
			bpf_get_current_comm(th->head.name, sizeof(th->head.name));
			return th;
		}
	}

	struct abi_traffic_all *all = traffic_all_get();

	if (all)
		__sync_fetch_and_add(&all->threads_full, 1);
	return NULL;
}

/* Note a heap event of this thread. `key` is the key of the block that it allocated, or
 * 0. */
ALWAYS_INLINE void thread_event(struct thread_record *th, u64 key)
{
	u64 at = th->head.next_recent;

	if (at >= TEMPORARY_EVENTS)
		at = 0;
	th->recent[at] = key;
	th->head.next_recent = at + 1;
}

/* Returns 1 if the block was allocated in the thread's last heap events. */
ALWAYS_INLINE int traffic_is_temporary(const struct tracee *t, u64 key,
				       const struct abi_block *old)
{
	struct thread_record *th = ABI_TID(old->thread) == (u32)t->tid
					   ? thread_find(ABI_THREAD_KEY(t->slot, t->tid))
					   : NULL;
	u64 found = 0;

	if (!th)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < TEMPORARY_EVENTS; i++)
		found |= abi_is_set(th->recent[i] ^ key) ^ 1;
	return found;
}

/* A heap event without a tracked block. */
ALWAYS_INLINE void traffic_other_event(const struct tracee *t)
{
	struct thread_record *th = thread_find(ABI_THREAD_KEY(t->slot, t->tid));

	if (th)
		thread_event(th, 0);
}

ALWAYS_INLINE void thread_allocated(const struct tracee *t, u64 key, u64 bytes)
{
	struct thread_record *th = thread_current(t);

	if (!th)
		return;
	th->head.allocations++;
	__sync_fetch_and_add(&th->head.allocated_bytes, bytes);
	thread_event(th, key);
	/* Threads get their names after they have started. */
	if (!(th->head.allocations & (th->head.allocations - 1)))
		bpf_get_current_comm(th->head.name, sizeof(th->head.name));
}

ALWAYS_INLINE void thread_freed(const struct tracee *t, const struct abi_block *old,
				u64 blocks, u64 bytes)
{
	struct thread_record *th = thread_current(t), *owner = th;

	if (th) {
		th->head.frees += blocks;
		th->head.freed_bytes += bytes;
		if (blocks)
			thread_event(th, 0);
	}
	if (ABI_TID(old->thread) == (u32)t->tid) {
		if (th) {
			th->head.freed_own += blocks;
			th->head.freed_own_bytes += bytes;
		}
		return;
	}
	owner = thread_find(ABI_THREAD_KEY(t->slot, ABI_TID(old->thread)));
	if (owner) {
		if (blocks)
			__sync_fetch_and_add(&owner->head.freed_by_others, blocks);
		__sync_fetch_and_add(&owner->head.freed_by_others_bytes, bytes);
	}
}

/* Launder the number of a stack: much code follows. */
#define traffic_remove_paths(scratch, value)                                             \
	((value) = launder(&(scratch)->words[0], (value)))

/* --- events ----------------------------------------------------------------------- */

/* A block was added to the live table. */
ALWAYS_INLINE void traffic_allocated(const struct tracee *t, u64 key,
				     const struct abi_block *b)
{
	u64 bytes = b->size_bytes;
	u64 bucket = abi_bucket(bytes);
	short_key cpu = bpf_get_smp_processor_id() & (CPU_SLOTS - 1);
	struct abi_sizes *s = sizes.lookup(&cpu);
	struct estimate e = estimate_of(bytes);
	u64 ticks = ABI_TICKS(b->thread, b->tick);

	path_allocated(b, e, bucket, heap_changes(COUNTED(bytes, e.bytes)));
	outstanding_add(t->slot, bytes, e.bytes, ticks);
	barrier_var(bucket);
	if (s && bucket < ABI_SIZE_BUCKETS)
		__sync_fetch_and_add(&s->count[bucket], 1);
	thread_allocated(t, key, bytes);
}

/* A block was freed, or was the old block of a realloc that succeeded. */
ALWAYS_INLINE void traffic_freed(const struct tracee *t, const struct abi_block *old,
				 int is_temporary)
{
	struct abi_traffic_all *all = traffic_all_get();
	struct estimate e = estimate_of(old->size_bytes);
	u64 tick_ns = all ? all->tick_ns : 0;
	u64 ticks = tick_now();
	u64 age = ticks - ABI_TICKS(old->thread, old->tick);
	u64 lifetime = abi_lifetime_bucket(age, tick_ns);

	path_freed(old, e, ABI_LATE_FREED, is_temporary, lifetime,
		   heap_changes(-(u64)COUNTED(old->size_bytes, e.bytes)));
	outstanding_sub(t->slot, old->size_bytes, e.bytes);
	thread_freed(t, old, 1, old->size_bytes);
}

/* A block was removed from the live table, but no free was seen. */
ALWAYS_INLINE void traffic_gone(u64 key, const struct abi_block *b)
{
	struct estimate e = estimate_of(b->size_bytes);

	path_freed(b, e, ABI_LATE_GONE, 0, 0,
		   heap_changes(-(u64)COUNTED(b->size_bytes, e.bytes)));
	outstanding_sub(ABI_KEY_SLOT(key), b->size_bytes, e.bytes);
}

/* A block changed its size in place. */
ALWAYS_INLINE void traffic_resized(const struct tracee *t, const struct abi_block *old,
				   u64 bytes)
{
	struct estimate before = estimate_of(old->size_bytes), now = estimate_of(bytes);
	u64 ticks = tick_now();

	path_resized(old, bytes, ticks, before, now,
		     heap_changes(COUNTED(bytes - old->size_bytes, now.bytes - before.bytes)));
	outstanding_add(t->slot, bytes - old->size_bytes, now.bytes - before.bytes,
			ticks);
	if (bytes < old->size_bytes) {
		thread_freed(t, old, 0, old->size_bytes - bytes);
	} else {
		struct thread_record *owner =
			thread_find(ABI_THREAD_KEY(t->slot, ABI_TID(old->thread)));

		if (owner)
			__sync_fetch_and_add(&owner->head.allocated_bytes,
					     bytes - old->size_bytes);
	}
}
