// SPDX-License-Identifier: Apache-2.0
#include "bpf/drain_blocks.h"

#include "bpf/mapped.h"

/* A number of a walk is given once, so that whoever has it means this stack, should the
 * slot change hands meanwhile. */
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
	/* mapped_walk_writable() lets us. */
	struct abi_live_bucket *buckets = (void *)(uintptr_t)elements;

	(void)first;
	for (uint32_t i = 0; i < count; i++)
		for (int way = 0; way < ABI_LIVE_WAYS; way++)
			if (__atomic_load_n(&buckets[i].key[way], __ATOMIC_ACQUIRE) >
			    ABI_LIVE_CLAIMED)
				renumber(&buckets[i].entry[way].stack, arg);
	return true;
}

struct error *drain_renumber(int live, uint32_t bucket_count,
			     const struct drain_resolver *resolver)
{
	return mapped_walk_writable(live, bucket_count, sizeof(struct abi_live_bucket),
				    renumber_buckets, (void *)(uintptr_t)resolver);
}
