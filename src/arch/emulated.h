/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that the kernel emulates at a uprobe; it steps through others in a copy.
 */
#ifndef ARCH_EMULATED_H
#define ARCH_EMULATED_H

#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

/* The instructions that the kernel emulates at a uprobe (arch/x86/kernel/uprobes.c). */
enum emulated {
	EMULATED_BRANCH = 1, /* jmp, jcc and the one-byte nop */
	EMULATED_PUSH = 2,   /* push of a register */
	EMULATED_NOPS = 4,   /* nops of two to eight bytes, in the kernel's forms */
	/* call rel32, since Linux 3.16. Not part of emulated_by_kernel(): most
	 * kernels then do not push the return address on a shadow stack (CET). */
	EMULATED_CALL = 8,
};

/* The instructions that a kernel of this version emulates, without EMULATED_CALL. */
unsigned emulated_by_kernel(unsigned major, unsigned minor);

/* A static string: why the instruction `insn`, `offset` bytes from the start of
 * `function`, is a good site. NULL: a kernel that emulates `kernel` (enum
 * emulated_reason, or-ed) does not emulate it. */
const char *emulated_reason(const uint8_t *function, size_t offset,
			    const struct insn *insn, unsigned kernel);

#endif
