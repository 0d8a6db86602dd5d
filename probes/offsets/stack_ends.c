/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The number of pages from the page of `sp` to the end of the thread's stack. The main
 * thread's stack starts where the kernel put it (mm_struct.start_stack). In glibc and
 * musl the stack of any other thread ends with what the thread register points to.
 * Otherwise the end is not known: ABI_MISS_PAGES. */
ALWAYS_INLINE u64 miss_page_count(u64 sp)
{
	u64 count = -1ull;
	void *task = current_task();
	void *mm = kernel_pointer(task, OFFSET_TASK_MM);
	u64 first = kernel_number(mm, OFFSET_MM_START_STACK);
	u64 thread = kernel_number(task, OFFSET_TASK_FSBASE);
	u64 before = sp / ABI_MISS_PAGE_BYTES - 1;

	if (first >= sp && (first + 64) / ABI_MISS_PAGE_BYTES - before < count)
		count = (first + 64) / ABI_MISS_PAGE_BYTES - before;
	if (thread >= sp && (thread + 64) / ABI_MISS_PAGE_BYTES - before < count)
		count = (thread + 64) / ABI_MISS_PAGE_BYTES - before;
	return count == -1ull ? ABI_MISS_PAGES : count;
}
