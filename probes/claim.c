/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that belong to whoever comes first. Where BPF has compare-and-exchange (Linux
 * 5.12, commit 5ffa25502b5a) that is one instruction. Before, an instruction can add to a
 * word without telling what was there, and nothing more; but to put a key into a hash
 * only where there is none (BPF_NOEXIST), and to take one out, is done by one program at
 * a time, and the others are told. With NO_ATOMICS all is made of that:
 *
 * - Blocks and calls on their way are in hashes (live_hash.c, pending.c), which need no
 *   claims at all, and so are the numbers of stacks (stack_hash.c). What a reader of the
 *   tables is told comes by a ring buffer, which numbers its records itself.
 * - A word that is 0 until it has an owner is claimed by way of `claims`: who gets the
 *   key in looks at the word once more, writes it, and takes the key out. Who does not
 *   get it in need not wait: somebody else is about to own the word, or owns it already,
 *   so that compare-and-exchange would have failed as well. Nobody else may write to such
 *   a word while it is 0; its owner gives it back by a plain store. These are
 *   abi_scratch.owner, abi_miss_room.owner, abi_thread.key and abi_process.tgid, to which
 *   memtrace takes the same way (bpf/claims.h).
 * - Counters are added to, by probes and by memtrace, and never claimed. What was there
 *   before is not known of them; where that matters is said there: numbers of walks
 *   (miss_number()), of stacks (stack_hash.c), and peaks (abi_raise_peak()).
 *
 * Slots for processes are claimed by way of `claims` with atomics, too: a process is to
 * have one slot, however many of them are free (process_claim()).
 *
 * So no program waits for another one, and all holds as well where programs can be
 * preempted, or run within one another in interrupts, which those kernels let raw
 * tracepoints do. A claim that finds no room in `claims` fails as if it was another's.
 */

#ifdef NO_ATOMICS
#define CLAIMS 4096
#else
/* Processes that get a slot at this moment (process_claim()). */
#define CLAIMS 256
#endif

/* By key of a word: what its owner is to be. All of it there before, for the kernels
 * that do without allocate in no program of an interrupt. */
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

/* The word is 0, and `value` from now on: 1. Else 0. */
#define claim_word(word, value) (__sync_val_compare_and_swap((word), 0, (value)) == 0)

/* The same of the tgid of a slot. */
#define claim_process(word, slot, tgid) claim_word((word), (tgid))

/* Take all of a counter: how much that was. */
#define take_all(word) __sync_lock_test_and_set((word), 0)

#else

#define VALUE_NOW(word) (*(volatile u64 *)(word))

/* To the verifier the difference of two pointers is a number. It is of whole words, so
 * that the keys that memtrace knows (ABI_CLAIM_PROCESS) are others. */
ALWAYS_INLINE u64 claim_key(const void *word)
{
	u64 at = (u64)word, from = (u64)control_get();

	opaque(at);
	opaque(from);
	return at - from;
}

ALWAYS_INLINE int claim_by(u64 key, u64 *word, u64 value)
{
	u64 owner = VALUE_NOW(word);

	if (owner || !claim_key_for(key, value))
		return 0;
	owner = VALUE_NOW(word);
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

/* Nobody else takes it at the same time (traffic_process_ends()), others only add. */
ALWAYS_INLINE u64 take_all(u64 *word)
{
	u64 all = VALUE_NOW(word);

	__sync_fetch_and_add(word, -all);
	return all;
}

#ifdef WITH_TRAFFIC
#define PEAK_TRIES 8

/*
 * Of traffic_record.h. `live` was read after the bytes were added, and tells what
 * others did in between as well: a peak is exact for as long as one processor at a time
 * counts there, and else may lack what others freed within the same microsecond. The same
 * holds of memtrace, which raises a peak without asking (traffic_tables.c).
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
