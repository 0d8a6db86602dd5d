/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine-dependent parts of unwinding: all are here and in probes/unwind_step.h.
 */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <elf.h>
#include <stdint.h>

#if defined(__x86_64__)

#define ARCH_ELF_MACHINE EM_X86_64

/* DWARF register numbers (x86-64 psABI figure 3.36). Vector registers (from 17 on) are
 * never needed to find a caller, and are not kept. */
enum arch_register {
	ARCH_RBX = 3,
	ARCH_BP = 6,
	ARCH_SP = 7,
	ARCH_R12 = 12,
	ARCH_R13 = 13,
	ARCH_R14 = 14,
	ARCH_R15 = 15,
	ARCH_PC = 16, /* the return address */
	ARCH_REGISTERS,
};

/* Callee-saved registers (psABI figure 3.4). */
#define ARCH_CALLEE_SAVED                                                                \
	(1u << ARCH_RBX | 1u << ARCH_BP | 1u << ARCH_R12 | 1u << ARCH_R13 |              \
	 1u << ARCH_R14 | 1u << ARCH_R15)

/* The distance of the return address from the CFA, the only one that a packed rule can
 * express. */
#define ARCH_RETURN_ADDRESS_OFFSET (-8)

/* The code of a signal trampoline, to recognize trampolines without unwind information
 * (musl, static Go): mov $__NR_rt_sigreturn, %rax; syscall. GDB and libgcc recognize
 * the same bytes. */
#define ARCH_SIGRETURN_CODE                                                              \
	{                                                                                \
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05                     \
	}

#else
#error "this machine is not supported"
#endif

#endif
