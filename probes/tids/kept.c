/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A call of this thread begins. Returns the thread id. With one process only this
 * function needs the task. That takes 20 ns or more, so the id is cached. */
ALWAYS_INLINE u32 tracee_begins(const struct tracee *t)
{
	struct abi_last_free *last = last_free_of(t->caller);
	u32 tid = 0;

	if (last && last_free_is(last, t->caller))
		tid = ABI_CALLER_TID(last->owner);
	if (tid)
		return tid;
	tid = *(u32 *)(get_current_task_btf() + OFFSET_TASK_PID);
	if (!last || !t->ctl->keeps_tids)
		return tid;
	/* Do not take another thread's record: its last free matters more. */
	if (!last->owner)
		last->key = 0;
	else if (!last_free_is(last, t->caller))
		return tid;
	store_release(&last->owner, t->caller | tid);
	return tid;
}

/* The cached thread id of this thread has become invalid. */
ALWAYS_INLINE void tid_ends(void)
{
	struct abi_control *ctl = control_get();

	if (!ctl)
		return;

	u64 caller = caller_key(task_pt_regs(get_current_task_btf()), ctl);
	struct abi_last_free *last = last_free_of(caller);

	if (last && last_free_is(last, caller))
		store_release(&last->owner, 0);
}

/* sched_process_exit: a thread ends, and its kernel stack may be reused. */
int on_thread_end(struct bpf_raw_tracepoint_args *ctx)
{
	tid_ends();
	return 0;
}
