/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Store the return addresses that pending return probes have replaced, innermost first
 * (include/linux/uprobes.h, struct return_instance). Returns their number. */
ALWAYS_INLINE u32 miss_replacements(struct abi_miss_room *r)
{
	u64 utask = 0, instance = 0, next = 0, trampoline = 0;
	u32 i;

	bpf_probe_read_kernel(&utask, 8,
			      (void *)(bpf_get_current_task() + OFFSET_TASK_UTASK));
	if (utask)
		bpf_probe_read_kernel(&instance, 8,
				      (void *)(utask + OFFSET_UTASK_INSTANCES));
	if (instance)
		trampoline = trampoline_address();
	trampoline = launder(&r->words[1], trampoline);
#pragma clang loop unroll(disable)
	for (i = 0; i < ABI_MISS_REPLACEMENTS; i++) {
		struct abi_replacement *to = &r->replaced.replacement[i];

		if (!instance)
			break;
		bpf_probe_read_kernel(&to->at, 8,
				      (void *)(instance + OFFSET_INSTANCE_STACK));
		/* If longjmp() leaves a call, the record of its return probe stays until
		 * the next call with a return probe. Something else may have been stored
		 * there meanwhile. */
		to->at = unless(trampoline_at(to->at) ^ trampoline, to->at);
		bpf_probe_read_kernel(&to->return_address, 8,
				      (void *)(instance + OFFSET_INSTANCE_RETURN));
		bpf_probe_read_kernel(&next, 8,
				      (void *)(instance + OFFSET_INSTANCE_NEXT));
		instance = next;
	}
	return launder(&r->words[0], i);
}
