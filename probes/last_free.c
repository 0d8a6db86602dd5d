/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The last free of each thread. */

BPF_F_TABLE("array", u32, struct abi_last_free, last_free, ABI_LAST_FREE_SLOTS,
	    BPF_F_MMAPABLE);

/* The record of the thread's last free. */
ALWAYS_INLINE struct abi_last_free *last_free_of(u64 caller)
{
	short_key at = ABI_CALLER_AT(caller, ABI_LAST_FREE_BITS);

	return last_free.lookup(&at);
}

/* Returns 1 if the record is this thread's. */
ALWAYS_INLINE int last_free_is(const struct abi_last_free *last, u64 caller)
{
	return (READ_ONCE(last->owner) ^ caller) >> ABI_CALLER_TID_BITS == 0;
}
