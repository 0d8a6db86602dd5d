/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Process and thread id in memtrace's own pid namespace. 0: not in that namespace. */
ALWAYS_INLINE u64 current_pid_tgid(void)
{
	struct bpf_pidns_info ns = {};

	if (bpf_get_ns_current_pid_tgid(PIDNS_DEVICE, PIDNS_INODE, &ns, sizeof(ns)))
		return 0;
	return (u64)ns.tgid << 32 | ns.pid;
}
