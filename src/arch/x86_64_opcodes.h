/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the opcode maps that x86_64_decode.c knows: for each opcode of one byte,
 * and of two bytes after 0x0f, its operands and the registers that it writes. (Intel
 * SDM volume 2, tables, 64-bit mode.)
 */
#ifndef ARCH_X86_64_OPCODES_H
#define ARCH_X86_64_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

#define OPCODE_MODRM  0x0001
#define OPCODE_IMM8   0x0002
#define OPCODE_IMM    0x0004 /* an immediate of two or four bytes, by the operand size */
#define OPCODE_BYTE   0x0008 /* byte operands: without REX, 4 to 7 are ah, ch, dh, bh */
#define OPCODE_W_RM   0x0010 /* writes the operand of ModRM.rm if it is a register */
#define OPCODE_W_REG  0x0020 /* writes the operand of ModRM.reg */
#define OPCODE_W_LOW  0x0040 /* writes the register of the opcode's low three bits */
#define OPCODE_W_RAX  0x0080
#define OPCODE_W_RDX  0x0100
#define OPCODE_GROUP  0x0200 /* ModRM.reg chooses the instruction: opcode_group() */
#define OPCODE_OPAQUE 0x0400 /* the registers that it writes are not described */
#define OPCODE_BAD    0x0800 /* not an opcode, or one with unknown length */

uint16_t opcode_flags(uint8_t opcode, bool two_byte);

/* Is the one-byte opcode invalid in 64-bit mode, and not the beginning of a newer
 * encoding, as 0xd5 is (table A-2, "i64")? */
bool opcode_is_invalid(uint8_t opcode);

/* Further flags of an opcode with OPCODE_GROUP, for ModRM.reg (0 to 7). */
uint16_t opcode_group(uint8_t opcode, bool two_byte, unsigned reg);

#endif
