// SPDX-License-Identifier: Apache-2.0
#include "bpf/drain.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <linux/bpf.h>

#include "abi.h"
#include "bpf/syscall.h"
#include "bpf/mapped.h"
#include "util/cleanup.h"
#include "util/hashmap.h"

_Static_assert((int)STACK_END_COMPLETE == ABI_END_COMPLETE, "same numbers");
_Static_assert((int)STACK_END_DEPTH == ABI_END_DEPTH, "same numbers");
_Static_assert((int)STACK_END_NO_FRAME == ABI_END_NO_FRAME, "same numbers");
_Static_assert((int)STACK_END_UNREADABLE == ABI_END_UNREADABLE, "same numbers");

struct drain {
	const struct drain_maps *maps;
	const struct source_sizes *sizes;
	uint64_t attach_ns;
	struct snapshot *snap;
	struct abi_control *control;
	/* Blocks that are not in a bucket's run: address to index in snap->blocks. */
	struct hashmap others;
	/* Where the blocks of each bucket begin in snap->blocks: a block that moved to
	 * its other bucket while we read is found there. One more than buckets. */
	uint32_t *first_of_bucket;
};

uint64_t drain_tick_ns(uint64_t attach_ns, uint64_t now_ns, uint32_t tick)
{
	uint64_t now = (now_ns - attach_ns) >> ABI_TICK_SHIFT;
	uint64_t then = (now & ~(uint64_t)UINT32_MAX) | tick;

	if (then > now && then > UINT32_MAX)
		then -= (uint64_t)UINT32_MAX + 1;
	return attach_ns + (then << ABI_TICK_SHIFT);
}

/* Ticks are rounded down, to before the first block could be made. */
static uint64_t block_time_ns(const struct drain *d, uint32_t tick)
{
	uint64_t time_ns = drain_tick_ns(d->attach_ns, d->snap->time_ns, tick);

	return time_ns < d->snap->attached_ns ? d->snap->attached_ns : time_ns;
}

static struct snapshot_block block_from(const struct drain *d, uint64_t address,
					const struct abi_block *b)
{
	return (struct snapshot_block){
		.address = address,
		.size_bytes = b->size_bytes,
		.time_ns = block_time_ns(d, b->tick),
		.stack = b->stack < d->sizes->max_stacks ? b->stack : SNAPSHOT_NO_STACK,
		.tid = b->tid,
	};
}

/* --- the table -------------------------------------------------------------------- */

/* Read one slot until two readings agree; false when it is empty. */
static bool read_slot(const struct abi_live_bucket *bucket, int way, uint64_t *key,
		      struct abi_block *block)
{
	const volatile uint64_t *at = &bucket->key[way];
	const volatile struct abi_live_entry *entry = &bucket->entry[way];

	for (;;) {
		uint64_t k = *at;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (k == 0 || k == ABI_LIVE_CLAIMED)
			return false;

		struct abi_live_entry a = {entry->size_bytes, entry->stack, entry->tid,
					   entry->tick};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		struct abi_live_entry b = {entry->size_bytes, entry->stack, entry->tid,
					   entry->tick};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (*at == k && !memcmp(&a, &b, sizeof(a))) {
			*key = k;
			*block = (struct abi_block){a.size_bytes, a.stack, a.tid, a.tick,
						    0};
			return true;
		}
	}
}

/* A block of this address among those that were read from bucket `at`, or NULL. */
static struct snapshot_block *find_in_bucket(const struct drain *d, uint32_t at,
					     uint64_t address)
{
	struct snapshot_block *blocks = d->snap->blocks[BLOCK_HEAP].data;

	for (uint32_t i = d->first_of_bucket[at]; i < d->first_of_bucket[at + 1]; i++) {
		if (blocks[i].address == address)
			return &blocks[i];
	}
	return NULL;
}

static bool read_buckets(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_live_bucket *buckets = elements;
	struct drain *d = arg;
	uint32_t total = d->sizes->live_buckets;

	if (!vec_reserve(&d->snap->blocks[BLOCK_HEAP],
			 d->snap->blocks[BLOCK_HEAP].len +
				 (size_t)count * ABI_LIVE_WAYS / 8))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t here = first + i;

		d->first_of_bucket[here] = (uint32_t)d->snap->blocks[BLOCK_HEAP].len;
		for (int way = 0; way < ABI_LIVE_WAYS; way++) {
			struct abi_block block;
			uint64_t key;

			if (!read_slot(&buckets[i], way, &key, &block))
				continue;

			struct snapshot_block b = block_from(d, key << 3, &block);
			uint32_t other = abi_live_hash(key, total, 0);
			struct snapshot_block *seen = NULL;

			if (other == here)
				other = abi_live_hash(key, total, 1);
			if (other < here)
				seen = find_in_bucket(d, other, b.address);
			if (seen)
				*seen = b;
			else if (!vec_push(&d->snap->blocks[BLOCK_HEAP], b))
				return false;
		}
	}
	d->first_of_bucket[first + count] = (uint32_t)d->snap->blocks[BLOCK_HEAP].len;
	return true;
}

/* --- what is not in the table ----------------------------------------------------- */

/* The block of this address that was read so far, or NULL. */
static struct snapshot_block *find_block(const struct drain *d, uint64_t address)
{
	uint64_t key = address >> 3, index;
	uint32_t total = d->sizes->live_buckets;
	struct snapshot_block *block = NULL;

	if (!(address & 7))
		block = find_in_bucket(d, abi_live_hash(key, total, 0), address);
	if (!(address & 7) && !block)
		block = find_in_bucket(d, abi_live_hash(key, total, 1), address);
	if (!block && hashmap_get(&d->others, address, &index))
		block = &d->snap->blocks[BLOCK_HEAP].data[index];
	return block;
}

/* Add a block that is not in a bucket's run, or put it in place of an older one. */
static bool add_block(struct drain *d, struct snapshot_block block)
{
	struct snapshot_block *seen = find_block(d, block.address);

	if (seen) {
		*seen = block;
		return true;
	}
	return hashmap_put(&d->others, block.address, d->snap->blocks[BLOCK_HEAP].len) &&
	       vec_push(&d->snap->blocks[BLOCK_HEAP], block);
}

/* Removed blocks keep their place until all are read; address 0 marks them. */
static void remove_block(struct drain *d, uint64_t address)
{
	struct snapshot_block *block = find_block(d, address);

	if (block)
		block->address = 0;
}

static int map_next(int fd, const void *key, void *next)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.next_key = (uint64_t)(uintptr_t)next;
	return sys_bpf(BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr));
}

static int map_lookup(int fd, const void *key, void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)fd;
	attr.key = (uint64_t)(uintptr_t)key;
	attr.value = (uint64_t)(uintptr_t)value;
	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

/*
 * Walk a hash map with 64-bit keys. The walk begins anew when the key it stands on is
 * deleted, so keys are remembered and none is given twice.
 */
static struct error *walk_hash(int fd, uint32_t max_entries, void *value,
			       struct hashmap *seen,
			       bool (*fn)(uint64_t key, const void *value, void *arg),
			       void *arg)
{
	uint64_t key, next;
	/* Bounded, should keys be deleted faster than we walk. */
	uint64_t steps = (uint64_t)max_entries * 4;

	for (int err = map_next(fd, NULL, &next); !err && steps; steps--) {
		key = next;
		if (!hashmap_get(seen, key, NULL) && map_lookup(fd, &key, value) == 0) {
			if (!hashmap_put(seen, key, 1) || !fn(key, value, arg))
				return error_no_memory();
		}
		err = map_next(fd, &key, &next);
	}
	return NULL;
}

static bool add_spilled(uint64_t address, const void *value, void *arg)
{
	struct drain *d = arg;

	return find_block(d, address) || add_block(d, block_from(d, address, value));
}

/* The old block of a realloc on its way is live: the call may yet fail. */
static bool add_pending_old(struct drain *d, const struct abi_pending *p)
{
	return !(p->flags & ABI_PENDING_HAS_OLD) || find_block(d, p->address) ||
	       add_block(d, block_from(d, p->address, &p->old));
}

static bool read_pending(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_pending *slots = elements;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const volatile uint64_t *owner = &slots[i].owner;
		uint64_t before = *owner;

		if (!before)
			continue;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);

		/* A record that changes meanwhile tells of it in the journal. */
		struct abi_pending p = slots[i];

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (*owner == before && !memcmp(&p, &slots[i], sizeof(p)) &&
		    !add_pending_old(arg, &p))
			return false;
	}
	return true;
}

static bool add_spilled_pending(uint64_t tid, const void *value, void *arg)
{
	(void)tid;
	return add_pending_old(arg, value);
}

static struct error *read_spills(struct drain *d)
{
	struct hashmap seen;
	struct abi_block block;
	struct abi_pending pending;

	hashmap_init(&seen, d->attach_ns);

	struct error *err = walk_hash(d->maps->live_spill, d->sizes->live_spill, &block,
				      &seen, add_spilled, d);

	hashmap_deinit(&seen);
	if (!err)
		err = walk_hash(d->maps->pending_spill, 4096, &pending, &seen,
				add_spilled_pending, d);
	hashmap_deinit(&seen);
	return err;
}

/* --- stacks ----------------------------------------------------------------------- */

static bool read_stacks(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	struct drain *d = arg;
	uint32_t max_depth =
		(d->sizes->stack_record_bytes - (uint32_t)sizeof(struct abi_stack_head)) /
		sizeof(uint64_t);

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const char *record =
			(const char *)elements + (size_t)i * d->sizes->stack_record_bytes;
		struct abi_stack_head head;

		memcpy(&head, record, sizeof(head));

		uint32_t depth = head.check && head.depth <= max_depth ? head.depth : 0;
		const uint64_t *pc = (const uint64_t *)(record + sizeof(head));
		struct snapshot_stack stack = {
			.first_frame = (uint32_t)d->snap->frames.len,
			.depth = (uint16_t)depth,
			.end = head.end < STACK_END_COUNT ? (uint8_t)head.end : 0,
		};

		if (!vec_reserve(&d->snap->frames, d->snap->frames.len + depth) ||
		    !vec_push(&d->snap->stacks, stack))
			return false;
		if (depth)
			memcpy(d->snap->frames.data + d->snap->frames.len, pc,
			       depth * sizeof(*pc));
		d->snap->frames.len += depth;
	}
	return true;
}

/* --- the journal ------------------------------------------------------------------ */

/* Programs that looked at `draining` just before it was set are done by then. */
#define GRACE_NS 200000

/* An entry is written within nanoseconds, unless its thread is preempted. */
#define ENTRY_TRIES 1000

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static bool apply_entry(struct drain *d, const struct abi_journal *e)
{
	struct abi_block block = {e->size_bytes, e->stack, e->tid, e->tick, 0};

	if (e->kind == ABI_JOURNAL_TAKEN || e->old_address)
		remove_block(d, e->old_address ? e->old_address : e->address);
	return e->kind != ABI_JOURNAL_PUT ||
	       add_block(d, block_from(d, e->address, &block));
}

static bool apply_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_journal *entries = elements;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const volatile uint32_t *kind = &entries[i].kind;

		for (int tries = 0; !*kind && tries < ENTRY_TRIES; tries++)
			pause_ns(1000);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);

		struct abi_journal entry = entries[i];

		if (!apply_entry(arg, &entry))
			return false;
	}
	return true;
}

static bool clear_journal(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	(void)first;
	(void)arg;
	/* mapped_walk() maps read-only for all but this. */
	memset((void *)(uintptr_t)elements, 0,
	       (size_t)count * sizeof(struct abi_journal));
	return true;
}

static void journal_open(struct drain *d)
{
	__atomic_store_n(&d->control->journal_used, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&d->control->draining, 1, __ATOMIC_SEQ_CST);
	pause_ns(GRACE_NS);
}

/* Apply what was written up to this moment, and make the journal empty again. */
static struct error *journal_close(struct drain *d, bool *settled)
{
	uint64_t used = __atomic_load_n(&d->control->journal_used, __ATOMIC_SEQ_CST);
	struct error *err;

	*settled = used <= ABI_JOURNAL_ENTRIES;
	if (!*settled)
		used = ABI_JOURNAL_ENTRIES;
	err = mapped_walk(d->maps->journal, (uint32_t)used, sizeof(struct abi_journal),
			  apply_journal, d);
	__atomic_store_n(&d->control->draining, 0, __ATOMIC_SEQ_CST);
	pause_ns(GRACE_NS);
	used = __atomic_load_n(&d->control->journal_used, __ATOMIC_SEQ_CST);
	if (used > ABI_JOURNAL_ENTRIES)
		used = ABI_JOURNAL_ENTRIES;

	struct error *clear_err =
		mapped_walk_writable(d->maps->journal, (uint32_t)used,
				     sizeof(struct abi_journal), clear_journal, NULL);

	if (err)
		error_destroy(clear_err);
	return err ? err : clear_err;
}

/* --- all together ----------------------------------------------------------------- */

static struct error *read_blocks(struct drain *d, bool *settled)
{
	struct error *err, *close_err;

	d->snap->blocks[BLOCK_HEAP].len = 0;
	hashmap_deinit(&d->others);
	journal_open(d);
	err = mapped_walk(d->maps->live, d->sizes->live_buckets,
			  sizeof(struct abi_live_bucket), read_buckets, d);
	if (!err)
		err = read_spills(d);
	if (!err)
		err = mapped_walk(d->maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), read_pending, d);
	close_err = journal_close(d, settled);
	if (err)
		error_destroy(close_err);
	return err ? err : close_err;
}

/* Take the marked ones out, and stacks that are not stored. */
static void tidy_blocks(struct drain *d, uint64_t stacks_used)
{
	size_t kept = 0;

	vec_foreach (block, &d->snap->blocks[BLOCK_HEAP]) {
		if (!block->address)
			continue;
		if (block->stack >= stacks_used)
			block->stack = SNAPSHOT_NO_STACK;
		d->snap->blocks[BLOCK_HEAP].data[kept++] = *block;
	}
	d->snap->blocks[BLOCK_HEAP].len = kept;
}

/* How often the tables are read when the journal overflows. */
#define MAX_READINGS 3

struct error *drain_blocks(const struct drain_maps *maps,
			   const struct source_sizes *sizes, struct abi_control *control,
			   uint64_t attach_ns, struct snapshot *snap, bool *settled)
{
	_cleanup_(freep) uint32_t *first =
		calloc((size_t)sizes->live_buckets + 1, sizeof(*first));
	struct drain d = {.maps = maps,
			  .sizes = sizes,
			  .attach_ns = attach_ns,
			  .snap = snap,
			  .control = control,
			  .first_of_bucket = first};
	struct error *err = NULL;

	if (!first)
		return error_no_memory();
	hashmap_init(&d.others, attach_ns);
	*settled = false;
	for (int i = 0; i < MAX_READINGS && !err && !*settled; i++)
		err = read_blocks(&d, settled);
	hashmap_deinit(&d.others);
	if (err)
		return err;

	/* Stacks last: every stack that a block names is there by now. */
	uint64_t used = __atomic_load_n(&control->stacks_used, __ATOMIC_SEQ_CST);

	if (used > sizes->max_stacks)
		used = sizes->max_stacks;
	tidy_blocks(&d, used);
	return mapped_walk(maps->stacks, (uint32_t)used, sizes->stack_record_bytes,
			   read_stacks, &d);
}

/* --- counters --------------------------------------------------------------------- */

static bool sum_counters(const void *elements, uint32_t first, uint32_t count, void *arg)
{
	const struct abi_counters *records = elements;
	struct abi_counters *sum = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		for (int j = 0; j < ABI_COUNTER_COUNT; j++)
			sum->value[j] += *(const volatile uint64_t *)&records[i].value[j];
	}
	return true;
}

struct count_dead {
	const struct proc *proc;
	uint64_t dead;
};

static bool count_dead_owners(const void *elements, uint32_t first, uint32_t count,
			      void *arg)
{
	const struct abi_pending *slots = elements;
	struct count_dead *c = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t owner = *(const volatile uint64_t *)&slots[i].owner;

		if (owner && !proc_has_thread(c->proc, (uint32_t)owner))
			c->dead++;
	}
	return true;
}

struct error *drain_counters(const struct drain_maps *maps,
			     const struct source_sizes *sizes, const struct proc *proc,
			     struct snapshot *snap)
{
	static const struct {
		enum abi_counter counter;
		enum loss loss;
	} losses[] = {
		{ABI_BLOCKS_FULL, LOSS_BLOCKS_FULL},
		{ABI_STACKS_FULL, LOSS_STACKS_FULL},
		{ABI_PENDING_FULL, LOSS_PENDING_FULL},
		{ABI_CALLS_ABANDONED, LOSS_CALLS_ABANDONED},
		{ABI_READ_FAILED, LOSS_READ_FAILED},
		{ABI_BLOCKS_REPLACED, LOSS_BLOCKS_REPLACED},
		{ABI_STACKS_UNREADABLE, LOSS_STACKS_UNREADABLE},
		{ABI_STACKS_TRUNCATED, LOSS_STACKS_TRUNCATED},
		{ABI_EVENTS_LOST, LOSS_EVENTS_LOST},
	};
	struct abi_counters sum = {{0}};
	struct count_dead dead = {.proc = proc};
	struct error *err = mapped_walk(maps->counters, sizes->cpu_slots, sizeof(sum),
					sum_counters, &sum);

	if (!err && !proc_has_exited(proc))
		err = mapped_walk(maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), count_dead_owners, &dead);
	if (err)
		return err;
	snap->totals[BLOCK_HEAP] = (struct snapshot_totals){
		.allocations = sum.value[ABI_ALLOCATIONS],
		.allocated_bytes = sum.value[ABI_ALLOCATED_BYTES],
		.frees = sum.value[ABI_FREES],
		.freed_bytes = sum.value[ABI_FREED_BYTES],
		.frees_unknown = sum.value[ABI_FREES_UNKNOWN],
		.failures = sum.value[ABI_FAILURES],
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		snap->losses[losses[i].loss] += sum.value[losses[i].counter];
	snap->losses[LOSS_CALLS_ABANDONED] += dead.dead;
	return NULL;
}
