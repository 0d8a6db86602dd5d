/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Words that belong to the first program that claims them. With BPF compare-and-exchange
 * (Linux 5.12, commit 5ffa25502b5a) a claim is one instruction. Older kernels can only
 * add to a word, without returning its old value. But they let only one program at a time
 * insert a key into a hash that lacks it (BPF_NOEXIST), or delete a key; the other
 * programs get an error. The fragments in hashes/ build on
 * that, those in arrays/ use compare-and-exchange:
 *
 * - Blocks and pending calls are in hashes (live.c, pending_slot.c), which need no
 *   claims. So are the numbers of stacks (stack_number.c). The journal is a ring buffer,
 *   which orders its records itself.
 * - A word that is 0 until it has an owner is claimed through the map `claims`. The
 *   program that inserts the key checks the word again, writes it, and deletes the key. A
 *   program that cannot insert the key does not wait: another program owns the word or is
 *   about to, so compare-and-exchange would have failed as well. Only the claimant may
 *   write to such a word while it is 0; its owner releases it by a plain store. Such
 *   words are abi_scratch.owner, abi_miss_room.owner, abi_thread.key and
 *   abi_process.tgid. memtrace claims abi_process.tgid in the same way (bpf/claims.h).
 * - Probes and memtrace add to counters and never claim them. The old value of a counter
 *   is not known. Where that matters, a comment says so: numbers of walks
 *   (miss_number()), numbers of stacks (hashes/stack_number.c), and peaks (abi_raise_peak()).
 *
 * Slots for processes are claimed through `claims` on newer kernels, too: a process must
 * have one slot only, even if several are free (process_claim()).
 *
 * No program ever waits for another one. All this also holds where programs can be
 * preempted, or run within one another in interrupts, as those kernels allow for raw
 * tracepoints. If `claims` is full, a claim fails as if another program had the word.
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
