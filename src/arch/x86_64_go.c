// SPDX-License-Identifier: Apache-2.0
#include "arch/go_code.h"

#include <string.h>

/*
 * The code after the call (src/runtime/asm_amd64.s, asmcgocall; docs/unwinding.md, "Go"):
 * mov g(%rsp), %rX; mov 8(%rX), %rY; sub depth(%rsp), %rY; mov %rX, %fs:...; mov %rY,
 * %rsp. If asmcgocall did not change the stack: mov sp(%rsp), %rX; mov %rX, %rsp. Then in
 * both cases: mov %eax, ...(%rsp); ret.
 */

/* Instruction encodings: Intel SDM volume 2, 2.1 (ModR/M, SIB) and 2.2.1 (REX). */
#define REX_W    0x48u
#define REX_R    0x04u
#define REX_B    0x01u
#define OP_LOAD  0x8bu
#define OP_SUB   0x2bu
#define OP_STORE 0x89u
#define SIB_SP   0x24u
#define RSP      4u

/* The code that is not decoded yet. */
struct code {
	const uint8_t *at;
	size_t left;
};

/* An instruction with a register operand and a memory or second register operand. */
struct operation {
	unsigned reg, base; /* `base`: base register of memory, or the second register */
	bool is_memory;
	int32_t displacement;
};

static bool take_displacement(struct code *c, unsigned size_bytes, int32_t *ret)
{
	int8_t byte;

	if (c->left < size_bytes)
		return false;
	*ret = 0;
	if (size_bytes == 1) {
		memcpy(&byte, c->at, 1);
		*ret = byte;
	} else {
		memcpy(ret, c->at, size_bytes);
	}
	c->at += size_bytes;
	c->left -= size_bytes;
	return true;
}

/* Decode a 64-bit instruction with this opcode. False if the next instruction has
 * another one; then *c is unchanged. */
static bool take(struct code *c, unsigned opcode, struct operation *ret)
{
	static const unsigned displacements[] = {0, 1, 4, 0};
	struct code rest = *c;
	unsigned mode;

	if (rest.left < 4 || (rest.at[0] & ~(REX_R | REX_B)) != REX_W ||
	    rest.at[1] != opcode)
		return false;
	mode = rest.at[2] >> 6;
	ret->reg = (rest.at[2] >> 3 & 7) | (rest.at[0] & REX_R) << 1;
	ret->base = (rest.at[2] & 7) | (rest.at[0] & REX_B) << 3;
	ret->is_memory = mode != 3;
	rest.at += 3;
	rest.left -= 3;
	if (ret->is_memory && (ret->base & 7) == RSP) {
		if (*rest.at != SIB_SP || ret->base != RSP)
			return false;
		rest.at++;
		rest.left--;
	} else if (!mode && (ret->base & 7) == 5) {
		return false; /* relative to the pc */
	}
	if (!take_displacement(&rest, displacements[mode], &ret->displacement))
		return false;
	*c = rest;
	return true;
}

static bool load(struct code *c, unsigned base, struct operation *ret)
{
	return take(c, OP_LOAD, ret) && ret->is_memory && ret->base == base;
}

static bool copy(struct code *c, unsigned from, unsigned to)
{
	struct operation o;

	return take(c, OP_STORE, &o) && !o.is_memory && o.reg == from && o.base == to;
}

/* Skip an instruction that begins with these bytes. */
static bool skip(struct code *c, const char *begin, size_t begin_bytes, size_t bytes)
{
	if (c->left < bytes || memcmp(c->at, begin, begin_bytes) != 0)
		return false;
	c->at += bytes;
	c->left -= bytes;
	return true;
}

/* Skip loading the offset of g: mov $offset, %rcx; or mov ...(%rip), %rcx (get_tls). */
static void skip_tls(struct code *c)
{
	if (!skip(c, "\x48\xc7\xc1", 3, 7))
		(void)skip(c, "\x48\x8b\x0d", 3, 7);
}

/* Skip setting g to `reg`: mov %reg, %fs:offset; or mov %reg, %fs:(%rcx). */
static bool skip_set_g(struct code *c, unsigned reg)
{
	uint8_t begin[] = {0x64, REX_W | (reg >> 3 ? REX_R : 0), OP_STORE,
			   (uint8_t)((reg & 7) << 3 | RSP), 0x25};

	if (skip(c, (const char *)begin, sizeof(begin), 9))
		return true;
	begin[3] = (uint8_t)((reg & 7) << 3 | 1);
	return skip(c, (const char *)begin, 4, 4);
}

/* Does the code store the result, if there is one, and return? */
static bool returns(struct code *c)
{
	(void)skip(c, "\x89\x44\x24", 3, 4);
	return c->left && *c->at == 0xc3;
}

/* `*ret`: where on the stack g is. */
static bool by_g(struct code c, int32_t *ret)
{
	struct operation g, high, depth;

	if (!load(&c, RSP, &g) || g.reg == RSP || !load(&c, g.reg, &high) ||
	    high.displacement != 8 || high.reg == RSP || !take(&c, OP_SUB, &depth) ||
	    !depth.is_memory || depth.base != RSP || depth.reg != high.reg ||
	    depth.displacement != g.displacement - 8 || !skip_set_g(&c, g.reg) ||
	    !copy(&c, high.reg, RSP) || !returns(&c))
		return false;
	*ret = g.displacement;
	return true;
}

/* `*ret`: where on the stack its stack pointer is. */
static bool by_sp(struct code c, int32_t *ret)
{
	struct operation sp;

	if (!load(&c, RSP, &sp) || sp.reg == RSP || !copy(&c, sp.reg, RSP) ||
	    !returns(&c))
		return false;
	*ret = sp.displacement;
	return true;
}

enum go_switch go_switch_read(const uint8_t *code, size_t size_bytes, int32_t *ret_offset)
{
	struct code c = {code, size_bytes};

	skip_tls(&c);
	if (by_g(c, ret_offset))
		return GO_SWITCH_G;
	return by_sp(c, ret_offset) ? GO_SWITCH_SP : GO_SWITCH_NONE;
}

/* --- the saved frame pointer ------------------------------------------------------ */

#define PUSH_BP 0x55

/* The change of the stack pointer is push %rbp, or it is followed by mov %rbp, depth -
 * 8(%rsp) (up to Go 1.20). */
bool go_saves_bp(const uint8_t *code, int32_t depth)
{
	uint8_t store[] = {0x48, 0x89, 0x6c, 0x24, (uint8_t)(depth - 8)};
	uint8_t long_store[8] = {0x48, 0x89, 0xac, 0x24};
	int32_t displacement = depth - 8;

	memcpy(long_store + 4, &displacement, 4);
	if (depth == 8)
		return code[0] == PUSH_BP || !memcmp(code + 1, "\x48\x89\x2c\x24", 4);
	return displacement < 128 ? !memcmp(code + 1, store, sizeof(store))
				  : !memcmp(code + 1, long_store, sizeof(long_store));
}
