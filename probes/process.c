/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Find the process of a probe hit in the table `processes` (abi.h). */

/* A probe hit of a traced process. */
struct tracee {
	struct abi_control *ctl;
	struct abi_process *process;
	u64 caller; /* ABI_CALLER_KEY() of the thread */
	u32 tid;    /* thread id; 0: not read yet */
	u32 slot;
};

/* The record of a process, or NULL. */
ALWAYS_INLINE struct abi_process *process_find(u64 tgid, u32 *slot)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++) {
		short_key at = abi_process_slot(tgid, i, PROCESS_SLOTS);
		struct abi_process *p = processes.lookup(&at);

		if (p && p->tgid == tgid) {
			*slot = at;
			return p;
		}
	}
	return NULL;
}

/* Take a free slot for a process that has none. Returns NULL if all of its slots are
 * taken. */
ALWAYS_INLINE struct abi_process *process_take_slot(u64 tgid, u32 *slot)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < ABI_PROCESS_WAYS; i++) {
		short_key at = abi_process_slot(tgid, i, PROCESS_SLOTS);
		struct abi_process *p = processes.lookup(&at);

		if (p && p->tgid == 0 && claim_process(&p->tgid, at, tgid)) {
			p->since_ns = bpf_ktime_get_ns();
			p->lender = 0;
			p->code_went = 0;
			p->family = p->parting = ABI_FAMILY(p->since_ns, at);
			*slot = at;
			return p;
		}
	}
	return NULL;
}

/* memtrace reads the slots when this has changed (abi_control.slots_taken). */
ALWAYS_INLINE void count_slot(void)
{
	struct abi_control *ctl = control_get();

	if (ctl)
		__sync_fetch_and_add(&ctl->slots_taken, 1);
}

/* How often to look for the slot of a process while another thread of it is taking that
 * slot. This takes less than a microsecond, unless the thread is preempted. */
#define PROCESS_LOOKS 16

/*
 * Give a process a slot. Returns NULL, counted, if it gets none. Only one thread of the
 * process may do so at a time: slots become free at any moment, and another thread could
 * find a free slot before the one that the process has got.
 */
ALWAYS_INLINE struct abi_process *process_claim(u64 tgid, u32 *slot)
{
	u64 key = ABI_CLAIM_SLOT_OF(tgid);
	struct abi_process *p = NULL;

	if (claim_key_for(key, tgid)) {
		p = process_find(tgid, slot);
		if (!p) {
			p = process_take_slot(tgid, slot);
			if (p)
				count_slot();
		}
		claim_end(key);
	} else {
#pragma clang loop unroll(disable)
		for (u32 i = 0; !p && i < PROCESS_LOOKS; i++)
			p = process_find(tgid, slot);
	}
	if (!p)
		count(ABI_PROCESSES_FULL, 1);
	return p;
}

/* The control record if the probes are enabled, else NULL. */
ALWAYS_INLINE struct abi_control *control_open(void)
{
	struct abi_control *ctl = control_get();

	return ctl && ctl->enabled ? ctl : NULL;
}

/*
 * Identifies this thread among all live threads, by its kernel stack: the registers are
 * at the top of that stack (task_pt_regs()). This costs nothing. The helper that returns
 * the thread id takes some 20 ns where returns in the kernel are slowed down against
 * speculation. For the verifier the difference of two pointers is a number.
 */
ALWAYS_INLINE u64 caller_key(const void *ctx, const struct abi_control *ctl)
{
	return ABI_CALLER_KEY((u64)ctx - (u64)ctl);
}
