// SPDX-License-Identifier: Apache-2.0
/* Bytes of code where it is not known where an instruction begins. */
#include "arch/insn.h"

static int64_t rel32(const uint8_t *bytes)
{
	return (int32_t)(bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
			 (uint32_t)bytes[3] << 24);
}

bool insn_branch_target(const uint8_t *code, size_t size, int64_t *ret)
{
	if (size >= 2 && ((code[0] & 0xf0) == 0x70 || code[0] == 0xeb ||
			  (code[0] >= 0xe0 && code[0] <= 0xe3)))
		*ret = 2 + (int8_t)code[1];
	else if (size >= 5 && (code[0] == 0xe8 || code[0] == 0xe9))
		*ret = 5 + rel32(code + 1);
	else if (size >= 6 && ((code[0] == 0x0f && (code[1] & 0xf0) == 0x80) ||
			       (code[0] == 0xc7 && code[1] == 0xf8))) /* xbegin */
		*ret = 6 + rel32(code + 2);
	else
		return false;
	return true;
}

/* Zeroes, nop, int3. */
bool insn_is_padding(uint8_t byte)
{
	return byte == 0x00 || byte == 0x90 || byte == 0xcc;
}

/* Intel SDM volume 2, CALL: opcode E8, and FF /2 with two to eight bytes. */
bool insn_ends_call(const uint8_t *code)
{
	if (code[3] == 0xe8)
		return true;
	for (size_t length = 2; length <= 7; length++) {
		const uint8_t *at = &code[INSN_CALL_MAX - length];

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}
