/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and code that unwinding knows, with probes/unwind_step.h. */
#ifndef ARCH_REGISTERS_H
#define ARCH_REGISTERS_H

#include <stdint.h>

#if defined(__x86_64__)

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

/* SET(register, member) for further registers in struct abi_miss (probes/abi_walk.h). */
#define ARCH_MISS_REGISTERS(SET)                                                         \
	do {                                                                             \
		SET(ARCH_RBX, rbx);                                                      \
		SET(ARCH_R12, r12);                                                      \
		SET(ARCH_R13, r13);                                                      \
		SET(ARCH_R14, r14);                                                      \
		SET(ARCH_R15, r15);                                                      \
	} while (0)

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

/* glibc stores some pointers rotated to the left by ARCH_GUARD_ROTATION bits and combined
 * with the pointer guard (PTR_MANGLE, sysdeps/unix/sysv/linux/x86_64/pointer_guard.h).
 * The guard is at this distance from the thread pointer (tcbhead_t,
 * sysdeps/x86_64/nptl/tls.h). 0: not there. */
#define ARCH_GUARD_OFFSET   0x30
#define ARCH_GUARD_ROTATION 17 /* 2 * 8 + 1 */

/* The note type of registers with vectors, for PTRACE_GETREGSET. */
#define ARCH_VECTOR_STATE NT_X86_XSTATE

#elif defined(__aarch64__)

/* DWARF for the Arm 64-bit Architecture, 4.1. The return address is in x30. */
enum arch_register {
	ARCH_BP = 29,
	ARCH_PC = 30,
	ARCH_SP = 31,
	ARCH_REGISTERS,
};

/* x19 to x29 (AAPCS64 6.1.1). */
#define ARCH_CALLEE_SAVED          0x3ff80000u

/* The probes of a port add members for them. */
#define ARCH_MISS_REGISTERS(SET)   ((void)0)

/* In the frame record (AAPCS64 6.4.6). */
#define ARCH_RETURN_ADDRESS_OFFSET (-8)

/* mov x8, #__NR_rt_sigreturn; svc #0 (GDB recognizes the same). */
#define ARCH_SIGRETURN_CODE                                                              \
	{                                                                                \
		0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4                           \
	}

/* The guard is in a variable of ld.so (sysdeps/aarch64/pointer_guard.h). */
#define ARCH_GUARD_OFFSET   0
#define ARCH_GUARD_ROTATION 0

#define ARCH_VECTOR_STATE   NT_PRFPREG

#else
#error "this machine is not supported"
#endif

#endif
