/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Numbers of unwind misses, in order. */

/* A number for the walk. */
ALWAYS_INLINE u64 miss_number(struct abi_miss_room *r, struct abi_control *ctl)
{
	return __sync_fetch_and_add(&ctl->misses, 1);
}

/* The same for a walk that needs no room. Returns 0 if no number can be taken. */
ALWAYS_INLINE int miss_number_alone(const struct tracee *t, u64 *ret)
{
	*ret = miss_number(NULL, t->ctl);
	return 1;
}

/* A number that is used again stands for the new walk. */
#define miss_number_fits(number) 1
