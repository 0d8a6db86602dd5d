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

/* How an instruction uses its memory operand. */
enum insn_memory {
	INSN_MEMORY_NONE,    /* no memory operand, or only the stack of push, call, ret */
	INSN_MEMORY_LOAD,    /* loads 64 bits into `to`; pop is one, from rsp + 0 */
	INSN_MEMORY_STORE,   /* stores the 64 bits of `from` */
	INSN_MEMORY_SET,     /* stores the constant `value`, sign-extended to 64 bits */
	INSN_MEMORY_ADDRESS, /* lea: puts the 64-bit address into `to` */
	INSN_MEMORY_OTHER,   /* may read and write up to 64 bytes there */
};

/* Where a memory operand is: enum insn_register, or one of these. */
#define INSN_BASE_NONE 0xff /* an absolute address, or one with an index */
#define INSN_BASE_PC   0xfe /* relative to the first byte of this instruction */

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
	/* The low 32 bits of `from` are copied to `to`, and the upper ones cleared. */
	bool copies_half;
	bool multiplies; /* `to` becomes the low 64 bits of `to` times `from` */
	bool has_value;  /* `to` becomes `value`, whatever it was */
	int64_t value;
	enum insn_memory memory;
	uint8_t base;         /* of the memory operand */
	bool is_indexed;      /* an index register is added to the address, too */
	int32_t displacement; /* bytes from `base` */
	/* rsp becomes rbp + displacement, and with `is_leave` rbp is then popped. Such an
	 * instruction is INSN_OPAQUE to those who do not look at this. */
	bool sp_from_bp, is_leave;
	/* Of INSN_OPAQUE: rsp changes, in a way that is not described. */
	bool moves_sp;
	uint8_t condition; /* of INSN_JCC: 0 to 15 (SDM volume 2, appendix B.1.4.7) */
	bool traps;        /* hlt, ud2: never goes on behind itself in user space */
	bool prefixed;     /* has a prefix other than REX */
	bool no_probe;     /* the kernel refuses a uprobe here (is_prefix_bad() and
			      good_insns_64 of arch/x86/kernel/uprobes.c), or takes it
			      for another instruction: xchg r8,rax is 0x90 behind a REX.B,
			      and would be skipped as a nop */
};

/* Decode the instruction at code[0]; nothing at or behind code[size] is read. */
void insn_decode(const uint8_t *code, size_t size, struct insn *ret);

/* The first offset from `at` on where no nop begins; at most `size` when `at` is. */
size_t insn_skip_nops(const uint8_t *code, size_t size, size_t at);

/* The number of bytes that are enough for insn_line_ends(). */
#define INSN_LINE_MAX 96

/* Is this straight-line code whose first call has a nop behind it? Compilers put nops
 * behind a call that they know not to return. */
bool insn_line_ends(const uint8_t *code, size_t size);

#endif
