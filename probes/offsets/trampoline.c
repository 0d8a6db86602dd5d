/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The trampoline: the address that return probes store in place of a return address. It
 * is the start of the process's xol area (kernel/events/uprobes.c,
 * uprobe_get_trampoline_vaddr()). The offsets come from the running kernel's BTF. */
ALWAYS_INLINE u64 trampoline_address(void)
{
	u64 task = bpf_get_current_task(), mm = 0, area = 0, address = 0;

	bpf_probe_read_kernel(&mm, 8, (void *)(task + OFFSET_TASK_MM));
	bpf_probe_read_kernel(&area, 8, (void *)(mm + OFFSET_MM_XOL_AREA));
	bpf_probe_read_kernel(&address, 8, (void *)(area + OFFSET_XOL_VADDR));
	return address;
}

/* The word at `at`, where a return probe may have put the trampoline. 0: it cannot be
 * read. */
ALWAYS_INLINE u64 trampoline_at(u64 at)
{
	u64 word = 0;

	bpf_probe_read_user(&word, 8, (void *)at);
	return word;
}

/* The number of pages that the process with the memory `mm` has for uprobes. */
#define xol_page_count(mm) (kernel_number((mm), OFFSET_MM_XOL_AREA) != 0)
