/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Words that belong to the first program that claims them. A program claims a word by
 * inserting its key into the hash `claims`, which works without compare-and-exchange:
 * docs/mechanisms.md, "Words with one owner". No program ever waits for another one. If
 * `claims` is full, a claim fails as if another program had the word.
 */

/* By key of a word: the value that its owner will store. Preallocated, because kernels
 * without atomics do not allocate in programs that run in an interrupt. */
BPF_F_TABLE("hash", u64, u64, claims, CLAIMS, 0);

ALWAYS_INLINE int claim_key_for(u64 key, u64 value)
{
	return claims.insert(&key, &value) == 0;
}

ALWAYS_INLINE void claim_end(u64 key)
{
	claims.delete(&key);
}
