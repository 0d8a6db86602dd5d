/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The numbers that memtrace has found for stacks of unwind misses. */

BPF_F_TABLE("array", u32, u64, late_numbers, ABI_LATE_NUMBERS, BPF_F_MMAPABLE);

/* Returns 0 if the event's stack has a number, and sets event->stack to it. Otherwise
 * returns 1, after it has sent the event to memtrace, which counts it once there is a
 * number. An event without a stack is dropped. */
ALWAYS_INLINE int traffic_is_late(struct abi_late *event)
{
	if (!(event->stack & ABI_MISS_STACK_BIT))
		return 0;

	short_key at = event->stack & (ABI_LATE_NUMBERS - 1);
	u64 *number = late_numbers.lookup(&at);

	if (number && ABI_LATE_NUMBER_STACK(*number) == event->stack) {
		event->stack = *number;
		return 0;
	}
	if (event->stack != ABI_NO_STACK)
		late_send(event);
	return 1;
}
