// SPDX-License-Identifier: Apache-2.0
#include "arch/emulated.h"

#include <string.h>

unsigned emulated_by_kernel(unsigned major, unsigned minor)
{
	unsigned version = major << 16 | (minor & 0xffff), emulated = 0;

	if (version >= (3u << 16 | 16))
		emulated |= EMULATED_BRANCH;
	if (version >= (4u << 16 | 16))
		emulated |= EMULATED_PUSH;
	if (version >= (6u << 16 | 16))
		emulated |= EMULATED_NOPS;
	return emulated;
}

/* Is it one of the kernel's x86_nops[] (arch/x86/include/asm/nops.h)? */
static bool is_kernel_nop(const uint8_t *code, size_t length)
{
	static const uint8_t nops[7][8] = {
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	return length >= 2 && length <= 8 && !memcmp(code, nops[length - 2], length);
}

/* Since 6.18 the kernel replaces a probed five-byte nop by a call, which writes below
 * the stack pointer. The function may have data there (the red zone, psABI 3.2.2),
 * except at its beginning. */
static bool may_become_call(const uint8_t *code, size_t offset, const struct insn *insn)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return insn->length == 5 && offset != 0 &&
	       (offset != sizeof(endbr64) || memcmp(code, endbr64, sizeof(endbr64)));
}

const char *emulated_reason(const uint8_t *function, size_t offset,
			    const struct insn *insn, unsigned kernel)
{
	const uint8_t *code = function + offset;

	if (insn->kind == INSN_NOP && kernel & EMULATED_NOPS &&
	    is_kernel_nop(code, insn->length))
		return may_become_call(function, offset, insn) ? NULL : "nop, emulated";
	if (insn->prefixed)
		return NULL;

	switch (insn->kind) {
	case INSN_NOP:
		return kernel & EMULATED_BRANCH && code[0] == 0x90 ? "nop, emulated"
								   : NULL;
	case INSN_PUSH:
		/* push_setup_xol_ops() does not know REX.W etc. */
		return kernel & EMULATED_PUSH && (insn->length == 1 || code[0] == 0x41)
			       ? "push, emulated"
			       : NULL;
	case INSN_JCC:
		return kernel & EMULATED_BRANCH ? "conditional jump, emulated" : NULL;
	case INSN_JMP:
		return kernel & EMULATED_BRANCH ? "jump, emulated" : NULL;
	case INSN_CALL:
		return kernel & EMULATED_CALL ? "call, emulated" : NULL;
	default:
		return NULL;
	}
}
