/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Each thread has a slot for its unfinished call, or an entry of the hash. */

BPF_F_TABLE("array", u32, struct abi_pending, pending, ABI_PENDING_SLOTS, BPF_F_MMAPABLE);
BPF_F_TABLE("hash", u64, struct abi_pending, pending_spill, PENDING_SPILL, AS_NEEDED);

ALWAYS_INLINE struct abi_pending *pending_slot(const struct tracee *t)
{
	short_key at = ABI_CALLER_AT(t->caller, ABI_PENDING_BITS);

	return pending.lookup(&at);
}
