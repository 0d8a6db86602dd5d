/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode x86-64 instructions for placing probes: length, general registers written,
 * possible successors. The decoder knows only a part of the instruction set, on
 * purpose: it describes an instruction exactly or says that it does not know it. (Intel
 * SDM volume 2, chapter 2 and the opcode maps of appendix A; 64-bit mode.)
 */
#ifndef CODE_DECODE_H
#define CODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSN_LENGTH_MAX 15 /* SDM volume 2, 2.3.11 */

/* Register numbers as in instructions; r8 to r15 are 8 to 15. */
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
	INSN_UNKNOWN, /* the length is unknown, or the instruction extends past `size` */
	INSN_OPAQUE,  /* only the length is known */
	INSN_PLAIN,   /* changes only `writes`, and control continues after it */
	INSN_ENDBR,
	INSN_NOP,  /* 0x90 and 0f 1f /0, also prefixed */
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
	uint16_t writes;
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
	bool prefixed;     /* has a prefix other than REX */
	/* The kernel refuses a uprobe here (is_prefix_bad() and good_insns_64 of
	 * arch/x86/kernel/uprobes.c), or takes the instruction for another one: xchg
	 * r8,rax is 0x90 after a REX.B, and would be skipped as a nop. */
	bool no_probe;
};

/* Decode the instruction at code[0]. Reads only the `size` bytes of `code`. */
void insn_decode(const uint8_t *code, size_t size, struct insn *ret);

#define INSN_NOT_DECODED SIZE_MAX

/* Decode from code[0] on: the first offset, not before `at`, where an instruction begins.
 * It is `at` when one begins there. INSN_NOT_DECODED: an instruction before is unknown.
 */
size_t insn_decode_to(const uint8_t *code, size_t size, size_t at);

/* The first offset at or after `at` where no nop begins; at most `size` if `at` is. */
size_t insn_skip_nops(const uint8_t *code, size_t size, size_t at);

/* Bytes that insn_line_ends() needs at most. */
#define INSN_LINE_MAX 96

/* Is this straight-line code with a nop after its first call? Compilers put nops after
 * a call that they know not to return. */
bool insn_line_ends(const uint8_t *code, size_t size);

#endif
