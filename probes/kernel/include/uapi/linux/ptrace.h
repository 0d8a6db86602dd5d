/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The context of a uprobe program: the kernel's struct pt_regs (x86_64:
 * arch/x86/include/asm/ptrace.h; aarch64: struct user_pt_regs of uapi/asm/ptrace.h). All
 * 64-bit kernels have had the same layout. bpf/kernel_offsets.c compares it with the
 * running kernel's BTF.
 */
#ifndef MEMTRACE_UAPI_LINUX_PTRACE_H
#define MEMTRACE_UAPI_LINUX_PTRACE_H

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
struct user_pt_regs {
	unsigned long long regs[31];
	unsigned long long sp;
	unsigned long long pc;
	unsigned long long pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
#else
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
#endif

#endif
