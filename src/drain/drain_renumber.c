// SPDX-License-Identifier: Apache-2.0
#include "drain/drain_blocks.h"

#include "bpf/mapped.h"

/* The number of a miss is never reused. So even if the slot gets another block during the
 * call, the exchange is right for any block with this number. */
static void renumber(uint32_t *at, const struct drain_resolver *resolver)
{
	uint32_t walk = __atomic_load_n(at, __ATOMIC_RELAXED), stack;

	if (walk == ABI_NO_STACK || !(walk & ABI_MISS_STACK_BIT))
		return;
	stack = resolver->stack(resolver->arg, walk);
	if (stack != ABI_NO_STACK)
		__atomic_compare_exchange_n(at, &walk, stack, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
}

static bool renumber_buckets(const void *elements, uint32_t first, uint32_t count,
			     void *arg)
{
	/* Writable: see mapped_walk_writable(). */
	struct abi_live_bucket *buckets = (void *)(uintptr_t)elements;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		for (int way = 0; way < ABI_LIVE_WAYS; way++)
			if (__atomic_load_n(&buckets[i].key[way], __ATOMIC_ACQUIRE) >
			    ABI_LIVE_CLAIMED)
				renumber(&buckets[i].entry[way].stack, arg);
	return true;
}

struct error *drain_renumber(struct live_table *live,
			     const struct drain_resolver *resolver)
{
	return live_table_walk(live, live_table_count(live), renumber_buckets,
			       (void *)(uintptr_t)resolver);
}

/* --- between snapshots ------------------------------------------------------------ */

/* Ask only: by now the element of a hash may hold another block, so it keeps its
 * number. */
static void ask(const struct abi_block *block, const struct drain_resolver *resolver)
{
	(void)resolver->stack(resolver->arg, block->stack);
}

static bool ask_spilled(uint64_t key, const void *value, void *arg)
{
	(void)key;
	ask(value, arg);
	return true;
}

static bool ask_pending(uint64_t key, const void *value, void *arg)
{
	const struct abi_pending *p = value;

	(void)key;
	if (p->flags & ABI_PENDING_HAS_OLD)
		ask(&p->old, arg);
	return true;
}

static bool ask_pending_slots(const void *elements, uint32_t first, uint32_t count,
			      void *arg)
{
	const struct abi_pending *slots = elements;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		if (__atomic_load_n(&slots[i].owner, __ATOMIC_ACQUIRE))
			ask_pending(0, &slots[i], arg);
	return true;
}

struct error *drain_ask_stacks(const struct drain_maps *maps,
			       const struct drain_resolver *resolver)
{
	void *arg = (void *)(uintptr_t)resolver;
	struct error *err = NULL;

	/* Calls first: if a call fails, its old block goes back into a bucket. */
	if (maps->pending >= 0)
		err = mapped_walk(maps->pending, ABI_PENDING_SLOTS,
				  sizeof(struct abi_pending), ask_pending_slots, arg);
	if (!err && maps->pending_spill >= 0)
		err = drain_walk_hash(maps->pending_spill, sizeof(struct abi_pending),
				      ask_pending, arg);
	if (!err && maps->live)
		err = drain_renumber(maps->live, resolver);
	if (!err && maps->live_spill >= 0)
		err = drain_walk_hash(maps->live_spill, sizeof(struct abi_block),
				      ask_spilled, arg);
	return err;
}
