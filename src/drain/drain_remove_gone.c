// SPDX-License-Identifier: Apache-2.0
#include <linux/bpf.h>

#include "drain/drain.h"
#include "drain/drain_blocks.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"

/* The arguments of drain_remove_gone() and its results. */
struct removal {
	const struct drain_maps *maps;
	struct abi_control *control;
	const bool *gone;
	const struct drain_taken *taken;
	uint32_t slot_count;
	uint64_t blocks, bytes;
};

static bool is_gone(const struct removal *f, uint32_t slot)
{
	return slot < f->slot_count && f->gone[slot];
}

static void count_block(struct removal *f, uint32_t slot, const struct abi_block *block)
{
	f->blocks++;
	f->bytes += block->size_bytes;
	f->taken->fn(f->taken->arg, slot, block);
}

/* Claim slots by compare-and-exchange, as probes/arrays/live.c does. */
static bool remove_buckets(const void *elements, uint32_t first, uint32_t count,
			   void *arg)
{
	struct abi_live_bucket *buckets = (void *)(uintptr_t)elements;
	struct removal *f = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		for (int way = 0; way < ABI_LIVE_WAYS; way++) {
			uint64_t *at = &buckets[i].key[way];
			uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
			uint32_t slot = ABI_KEY_SLOT(word << 3);

			if (word <= ABI_LIVE_CLAIMED || !is_gone(f, slot) ||
			    !__atomic_compare_exchange_n(at, &word, ABI_LIVE_CLAIMED,
							 false, __ATOMIC_SEQ_CST,
							 __ATOMIC_SEQ_CST))
				continue;

			const struct abi_live_entry *e = &buckets[i].entry[way];
			const struct abi_block block = {e->size_bytes, e->stack,
							e->thread, e->tick, 0};

			count_block(f, slot, &block);
			__atomic_store_n(at, 0, __ATOMIC_SEQ_CST);
		}
	}
	return true;
}

static bool delete_key(int fd, uint64_t key)
{
	return sys_bpf_element(BPF_MAP_DELETE_ELEM, fd, &key, NULL) == 0;
}

static bool remove_spilled(uint64_t key, const void *value, void *arg)
{
	const struct abi_block *block = value;
	struct removal *f = arg;

	if (is_gone(f, ABI_KEY_SLOT(key)) && delete_key(f->maps->live_spill, key)) {
		count_block(f, ABI_KEY_SLOT(key), block);
		__atomic_sub_fetch(&f->control->spilled_blocks, 1, __ATOMIC_SEQ_CST);
	}
	return true;
}

/* A call that never returns: its old block is gone, too. */
static void remove_call(struct removal *f, const struct abi_pending *p)
{
	if (p->flags & ABI_PENDING_HAS_OLD)
		count_block(f, p->process, &p->old);
}

static bool remove_pending(const void *elements, uint32_t first, uint32_t count,
			   void *arg)
{
	struct abi_pending *slots = (void *)(uintptr_t)elements;
	struct removal *f = arg;

	(void)first;
	for (uint32_t i = 0; i < count; i++) {
		if (!__atomic_load_n(&slots[i].owner, __ATOMIC_ACQUIRE) ||
		    !is_gone(f, slots[i].process))
			continue;
		remove_call(f, &slots[i]);
		slots[i].flags = 0;
		__atomic_store_n(&slots[i].owner, 0, __ATOMIC_SEQ_CST);
	}
	return true;
}

static bool remove_spilled_pending(uint64_t tid, const void *value, void *arg)
{
	const struct abi_pending *read = value;
	struct removal *f = arg;
	struct abi_pending p;

	/* Read it again: another thread's call may have taken the element, which is keyed
	 * by the kernel stack. */
	if (is_gone(f, read->process) &&
	    sys_bpf_element(BPF_MAP_LOOKUP_ELEM, f->maps->pending_spill, &tid, &p) == 0 &&
	    is_gone(f, p.process) && delete_key(f->maps->pending_spill, tid)) {
		remove_call(f, &p);
		__atomic_sub_fetch(&f->control->spilled_pending, 1, __ATOMIC_SEQ_CST);
	}
	return true;
}

struct error *drain_remove_gone(const struct drain_maps *maps,
				const struct source_sizes *sizes,
				struct abi_control *control, const bool gone[],
				const struct drain_taken *taken, uint64_t *blocks,
				uint64_t *bytes)
{
	struct removal f = {.maps = maps,
			    .control = control,
			    .gone = gone,
			    .taken = taken,
			    .slot_count = sizes->process_slots};
	/* Calls first: a thread of another process may get the kernel stack of a thread
	 * that died in a call. It then discards that call and puts its old block back
	 * into the table. */
	struct error *err = NULL;

	if (maps->pending >= 0)
		err = mapped_walk_writable(maps->pending, ABI_PENDING_SLOTS,
					   sizeof(struct abi_pending), remove_pending,
					   &f);
	if (!err)
		err = drain_walk_hash(maps->pending_spill, sizeof(struct abi_pending),
				      remove_spilled_pending, &f);
	if (!err && maps->live)
		err = live_table_walk(maps->live, live_table_count(maps->live),
				      remove_buckets, &f);
	if (!err)
		err = drain_walk_hash(maps->live_spill, sizeof(struct abi_block),
				      remove_spilled, &f);
	*blocks += f.blocks;
	*bytes += f.bytes;
	return err;
}
