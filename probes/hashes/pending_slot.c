/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Each thread has a key of the hash for its unfinished call, and no slot. */

BPF_F_TABLE("hash", u64, struct abi_pending, pending_spill, PENDING_SPILL, AS_NEEDED);

#define pending_slot(t) ((struct abi_pending *)NULL)
