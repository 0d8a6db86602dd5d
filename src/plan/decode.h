/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One x86-64 instruction at a time, for placing probes: how long it is, which general
 * registers it changes, where it may go. It knows a part of the instruction set on
 * purpose: what it describes it describes exactly, and it says so when it does not know.
 * (Intel SDM volume 2, chapter 2 and the opcode maps of appendix A; 64-bit mode.)
 */
#ifndef PLAN_DECODE_H
#define PLAN_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_LENGTH_MAX 15 /* SDM volume 2, 2.3.11 */

/* Numbers of the registers as instructions encode them; r8 to r15 are 8 to 15. */
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

enum insn_kind {
	INSN_UNKNOWN, /* not even the length is known, or `size` ends before it does */
	INSN_OPAQUE,  /* only the length is known */
	INSN_PLAIN,   /* changes `writes` and goes on behind itself */
	INSN_ENDBR,
	INSN_NOP,  /* 0x90 and 0f 1f /0, also prefixed */
	INSN_COPY, /* mov of all 64 bits, register `from` to `to` */
	INSN_TEST, /* test of all 64 bits of `from` and `to` */
	INSN_PUSH, /* of register `from` */
	INSN_SYSCALL,
	INSN_JCC,  /* a condition decides between `target` and what is behind */
	INSN_LOOP, /* loop and jrcxz: like INSN_JCC, and writes rcx or nothing */
	INSN_JMP,
	INSN_CALL,
	INSN_JMP_INDIRECT,
	INSN_CALL_INDIRECT,
	INSN_RET,
};

struct insn {
	enum insn_kind kind;
	uint8_t length; /* bytes; 0 for INSN_UNKNOWN */
	uint8_t from, to;
	uint16_t writes;   /* bit n: register n, or a part of it, may be changed by this
			      instruction itself; 0 for INSN_OPAQUE and INSN_UNKNOWN */
	int32_t sp_change; /* bytes added to rsp; a described instruction changes rsp in
			      no other way */
	int64_t target;    /* of INSN_JCC, LOOP, JMP, CALL: bytes from the first byte of
			      this instruction */
	bool prefixed;     /* has a prefix other than REX */
	bool no_probe;     /* the kernel refuses a uprobe here (is_prefix_bad() and
			      good_insns_64 of arch/x86/kernel/uprobes.c), or takes it
			      for another instruction: xchg r8,rax is 0x90 behind a REX.B,
			      and would be skipped as a nop */
};

/* Decode the instruction at code[0]; nothing at or behind code[size] is read. */
void insn_decode(const uint8_t *code, size_t size, struct insn *ret);

#endif
