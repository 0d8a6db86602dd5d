/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Return addresses that return probes have replaced, for walks without rules. */

/* The pending return probes, innermost first, which have replaced return addresses. */
struct put_back {
	u64 trampoline;
	u64 instance; /* first one without a frame so far; 0: none left */
};

ALWAYS_INLINE void put_back_begin(struct put_back *b, struct walk *w)
{
	void *utask = kernel_pointer(current_task(), OFFSET_TASK_UTASK);

	/* From here on it is a number to the verifier. */
	b->instance = launder(&w->words[3], kernel_number(utask, OFFSET_UTASK_INSTANCES));
	b->trampoline = b->instance ? trampoline_address() : 0;
}

/* Return probes that are examined for a frame. */
#define PUT_BACK_STEPS 4

/* The return address that was at `at`; 0 if it is not found. A frame may have several
 * return probes; the last one has the true return address. longjmp() leaves return probes
 * that have no frame. */
ALWAYS_INLINE u64 put_back_find(struct put_back *b, u64 at)
{
	u64 found = 0;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < PUT_BACK_STEPS; i++) {
		u64 instance = b->instance, stack = 0;

		if (!instance)
			break;
		bpf_probe_read_kernel(&stack, 8,
				      (void *)(instance + OFFSET_INSTANCE_STACK));
		if (stack > at)
			break;
		if (stack == at)
			bpf_probe_read_kernel(
				&found, 8, (void *)(instance + OFFSET_INSTANCE_RETURN));
		bpf_probe_read_kernel(&b->instance, 8,
				      (void *)(instance + OFFSET_INSTANCE_NEXT));
	}
	return found == b->trampoline ? 0 : found;
}

/* `*word` is the return address at `at`. If it is the trampoline, replace it by the one
 * that was there. Returns 0 if that is not found; `*word` is 0 then. */
ALWAYS_INLINE int put_back(struct put_back *b, struct walk *w, u64 at, u64 *word)
{
	if (!*word || *word != b->trampoline)
		return 1;
	walk_note_no_more(w);
	*word = put_back_find(b, at);
	return *word != 0;
}
