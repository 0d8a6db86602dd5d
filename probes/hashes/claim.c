/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Claims by inserting into a hash (claim.c). */

#define VALUE_NOW(word) (*(volatile u64 *)(word))

/* The key of a word. For the verifier the difference of two pointers is a number. It is a
 * multiple of 8, so it differs from the keys that memtrace uses (ABI_CLAIM_PROCESS). */
ALWAYS_INLINE u64 claim_key(const void *word)
{
	u64 at = (u64)word, from = (u64)control_get();

	barrier_var(at);
	barrier_var(from);
	return at - from;
}

ALWAYS_INLINE int claim_by(u64 key, u64 *word, u64 value)
{
	u64 owner = READ_ONCE(*word);

	if (owner || !claim_key_for(key, value))
		return 0;
	owner = load_acquire(word);
	if (!owner)
		store_release(word, value);
	claim_end(key);
	return !owner;
}

ALWAYS_INLINE int claim_word(u64 *word, u64 value)
{
	return claim_by(claim_key(word), word, value);
}

ALWAYS_INLINE int claim_process(u64 *word, u32 slot, u64 tgid)
{
	return claim_by(ABI_CLAIM_PROCESS(slot), word, tgid);
}

/* No other program does this at the same time (traffic_process_ends()); others only
 * add. */
ALWAYS_INLINE u64 take_all(u64 *word)
{
	u64 all = VALUE_NOW(word);

	__sync_fetch_and_add(word, -all);
	return all;
}
