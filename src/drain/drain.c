// SPDX-License-Identifier: Apache-2.0
#include "drain/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drain/drain_blocks.h"
#include "bpf/mapped.h"
#include "drain/stack_pcs.h"
#include "process/proc.h"
#include "util/cleanup.h"
#include "util/saturate.h"

_Static_assert((int)STACK_END_COMPLETE == ABI_END_COMPLETE, "same numbers");
_Static_assert((int)STACK_END_DEPTH == ABI_END_DEPTH, "same numbers");
_Static_assert((int)STACK_END_NO_FRAME == ABI_END_NO_FRAME, "same numbers");
_Static_assert((int)STACK_END_UNREADABLE == ABI_END_UNREADABLE, "same numbers");
_Static_assert((int)STACK_END_CORRUPT == ABI_END_CORRUPT, "same numbers");
_Static_assert((int)STACK_END_NO_RULE == ABI_END_NO_RULE, "same numbers");

/* --- stacks ----------------------------------------------------------------------- */

/* State for reading stacks into a snapshot. */
struct read_stacks {
	struct snapshot *snap;
	const struct drain_slots *slots;
	uint32_t max_depth;
	struct stack_pcs *pcs;
};

static bool read_stack_heads(const void *elements, uint32_t first, uint32_t count,
			     void *arg)
{
	const struct abi_stack_head *heads = elements;
	struct read_stacks *r = arg;
	struct snapshot *snap = r->snap;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		const struct abi_stack_head head = heads[i];
		uint32_t depth =
			head.check && head.depth <= r->max_depth ? head.depth : 0;
		const uint64_t *pc = depth ? stack_pcs_at(r->pcs, head.at) : NULL;

		if (depth && !pc && !r->pcs->blocks.table->is_short)
			return false;
		if (!pc)
			depth = 0;

		struct snapshot_stack stack = {
			.first_frame = (uint32_t)snap->frames.len,
			.depth = (uint16_t)depth,
			.gap = head.gap < depth ? head.gap : 0,
			.end = head.end < STACK_END_COUNT ? head.end : 0,
			.allocator = head.allocator,
			.process = r->slots->families
					   ? families_process(r->slots->families,
							      head.family)
					   : 0,
		};

		if (!vec_reserve(&snap->frames, snap->frames.len + depth) ||
		    !vec_push(&snap->stacks, stack))
			return false;
		if (depth)
			memcpy(snap->frames.data + snap->frames.len, pc,
			       depth * sizeof(*pc));
		snap->frames.len += depth;
	}
	return true;
}

/* --- all together ----------------------------------------------------------------- */

static void start_over(struct drain *d)
{
	d->snap->blocks[d->maps->class].len = 0;
	d->keys.len = 0;
	d->has_moving = false;
	hashmap_deinit(&d->others);
}

/* Read the table as large as it is now. What is put into a generation that is added from
 * now on is in the journal, or counted as late. */
static struct error *read_tables(struct drain *d)
{
	struct live_table *live = d->maps->live;

	start_over(d);
	free(d->first_of_bucket);
	d->generations = live ? live_table_count(live) : 0;
	d->first_of_bucket =
		calloc((live ? (size_t)live_table_buckets(live, d->generations) : 0) + 1,
		       sizeof(*d->first_of_bucket));
	if (!d->first_of_bucket) {
		d->generations = 0;
		return error_no_memory();
	}
	return drain_read_tables(d);
}

static struct error *read_blocks(struct drain *d, bool *settled)
{
	struct error *err = drain_journal_open(d);

	if (err)
		return err;
	err = read_tables(d);
	if (!err && !drain_journal_is_good(d))
		err = read_tables(d);
	err = error_first(err, drain_journal_close(d, settled));
	if (d->maps->live && !live_table_is_whole(d->maps->live))
		*settled = false;
	return err;
}

/* Remove blocks that were freed or belong to no process of the snapshot, and set the
 * stack of the others. Returns how many blocks had the number of a miss. */
static size_t tidy_blocks(struct drain *d, const struct drain_resolver *resolver,
			  uint64_t stacks_used)
{
	struct snapshot_block *blocks = d->snap->blocks[d->maps->class].data;
	size_t kept = 0, by_walk = 0;

	for (size_t i = 0; i < d->keys.len; i++) {
		if (!d->keys.data[i])
			continue;
		by_walk += blocks[i].stack != ABI_NO_STACK &&
			   blocks[i].stack & ABI_MISS_STACK_BIT;
		/* Ask also for blocks of other processes: a later snapshot may list
		 * them. */
		blocks[i].stack = resolver->stack(resolver->arg, blocks[i].stack);
		if (blocks[i].process == SNAPSHOT_NO_PROCESS)
			continue;
		if (blocks[i].stack >= stacks_used)
			blocks[i].stack = SNAPSHOT_NO_STACK;
		blocks[kept++] = blocks[i];
	}
	d->snap->blocks[d->maps->class].len = kept;
	return by_walk;
}

/* If more blocks than this have the number of a miss, the table is renumbered: each such
 * number can keep a page of them in memory (unwind_miss/aliases.h). */
#define MAX_BY_WALK 1024

/* How often the tables are read if the journal overflows. */
#define MAX_READINGS 6

/* Make room for as many blocks as the counters say there are: vectors that grow while
 * they are filled are copied again and again. Without enough memory they grow. */
static void make_room(struct drain *d)
{
	const struct abi_counters sum = drain_sum_counters(d->maps, d->sizes->cpu_slots);
	struct live_table *live = d->maps->live;
	uint64_t most =
		live ? (uint64_t)live_table_buckets(live, live_table_count(live)) *
				ABI_LIVE_WAYS
		     : 0;
	uint64_t count =
		saturate_subtract(sum.value[ABI_ALLOCATIONS], sum.value[ABI_FREES]);

	count = count < most ? count : most;
	if (vec_reserve(&d->keys, count))
		(void)!vec_reserve(&d->snap->blocks[d->maps->class], count);
}

static struct error *read_all(struct drain *d, bool *settled)
{
	struct error *err = NULL;

	hashmap_init(&d->others, d->ticks->start_ns);
	make_room(d);
	for (int i = 0; i < MAX_READINGS && !err && !*settled; i++)
		err = read_blocks(d, settled);
	hashmap_deinit(&d->others);
	free(d->first_of_bucket);
	d->first_of_bucket = NULL;
	return err;
}

struct error *drain_blocks(const struct drain_maps *maps,
			   const struct source_sizes *sizes, struct abi_control *control,
			   const struct drain_slots *slots,
			   const struct tick_clock *ticks,
			   const struct drain_resolver *resolver, struct drain_kept *kept,
			   struct snapshot *snap, bool *settled)
{
	struct drain d = {.maps = maps,
			  .sizes = sizes,
			  .slots = slots,
			  .ticks = ticks,
			  .snap = snap,
			  .control = control};
	struct error *err = NULL;

	*settled = kept && drain_kept_begin(kept, &d);
	if (kept)
		kept->has_no_calls = false;
	if (!*settled) {
		err = read_all(&d, settled);
		if (kept)
			drain_kept_end(kept, &d, !err && *settled);
		if (kept)
			kept->has_no_calls = !err && !d.has_calls;
	} else {
		if (maps->live)
			live_table_rest(maps->live);
		if (snap->wants_moving)
			err = drain_read_moving(&d);
	}

	snap->has_moving |= d.has_moving;
	/* Read the stacks last: then they include each stack that a block names. */
	resolver->catch_up(resolver->arg);
	uint32_t used = stack_tables_count(maps->stacks);

	/* Only in the buckets: an element of a hash could hold another block by now. */
	if (!err && tidy_blocks(&d, resolver, used) > MAX_BY_WALK && maps->live) {
		err = drain_renumber(maps->live, resolver);
		if (kept)
			drain_kept_drop(kept);
	}
	vec_deinit(&d.keys);
	if (!err)
		err = drain_stacks(maps, sizes, slots, used, snap);
	if (!stack_tables_is_whole(maps->stacks))
		*settled = false;
	return err;
}

/* The windows of so few stacks stay mapped until the next reading, because mapping them
 * takes longer than reading them. Until then they are resident: 24 KiB, and up to 1 MiB
 * of return addresses. */
#define FEW_STACKS 1024

static struct error *read_few_stacks(struct read_stacks *r, struct record_windows *heads,
				     uint32_t used)
{
	for (uint32_t i = 0; i < used; i++) {
		const void *head = record_windows_at(heads, i);

		if (!head)
			return error_errno(ERROR_IO, errno, "cannot map a BPF table");
		if (!read_stack_heads(head, i, 1, r))
			return error_no_memory();
	}
	return NULL;
}

struct error *drain_stacks(const struct drain_maps *maps,
			   const struct source_sizes *sizes,
			   const struct drain_slots *slots, uint32_t used,
			   struct snapshot *snap)
{
	struct stack_tables *stacks = maps->stacks;
	struct read_stacks r = {.snap = snap,
				.slots = slots,
				.max_depth = sizes->stack_depth,
				.pcs = &stacks->read_pcs};
	struct error *err;

	if (used <= FEW_STACKS)
		return read_few_stacks(&r, &stacks->read_heads, used);
	err = part_table_walk(&stacks->heads, used, read_stack_heads, &r);
	stack_tables_unmap(stacks);
	return err;
}

/* --- counters --------------------------------------------------------------------- */

struct count_dead {
	const struct drain_slots *slots;
	const struct snapshot *snap;
	uint32_t slot_count;
	uint64_t dead;
};

/* Did this thread die inside a call, while its process lives on? */
static bool has_died(const struct count_dead *c, const struct abi_pending *p)
{
	uint32_t index = p->process < c->slot_count ? c->slots->process[p->process]
						    : SNAPSHOT_NO_PROCESS;
	const struct snapshot_process *process = snapshot_process(c->snap, index);

	return process && !process->exited &&
	       !proc_has_thread(process->pid, ABI_CALLER_TID(p->owner));
}

static bool count_dead_owners(const void *elements, uint32_t first, uint32_t count,
			      void *arg)
{
	const struct abi_pending *slots = elements;
	struct count_dead *c = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		struct abi_pending p = *(const volatile struct abi_pending *)&slots[i];

		if (p.owner && has_died(c, &p))
			c->dead++;
	}
	return true;
}

static bool count_dead_owner(uint64_t key, const void *value, void *arg)
{
	const struct abi_pending *p = value;
	struct count_dead *c = arg;

	(void)key;
	c->dead += has_died(c, p);
	return true;
}

static struct error *count_dead(const struct drain_maps *maps,
				const struct source_sizes *sizes,
				const struct drain_slots *slots,
				const struct snapshot *snap, uint64_t *ret)
{
	struct count_dead dead = {
		.slots = slots, .snap = snap, .slot_count = sizes->process_slots};
	struct error *err = NULL;

	if (maps->pending >= 0)
		err = mapped_walk(maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), count_dead_owners, &dead);
	if (!err && maps->pending_spill >= 0)
		err = drain_walk_hash(maps->pending_spill, sizeof(struct abi_pending),
				      count_dead_owner, &dead);
	*ret = dead.dead;
	return err;
}

struct error *drain_counters(const struct drain_maps *maps,
			     const struct source_sizes *sizes,
			     const struct drain_slots *slots, struct drain_kept *kept,
			     struct snapshot *snap)
{
	static const struct {
		enum abi_counter counter;
		enum loss loss;
	} losses[] = {
		{ABI_BLOCKS_FULL, LOSS_BLOCKS_FULL},
		{ABI_STACKS_FULL, LOSS_STACKS_FULL},
		{ABI_SCRATCH_FULL, LOSS_STACKS_PREEMPTED},
		{ABI_PENDING_FULL, LOSS_PENDING_FULL},
		{ABI_CALLS_ABANDONED, LOSS_CALLS_ABANDONED},
		{ABI_READ_FAILED, LOSS_READ_FAILED},
		{ABI_BLOCKS_REPLACED, LOSS_BLOCKS_REPLACED},
		{ABI_STACKS_UNREADABLE, LOSS_STACKS_UNREADABLE},
		{ABI_STACKS_TRUNCATED, LOSS_STACKS_TRUNCATED},
		{ABI_EVENTS_LOST, LOSS_EVENTS_LOST},
		{ABI_PROCESSES_FULL, LOSS_PROCESSES_FULL},
		{ABI_WALKS_LOST, LOSS_WALKS_LOST},
		{ABI_WALKS_OVER_BUDGET, LOSS_WALKS_OVER_BUDGET},
	};
	const struct abi_counters sum = drain_sum_counters(maps, sizes->cpu_slots);
	bool is_quiet = kept && drain_kept_is_quiet(kept);
	uint64_t dead = is_quiet ? kept->dead : 0;
	struct error *err = NULL;

	if (!is_quiet && !(kept && kept->has_no_calls))
		err = count_dead(maps, sizes, slots, snap, &dead);
	if (err)
		return err;
	if (kept)
		kept->dead = dead;
	snap->totals[maps->class] = (struct snapshot_totals){
		.allocations = sum.value[ABI_ALLOCATIONS],
		.allocated_bytes = sum.value[ABI_ALLOCATED_BYTES],
		.frees = sum.value[ABI_FREES],
		.freed_bytes = sum.value[ABI_FREED_BYTES],
		.frees_unknown = sum.value[ABI_FREES_UNKNOWN],
		.failures = sum.value[ABI_FAILURES],
	};
	snap->estimated = (struct snapshot_totals){
		.allocations =
			sum.value[ABI_ESTIMATED_ALLOCATIONS] >> ABI_SAMPLE_WEIGHT_SHIFT,
		.allocated_bytes = sum.value[ABI_ESTIMATED_ALLOCATED_BYTES],
		.frees = sum.value[ABI_ESTIMATED_FREES] >> ABI_SAMPLE_WEIGHT_SHIFT,
		.freed_bytes = sum.value[ABI_ESTIMATED_FREED_BYTES],
	};
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		snap->losses[losses[i].loss] += sum.value[losses[i].counter];
	snap->losses[LOSS_CALLS_ABANDONED] += dead;
	return NULL;
}
