/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The running task, and a pointer or a number in a structure of the kernel. */

#define current_task() ((void *)bpf_get_current_task())

ALWAYS_INLINE u64 kernel_number(const void *in, u32 offset)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), in + offset);
	return value;
}

#define kernel_pointer(in, offset) ((void *)kernel_number((in), (offset)))
