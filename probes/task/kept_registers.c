/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The hit is in the kernel, which keeps the registers of user space. */

#define EVENT_CONTEXT void

/* Read the thread's user-space registers. Returns 0 for a thread of the kernel, which has
 * none. */
ALWAYS_INLINE int event_registers(void *ctx, struct pt_regs *ret)
{
	return !bpf_probe_read_kernel(ret, sizeof(*ret), user_registers()) &&
	       REG_IS_USER(ret);
}
