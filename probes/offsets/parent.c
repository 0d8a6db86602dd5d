/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The parent of the running process (task_struct.real_parent). */

/* Its pid; 0: none. */
ALWAYS_INLINE u32 parent_tgid(void)
{
	void *parent = kernel_pointer(current_task(), OFFSET_TASK_REAL_PARENT);
	u32 tgid = 0;

	if (parent)
		bpf_probe_read_kernel(&tgid, sizeof(tgid), parent + OFFSET_TASK_TGID);
	return tgid;
}

/* The same if the process uses its parent's memory, else 0. */
ALWAYS_INLINE u32 lender_tgid(void)
{
	void *task = current_task();
	void *parent = kernel_pointer(task, OFFSET_TASK_REAL_PARENT);
	u32 lender = 0;

	if (!parent ||
	    kernel_number(parent, OFFSET_TASK_MM) != kernel_number(task, OFFSET_TASK_MM))
		return 0;
	bpf_probe_read_kernel(&lender, sizeof(lender), parent + OFFSET_TASK_TGID);
	return lender;
}
