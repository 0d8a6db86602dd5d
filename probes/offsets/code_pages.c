/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Changes of a process's code, by its number of executable pages (mm_struct.exec_vm). */

/* The number of pages in executable mappings of the running process. Uprobes execute
 * instructions in a page of their own (kernel/events/uprobes.c, xol_add_vma()). That page
 * is not counted: the kernel maps it at the first such probe, and does not copy it to a
 * child. */
ALWAYS_INLINE u64 code_page_count(void)
{
	void *mm = kernel_pointer(current_task(), OFFSET_TASK_MM);

	return kernel_number(mm, OFFSET_MM_CODE_PAGES) - xol_page_count(mm);
}

/*
 * Detect new code: the old unwind rules must not be used for it. Once the number of pages
 * in executable mappings has become smaller, new code may be in the place of old code, so
 * each change of the number counts as a change of the code. docs/unwinding.md, "When code
 * changes", has what this does not detect.
 */
ALWAYS_INLINE void code_look(volatile struct abi_process *process)
{
	u64 pages = code_page_count();

	if (pages == process->code_pages)
		return;
	if (pages < process->code_pages)
		process->code_went = 1;
	/* The order matters: a reader that sees the new number also sees the change. */
	code_has_changed(process, process->code_went);
	process->code_pages = pages;
}

/* code_look() takes as long as several frames. A walk that repeats the last one word for
 * word may skip it, because it is right as long as the code is the same as for the last
 * walk. The first walk in each tick looks; the others look again if they do not repeat
 * the last one. */
ALWAYS_INLINE void code_look_at_tick(volatile struct abi_process *process)
{
	if (TICK_JIFFIES) {
		u64 now = bpf_jiffies64();

		if (process->looked_at == now)
			return;
		process->looked_at = now;
	}
	code_look(process);
}

ALWAYS_INLINE void code_look_again(volatile struct abi_process *process)
{
	if (TICK_JIFFIES)
		code_look(process);
}

/* The dynamic linker is about to change the list of mapped files, or has done so. */
ALWAYS_INLINE void linker_reports_code(volatile struct abi_process *process)
{
	code_look(process);
	if (process->code_went)
		code_has_changed(process, ABI_CODE_USDT);
}

/* The call that moved the code is over, and its change is counted. */
#define code_pages_settle(process) ((process)->code_pages = code_page_count())

/* The child has the same code as its parent, which is running. It is in the parent's
 * family until the code of one of them changes. */
ALWAYS_INLINE void family_inherit(struct abi_process *child, struct abi_process *parent)
{
	code_look(parent);
	child->code_pages = parent->code_pages;
	child->code_went = parent->code_went;
	if (run_value(ABI_RUN_APART) || child->lender ||
	    ABI_FAMILY_IS_LAST(parent->parting))
		return;
	if (parent->family == parent->parting)
		parent->parting++;
	child->family = parent->family;
}
