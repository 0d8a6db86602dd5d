// SPDX-License-Identifier: Apache-2.0
#include <linux/bpf.h>

#include "drain/drain.h"
#include "drain/drain_blocks.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"

/* The maps that may have the blocks. */
struct tables {
	const struct drain_maps *maps;
	uint32_t generations; /* 0: all blocks are in the hash */
	struct abi_live_bucket *part[ABI_LIVE_GENERATIONS]; /* mapped */
	bool has_spilled;
};

static bool find_in_bucket(const struct abi_live_bucket *bucket, uint64_t word,
			   struct abi_block *ret)
{
	for (int way = 0; way < ABI_LIVE_WAYS; way++) {
		const volatile struct abi_live_entry *e = &bucket->entry[way];

		if (*(const volatile uint64_t *)&bucket->key[way] != word)
			continue;
		*ret = (struct abi_block){e->size_bytes, e->stack, e->thread, e->tick, 0};
		return true;
	}
	return false;
}

static bool find(const struct tables *t, uint64_t key, struct abi_block *ret)
{
	uint64_t word = key >> 3;

	for (uint32_t i = 0; !(key & 7) && i < 2 * t->generations; i++) {
		uint32_t count = live_table_part_buckets(t->maps->live, i / 2);

		if (find_in_bucket(&t->part[i / 2][abi_live_hash(word, count, i % 2)],
				   word, ret))
			return true;
	}
	return t->has_spilled &&
	       sys_bpf_element(BPF_MAP_LOOKUP_ELEM, t->maps->live_spill, &key, ret) == 0;
}

static size_t part_bytes(const struct tables *t, uint32_t generation)
{
	return (size_t)live_table_part_buckets(t->maps->live, generation) *
	       sizeof(struct abi_live_bucket);
}

static void close_parts(struct tables *t)
{
	while (t->generations > 0) {
		t->generations--;
		mapped_close(t->part[t->generations], part_bytes(t, t->generations));
	}
}

/* Blocks of stopped processes are in the generations that there are now. */
static struct error *open_parts(struct tables *t)
{
	uint32_t count = t->maps->live ? live_table_count(t->maps->live) : 0;

	for (uint32_t g = 0; g < count; g++) {
		void *part;
		struct error *err =
			mapped_table(t->maps->live->part[g], part_bytes(t, g), &part);

		if (err)
			return err;
		t->part[g] = part;
		t->generations = g + 1;
	}
	return NULL;
}

/* The allocator may give an address again at once: then only the stack tells the blocks
 * apart. */
static bool is_same(const struct drain_known *known, const struct abi_block *block,
		    const struct tick_clock *ticks, uint64_t attached_ns,
		    const struct drain_resolver *resolver)
{
	uint32_t stack = resolver->stack(resolver->arg, block->stack);

	/* A block without a stack, or with one that was lost, has no number. */
	return block->size_bytes == known->size_bytes &&
	       ABI_TID(block->thread) == known->tid &&
	       drain_time_ns(ticks, attached_ns, block) == known->time_ns &&
	       (stack == known->stack ||
		(stack == ABI_NO_STACK && known->stack == SNAPSHOT_NO_STACK));
}

struct error *drain_find_same(const struct drain_maps *maps,
			      const struct abi_control *control,
			      const struct tick_clock *ticks, uint64_t attached_ns,
			      const struct drain_resolver *resolver,
			      const struct drain_wanted *wanted, bool is_there[])
{
	struct tables t = {
		.maps = maps,
		.has_spilled = !maps->live || __atomic_load_n(&control->spilled_blocks,
							      __ATOMIC_SEQ_CST),
	};
	struct error *err = open_parts(&t);

	for (size_t i = 0; !err && i < wanted->count; i++) {
		const struct drain_known known = wanted->get(wanted->arg, i);
		struct abi_block block;

		is_there[i] = find(&t, known.key, &block) &&
			      is_same(&known, &block, ticks, attached_ns, resolver);
	}
	close_parts(&t);
	return err;
}
