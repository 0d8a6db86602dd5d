/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Words that belong to the first program that claims them. With BPF compare-and-exchange
 * (Linux 5.12, commit 5ffa25502b5a) a claim is one instruction. Older kernels can only
 * add to a word, without returning its old value. But they let only one program at a time
 * insert a key into a hash that lacks it (BPF_NOEXIST), or delete a key; the other
 * programs get an error. With NO_ATOMICS everything is built on that:
 *
 * - Blocks and pending calls are in hashes (live_hash.c, pending.c), which need no
 *   claims. So are the numbers of stacks (stack_hash.c). The journal is a ring buffer,
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
 *   (miss_number()), numbers of stacks (stack_hash.c), and peaks (abi_raise_peak()).
 *
 * Slots for processes are claimed through `claims` on newer kernels, too: a process must
 * have one slot only, even if several are free (process_claim()).
 *
 * No program ever waits for another one. All this also holds where programs can be
 * preempted, or run within one another in interrupts, as those kernels allow for raw
 * tracepoints. If `claims` is full, a claim fails as if another program had the word.
 */

#ifdef NO_ATOMICS
#define CLAIMS 4096
#else
/* Processes that are getting a slot at the same time (process_claim()). */
#define CLAIMS 256
#endif

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

#ifndef NO_ATOMICS

/* Set `*word` to `value` if it is 0. Returns 1 on success, 0 if another program set it
 * first. */
#define claim_word(word, value) (__sync_val_compare_and_swap((word), 0, (value)) == 0)

/* The same for the tgid of a slot. */
#define claim_process(word, slot, tgid) claim_word((word), (tgid))

/* Set a counter to 0. Returns its old value. */
#define take_all(word) __sync_lock_test_and_set((word), 0)

#else

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
		publish(word, value);
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

#ifdef WITH_TRAFFIC
#define PEAK_TRIES 8

/*
 * See traffic_record.h. `live` was read after the bytes were added, and includes what
 * others did in between. A peak is exact while one processor at a time counts there.
 * Otherwise it may lack bytes that others freed within the same microsecond. The same is
 * true of memtrace, which raises a peak without a claim (traffic_tables.c).
 */
ALWAYS_INLINE void abi_raise_peak(struct abi_outstanding *o, u64 live, u64 when)
{
	u64 key = claim_key(&o->peak_bytes);

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PEAK_TRIES; i++) {
		if ((s64)live <= (s64)VALUE_NOW(&o->peak_bytes))
			return;
		if (!claim_key_for(key, live))
			continue;
		if ((s64)live > (s64)VALUE_NOW(&o->peak_bytes)) {
			VALUE_NOW(&o->peak_bytes) = live;
			VALUE_NOW(&o->peak_when) = when;
		}
		claim_end(key);
		return;
	}
}
#endif

#endif
