// SPDX-License-Identifier: Apache-2.0
#include "plan/jump.h"

#include <string.h>

#if defined(__x86_64__)

/* Intel SDM volume 2: JMP rel8 is EB ib, JMP rel32 is E9 id, ENDBR64 is F3 0F 1E FA. */
bool jump_decode(const unsigned char *code, size_t size, uint64_t address, uint64_t *ret)
{
	static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t wide;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (size - at >= 2 && code[at] == 0xeb) {
		*ret = address + at + 2 + (uint64_t)(int64_t)(int8_t)code[at + 1];
		return true;
	}
	if (size - at >= 5 && code[at] == 0xe9) {
		memcpy(&wide, code + at + 1, sizeof(wide));
		*ret = address + at + 5 + (uint64_t)(int64_t)wide;
		return true;
	}
	return false;
}

#elif defined(__aarch64__)

/* Arm ARM C6.2: B is 000101 imm26, BTI is the hint 1101 0101 0000 0011 0010 0100 xx01
 * 1111. */
bool jump_decode(const unsigned char *code, size_t size, uint64_t address, uint64_t *ret)
{
	uint32_t word;
	size_t at = 0;

	if (size >= 4) {
		memcpy(&word, code, 4);
		if ((word & 0xffffff3f) == 0xd503241f)
			at = 4;
	}
	if (size - at < 4)
		return false;
	memcpy(&word, code + at, 4);
	if (word >> 26 != 5)
		return false;
	*ret = address + at + (uint64_t)((int64_t)((uint64_t)word << 38) >> 36);
	return true;
}

#else
#error "this machine is not supported"
#endif
