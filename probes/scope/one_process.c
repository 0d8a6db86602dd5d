/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A session that traces one process. */

/* As tracee_find(). No other process's hits come here
 * (uprobe_prog_run(), kernel/trace/bpf_trace.c). */
ALWAYS_INLINE int tracee_is_here(struct tracee *t, struct pt_regs *ctx)
{
	t->ctl = control_open();
	if (!t->ctl)
		return 0;
	t->slot = t->ctl->only_slot;
	t->process = processes.lookup(&t->slot);
	t->tid = 0;
	t->caller = caller_key(ctx, t->ctl);
	return t->process && t->process->tgid &&
	       !(t->process->tgid & ABI_PROCESS_RETIRED);
}

/* The process has executed a program, and has a new slot. */
ALWAYS_INLINE void only_process_is(u32 slot)
{
	struct abi_control *ctl = control_get();

	if (ctl)
		ctl->only_slot = slot;
}
