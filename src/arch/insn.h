/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode instructions for placing probes and for unwinding: length, general registers
 * written, possible successors. The decoder of a processor knows only a part of its
 * instructions, on purpose: it describes an instruction exactly or says that it does not
 * know it. Without a decoder (arch.has_decoder) each instruction is unknown.
 */
#ifndef ARCH_INSN_H
#define ARCH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn_registers.h"

enum insn_kind {
	INSN_UNKNOWN, /* the length is unknown, or the instruction extends past `size` */
	INSN_OPAQUE,  /* only the length is known */
	INSN_PLAIN,   /* changes only `writes`, and control continues after it */
	INSN_ENDBR,
	INSN_NOP,
	INSN_COPY, /* mov of all 64 bits of register `from` to `to` */
	INSN_TEST, /* test of all 64 bits of `from` and `to` */
	INSN_PUSH, /* push of register `from` */
	INSN_SYSCALL,
	INSN_JCC,  /* conditional jump to `target` */
	INSN_LOOP, /* loop and jrcxz: like INSN_JCC; loop writes rcx */
	INSN_JMP,
	INSN_CALL,
	INSN_JMP_INDIRECT,
	INSN_CALL_INDIRECT,
	INSN_RET,
};

/* How an instruction uses its memory operand. */
enum insn_memory {
	INSN_MEMORY_NONE, /* no memory operand, or only the stack of push, call, ret */
	INSN_MEMORY_LOAD, /* loads 64 bits into `to`; pop counts as a load from rsp + 0 */
	INSN_MEMORY_STORE,   /* stores the 64 bits of `from` */
	INSN_MEMORY_SET,     /* stores the constant `value`, sign-extended to 64 bits */
	INSN_MEMORY_ADDRESS, /* lea: puts the 64-bit address into `to` */
	INSN_MEMORY_OTHER,   /* may read and write up to 64 bytes at the operand */
};

/* The base of a memory operand: enum insn_register, or one of these. */
#define INSN_BASE_NONE 0xff /* an absolute address, or one with an index only */
#define INSN_BASE_PC   0xfe /* relative to the first byte of this instruction */

struct insn {
	enum insn_kind kind;
	uint8_t length; /* length, bytes; 0 for INSN_UNKNOWN */
	uint8_t from, to;
	/* Bit n: this instruction itself may change register n or a part of it. 0 for
	 * INSN_OPAQUE and INSN_UNKNOWN. */
	insn_register_set writes;
	/* bytes added to rsp; instructions that are described change rsp in no other
	 * way */
	int32_t sp_change;
	/* INSN_JCC, LOOP, JMP, CALL: bytes from the first byte of this instruction */
	int64_t target;
	/* The low 32 bits of `from` are copied to `to`; the upper ones become 0. */
	bool copies_half;
	bool multiplies; /* `to` becomes the low 64 bits of `to` times `from` */
	bool has_value;  /* `to` becomes `value`, whatever it was before */
	int64_t value;
	enum insn_memory memory;
	uint8_t base;         /* base of the memory operand */
	bool is_indexed;      /* the address also has an index register */
	int32_t displacement; /* bytes from `base` */
	/* rsp becomes rbp + displacement, and with `is_leave` rbp is then popped. The
	 * kind is INSN_OPAQUE, for callers that do not read this. */
	bool sp_from_bp, is_leave;
	/* INSN_OPAQUE: rsp changes in a way that is not described. */
	bool moves_sp;
	uint8_t condition; /* INSN_JCC: condition code, 0 to 15 (SDM volume 2, appendix
			      B.1.4.7) */
	bool traps;        /* hlt, ud2: in user space control never continues after it */
	bool halts;        /* hlt, which code that starts threads contains */
	bool is_breakpoint;
	/* INSN_UNKNOWN: no processor executes these bytes. Compilers do not emit them. */
	bool is_invalid;
	bool zeroes;   /* the shortest instruction that makes register `to` 0 */
	bool prefixed; /* has a prefix other than REX */
	/* The kernel refuses a uprobe here (is_prefix_bad() and good_insns_64 of
	 * arch/x86/kernel/uprobes.c), or takes the instruction for another one: xchg
	 * r8,rax is 0x90 after a REX.B, and would be skipped as a nop. */
	bool no_probe;
};

/* Decode the instruction at code[0]. Reads only the `size` bytes of `code`. */
void insn_decode(const uint8_t *code, size_t size, struct insn *ret);

/* The distance from code[0] to the target, if these bytes are a branch or a call to a
 * constant target. False: they are not. */
bool insn_branch_target(const uint8_t *code, size_t size, int64_t *ret);

/* Does `byte` fill the space between functions or sections? */
bool insn_is_padding(uint8_t byte);

/* Bytes before a return address that insn_ends_call() reads. */
#define INSN_CALL_MAX 8

/* Can `code`, INSN_CALL_MAX bytes, end with a call? */
bool insn_ends_call(const uint8_t *code);

#endif
