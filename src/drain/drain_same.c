// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <linux/bpf.h>

#include "drain/drain.h"
#include "drain/drain_blocks.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"

/* The tables in which blocks are looked for. */
struct tables {
	const struct drain_maps *maps;
	const struct abi_live_bucket *buckets; /* mapped; NULL: blocks are in the hash */
	uint32_t bucket_count;
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

	for (int i = 0; t->buckets && !(key & 7) && i < 2; i++)
		if (find_in_bucket(&t->buckets[abi_live_hash(word, t->bucket_count, i)],
				   word, ret))
			return true;
	return t->has_spilled &&
	       sys_bpf_element(BPF_MAP_LOOKUP_ELEM, t->maps->live_spill, &key, ret) == 0;
}

struct error *drain_find_same(const struct drain_maps *maps,
			      const struct source_sizes *sizes,
			      const struct abi_control *control,
			      const struct tick_clock *ticks, uint64_t attached_ns,
			      const struct drain_wanted *wanted, bool is_there[])
{
	size_t bytes = (size_t)sizes->live_buckets * sizeof(struct abi_live_bucket);
	void *buckets = maps->live < 0 ? NULL : mapped_open(maps->live, bytes);
	const struct tables t = {
		.maps = maps,
		.buckets = buckets,
		.bucket_count = sizes->live_buckets,
		.has_spilled = !buckets || __atomic_load_n(&control->spilled_blocks,
							   __ATOMIC_SEQ_CST),
	};

	if (maps->live >= 0 && !buckets)
		return error_errno(ERROR_IO, errno, "cannot map a BPF table");
	for (size_t i = 0; i < wanted->count; i++) {
		const struct drain_known known = wanted->get(wanted->arg, i);
		struct abi_block block;

		is_there[i] = find(&t, known.key, &block) &&
			      block.size_bytes == known.size_bytes &&
			      ABI_TID(block.thread) == known.tid &&
			      drain_time_ns(ticks, attached_ns, &block) == known.time_ns;
	}
	mapped_close(buckets, bytes);
	return NULL;
}
