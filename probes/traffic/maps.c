/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The tables of traffic.c. */

struct thread_record {
	struct abi_thread head;
	u64 recent[TEMPORARY_EVENTS];
};

BPF_F_TABLE("array", u32, struct abi_traffic, traffic, ENTRIES(MAX_STACKS),
	    BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct thread_record, threads, ENTRIES(THREAD_SLOTS),
	    BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_traffic_all, traffic_all, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_process_live, process_live, PROCESS_SLOTS,
	    BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct abi_sizes, sizes, CPU_SLOTS, BPF_F_MMAPABLE);

ALWAYS_INLINE struct abi_traffic_all *traffic_all_get(void)
{
	short_key zero = 0;

	return traffic_all.lookup(&zero);
}
