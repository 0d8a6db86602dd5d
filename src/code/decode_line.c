// SPDX-License-Identifier: Apache-2.0
/* Several instructions, one after the other. */
#include "code/decode.h"

size_t insn_decode_to(const uint8_t *code, size_t size, size_t at)
{
	size_t offset = 0;

	while (offset < at) {
		struct insn insn;

		insn_decode(code + offset, size - offset, &insn);
		if (!insn.length)
			return INSN_NOT_DECODED;
		offset += insn.length;
	}
	return offset;
}

size_t insn_skip_nops(const uint8_t *code, size_t size, size_t at)
{
	struct insn insn;

	while (at < size) {
		insn_decode(code + at, size - at, &insn);
		if (insn.kind != INSN_NOP)
			break;
		at += insn.length;
	}
	return at;
}

bool insn_line_ends(const uint8_t *code, size_t size)
{
	size_t at = 0;
	struct insn insn;

	do {
		insn_decode(code + at, size - at, &insn);
		at += insn.length;
	} while (insn.kind == INSN_PLAIN || insn.kind == INSN_ENDBR ||
		 insn.kind == INSN_COPY || insn.kind == INSN_TEST ||
		 insn.kind == INSN_PUSH);
	if (insn.kind != INSN_CALL)
		return false;
	insn_decode(code + at, size - at, &insn);
	return insn.kind == INSN_NOP;
}
