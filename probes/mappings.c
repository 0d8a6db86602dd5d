/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Events of mmap, munmap and mremap (abi.h). Only with --mappings. */

BPF_RINGBUF_OUTPUT(events, 256 /* 1 MiB */);

ALWAYS_INLINE int is_mapping(u32 effect)
{
	return effect >= ABI_EFFECT_MAP && effect <= ABI_EFFECT_REMAP;
}

ALWAYS_INLINE void mapping_event(const struct tracee *t, u32 kind, u64 address,
				 u64 size_bytes, u64 extra, u32 stack)
{
	u64 ticks = tick_now();
	/* No copy on the BPF stack, which is nearly full. */
	struct abi_event *event = events.ringbuf_reserve(sizeof(struct abi_event));

	if (!event) {
		count(ABI_EVENTS_LOST, 1);
		return;
	}
	event->kind = kind;
	event->process = t->slot;
	event->thread = ABI_THREAD(tracee_tid(t), ticks);
	event->address = address;
	event->size_bytes = size_bytes;
	event->extra = extra;
	event->stack = stack;
	event->tick = ticks;
	/* This wakes memtrace if it has read all earlier events. */
	events.ringbuf_submit(event, 0);
}

ALWAYS_INLINE void mapping_begin(const struct tracee *t, struct pt_regs *ctx,
				 struct abi_pending *p)
{
	if (ABI_SITE_EFFECT(p->site) != ABI_EFFECT_UNMAP)
		p->flags |= ABI_PENDING_WANTS_STACK;
	if (ABI_SITE_EFFECT(p->site) == ABI_EFFECT_UNMAP)
		mapping_event(t, ABI_EVENT_UNMAP, p->address, p->size_bytes, 0, 0);
	else if (ABI_SITE_EFFECT(p->site) == ABI_EFFECT_REMAP) {
		/* mremap(old, old_size, new_size, flags): `size_bytes` is new_size. */
		mapping_event(t, ABI_EVENT_REMAP, p->address, REG_ARG1(ctx),
			      REG_ARG3(ctx), 0);
	}
}

/* Returns 1 if the call succeeded. MAP_FAILED and the failure of munmap, an int, are both
 * -1. */
ALWAYS_INLINE int mapping_done(u32 effect, u64 result)
{
	return effect == ABI_EFFECT_UNMAP ? (u32)result == 0 : result != (u64)-1;
}

ALWAYS_INLINE void mapping_end(const struct tracee *t, const struct abi_pending *p,
			       u64 result, u32 stack)
{
	u32 effect = ABI_SITE_EFFECT(p->site);

	if (!mapping_done(effect, result)) {
		mapping_event(t, ABI_EVENT_FAILED, 0, 0, 0, 0);
	} else if (effect == ABI_EFFECT_UNMAP) {
		mapping_event(t, ABI_EVENT_DONE, 0, 0, 0, 0);
	} else {
		mapping_event(
			t, effect == ABI_EFFECT_MAP ? ABI_EVENT_MAP : ABI_EVENT_REMAPPED,
			result, p->size_bytes, 0, stack);
	}
}
