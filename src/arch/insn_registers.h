/* SPDX-License-Identifier: Apache-2.0 */
/*
 * General registers by their numbers in instructions, and what they are used for. Code
 * outside of arch/ names a register by its use: INSN_SP, INSN_BP, INSN_RESULT,
 * INSN_ARGUMENTS.
 */
#ifndef ARCH_INSN_REGISTERS_H
#define ARCH_INSN_REGISTERS_H

#include <stdint.h>

#if defined(__x86_64__)

#define INSN_LENGTH_MAX 15 /* SDM volume 2, 2.3.11 */

/* r8 to r15 are 8 to 15. */
enum insn_register {
	INSN_RAX,
	INSN_RCX,
	INSN_RDX,
	INSN_RBX,
	INSN_RSP,
	INSN_RBP,
	INSN_RSI,
	INSN_RDI,
	INSN_REGISTERS = 16,
};

/* Bit n: register n. */
typedef uint16_t insn_register_set;

#define INSN_SP     INSN_RSP
#define INSN_BP     INSN_RBP
#define INSN_RESULT INSN_RAX
/* Arguments in registers (psABI 3.2.3). */
#define INSN_ARGUMENT_0 INSN_RDI
#define INSN_ARGUMENT_1 INSN_RSI
#define INSN_ARGUMENT_2 INSN_RDX
#define INSN_ARGUMENT_3 INSN_RCX
#define INSN_ARGUMENT_4 8
#define INSN_ARGUMENT_5 9

/* Registers that a call may change (psABI 3.2.1): all except rbx, rbp, r12 to r15,
 * rsp. */
#define INSN_CALL_CHANGES 0x0fc7u

/* Bytes below the stack pointer that signal handlers leave alone (psABI 3.2.2). */
#define INSN_RED_ZONE 128

/* insn.condition of a jump that is taken if the values compared are the same (SDM volume
 * 2, appendix B.1.4.7). */
#define INSN_EQUAL 4

#elif defined(__aarch64__)

#define INSN_LENGTH_MAX   4

/* x0 to x30; 31 is the stack pointer. */
enum insn_register {
	INSN_REGISTERS = 32,
};

/* Bit n: register n. */
typedef uint32_t insn_register_set;

#define INSN_SP           31
#define INSN_BP           29
#define INSN_RESULT       0
/* Arguments in registers (AAPCS64 6.8.2). */
#define INSN_ARGUMENT_0   0
#define INSN_ARGUMENT_1   1
#define INSN_ARGUMENT_2   2
#define INSN_ARGUMENT_3   3
#define INSN_ARGUMENT_4   4
#define INSN_ARGUMENT_5   5

/* All except x19 to x29 and sp (AAPCS64 6.1.1). */
#define INSN_CALL_CHANGES 0x4007ffffu

#define INSN_RED_ZONE     0

/* The condition EQ (Arm ARM C1.2.4). */
#define INSN_EQUAL        0

#else
#error "this machine is not supported"
#endif

#endif
