/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Does a new process use the memory of the one that forked it, as after vfork()? */
ALWAYS_INLINE int shares_memory(const struct bpf_raw_tracepoint_args *ctx)
{
	u64 parent_mm = 0, child_mm = 0;

	bpf_probe_read_kernel(&parent_mm, 8, (void *)(ctx->args[0] + OFFSET_TASK_MM));
	bpf_probe_read_kernel(&child_mm, 8, (void *)(ctx->args[1] + OFFSET_TASK_MM));
	return child_mm && child_mm == parent_mm;
}
