/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Numbers of unwind misses: each room has numbers of its own. */

/* A number for the walk. No other program uses the room. */
ALWAYS_INLINE u64 miss_number(struct abi_miss_room *r, struct abi_control *ctl)
{
	u64 n = r->next_number++;

	__sync_fetch_and_add(&ctl->misses, 1);
	return ABI_MISS_NUMBER(n, (u64)r->walk.room, CPU_SLOTS * ABI_MISS_ROOMS);
}

/* The same for a walk that needs no room. Returns 0 if no number can be taken. */
ALWAYS_INLINE int miss_number_alone(const struct tracee *t, u64 *ret)
{
	struct abi_miss_room *r = miss_claim(t->caller, ABI_MISS_RING);

	if (!r)
		return 0;
	*ret = miss_number(r, t->ctl);
	store_release(&r->owner, 0);
	return 1;
}

/* Blocks in a hash keep such numbers, so a number must not be used twice. */
ALWAYS_INLINE int miss_number_fits(u64 number)
{
	return number < ABI_MISS_STACK_BIT;
}
