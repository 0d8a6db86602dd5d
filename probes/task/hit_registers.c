/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The hit is of an instruction of user space: the program gets its registers. */

#define EVENT_CONTEXT struct pt_regs

ALWAYS_INLINE int event_registers(void *ctx, struct pt_regs *ret)
{
	struct pt_regs *regs = ctx;

	bpf_probe_read_kernel(ret, sizeof(*ret), regs);
	return 1;
}
