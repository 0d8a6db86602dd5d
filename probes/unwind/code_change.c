/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The dynamic linker is about to change the list of mapped files, or has done so. */
int on_code_change(struct pt_regs *ctx)
{
	u64 tgid = current_pid_tgid() >> 32;
	u32 slot;
	/* Processes that are not traced have a dynamic linker, too: do not take a slot
	 * here. */
	struct abi_process *process = tgid ? process_find(tgid, &slot) : NULL;

	struct abi_moves *m = process ? moves.lookup(&slot) : NULL;

	if (!m)
		return 0;
	store_release(&m->linker_ns, bpf_ktime_get_ns());
	linker_reports_code(process);
	process_news(slot);
	return 0;
}
