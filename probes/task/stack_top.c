/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The user-space registers of the running task, on kernels without cookies. */

/* At the top of the kernel stack (arch/x86/include/asm/processor.h, task_pt_regs()). */
#define user_registers()                                                                 \
	(kernel_pointer(current_task(), OFFSET_TASK_STACK) + KERNEL_STACK_BYTES -        \
	 sizeof(struct pt_regs))
